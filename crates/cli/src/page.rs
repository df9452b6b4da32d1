//! Files that a command writes at its end or while it runs: found fit before the run begins.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use tfrc_scenario::library::Opened;

use crate::Failure;
use crate::visible::{to_stderr, visible};

/// Refuses a file that could not be written at the end of a run. A file that is there stays as it
/// is.
///
/// # Errors
/// [`Failure::Usage`] with the option's name.
pub(crate) fn check(option: &str, path: &Path) -> Result<(), Failure> {
    let refused = |why: &dyn std::fmt::Display| {
        let message = format!("{option} {}: {why}", path.display());
        Err(Failure::usage(message, "name a file in a folder that can be written to"))
    };
    match path.metadata() {
        Ok(there) if there.is_dir() => return refused(&"it is a folder"),
        // Opening a pipe would wait for its reader; devices take what comes.
        Ok(there) if !there.is_file() => return Ok(()),
        _ => {}
    }
    let is_new = path.symlink_metadata().is_err();
    if let Err(error) = OpenOptions::new().write(true).create(true).truncate(false).open(path) {
        return refused(&error);
    }
    if is_new {
        // An empty file would outlive a run that fails. Nobody misses it if it is gone already.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Refuses those of several options whose files could not be written, or that name one file twice.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_all(options: &[(&str, &Option<PathBuf>)]) -> Result<(), Failure> {
    let named: Vec<(&str, &Path)> =
        options.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?))).collect();
    crate::session::files::all_different(&named)?;
    named.iter().try_for_each(|(option, path)| check(option, path))
}

/// Refuses options that name the file of the scenario.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn spare(
    opened: &Opened,
    scenario: &Path,
    outputs: &[(&str, &Option<PathBuf>)],
) -> Result<(), Failure> {
    let read = std::iter::once(("the scenario", (!opened.is_built_in()).then_some(scenario)));
    let written = outputs.iter().map(|(option, path)| (*option, path.as_deref()));
    let named: Vec<(&str, &Path)> =
        read.chain(written).filter_map(|(option, path)| Some((option, path?))).collect();
    crate::session::files::all_different(&named)
}

/// Makes the file, in place of an older one.
///
/// # Errors
/// [`Failure::Run`].
pub(crate) fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| Failure::io(&path.display(), &error))
}

/// Writes the text of a page, in place of an older one, and says so.
///
/// # Errors
/// [`Failure::Run`].
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::io(&path.display(), &error))?;
    to_stderr(&visible(&format!("report written to {}", path.display())));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_fit_and_left_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let (new, old) = (dir.path().join("new.html"), dir.path().join("old.html"));
        std::fs::write(&old, "old").expect("written");
        check("--report", &new).expect("fit");
        assert!(!new.exists());
        check("--report", &old).expect("fit");
        assert_eq!(std::fs::read(&old).expect("there"), b"old");
        check("--report", Path::new("/dev/null")).expect("a device");
        for wrong in [dir.path().join("no/page.html"), dir.path().to_owned(), old.join("page.html")] {
            let refused = check("--report", &wrong).expect_err("not fit");
            assert!(refused.status() == 2 && refused.to_string().starts_with("--report "), "{refused}");
        }
        let twice = [("--report", &Some(new.clone())), ("--series", &Some(new))];
        assert_eq!(check_all(&twice).expect_err("one file").status(), 2);
    }
}
