//! Files named on the command line: never the same one twice, never one that is there already
//! unless the user says so.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use tfrc_session::{Existing, Identity, Output, OutputError};

use super::counted;
use crate::Failure;

/// Readers of a file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Readable by its owner only.
    Owner,
    /// As the user's umask allows.
    Usual,
}

/// Refuses options that name the same file, before any is opened.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn all_different(named: &[(&str, &Path)]) -> Result<(), Failure> {
    let known: Vec<_> = named.iter().map(|(option, path)| (option, path, Identity::of(path))).collect();
    for (i, (option, path, identity)) in known.iter().enumerate() {
        let same = known.iter().take(i).find(|(_, _, other)| identity.is_some() && identity == other);
        if let Some((other, ..)) = same {
            return Err(Failure::usage(
                format!("{}: both {other} and {option} name this file", path.display()),
                "give each a file of its own",
            ));
        }
    }
    Ok(())
}

impl From<OutputError> for Failure {
    /// The fault with its remedy, by the options of this program.
    fn from(error: OutputError) -> Self {
        let hint = match &error {
            OutputError::Busy { .. } => "wait for its end, or name another file",
            OutputError::Exists { .. } => "name another file, or let --overwrite replace it",
            OutputError::InTheWay { .. } => "name another file",
            OutputError::LeftOver { .. } => "move it away, or let --overwrite replace it",
            OutputError::NoPlace { .. } => "name a file that can be written, or - for standard output",
            OutputError::StandardOutput(error) => return Self::standard_output(error),
            OutputError::Unwritable { .. } => "name a file that can be written",
            error => return Self::Run(error.to_string()),
        };
        let message = match &error {
            OutputError::LeftOver { path, bytes } => {
                format!("{}: left over from an earlier run, {}", path.display(), counted(*bytes, "byte"))
            }
            error => error.to_string(),
        };
        Self::usage(message, hint)
    }
}

/// Refuses a file that exists. FIFOs and devices are no such files.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn check_new(path: &Path, existing: Existing) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && existing == Existing::Refuse => {
            Err(OutputError::Exists { path: path.to_owned() }.into())
        }
        Ok(metadata) if metadata.is_dir() => Err(Failure::usage(
            format!("{}: is a directory", path.display()),
            "name a file that can be written",
        )),
        Ok(_) => Ok(()),
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) => {
            Err(Failure::usage(format!("{}: {error}", path.display()), "name a file that can be written"))
        }
    }
}

/// Opens the file of a recording. Blocks on a FIFO until it has a reader.
///
/// # Errors
/// [`Failure::Usage`] when it exists or cannot be opened.
pub(crate) fn create(path: &Path, existing: Existing, access: Access) -> Result<File, Failure> {
    check_new(path, existing)?;
    #[cfg(not(unix))]
    let _ = access;
    let open = || -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true);
        // What is not there yet must not appear in between; what is there is emptied only after its
        // mode is right.
        if fs::metadata(path).is_err() {
            options.create_new(true);
        }
        #[cfg(unix)]
        if access == Access::Owner {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let file = options.open(path)?;
        if file.metadata()?.is_file() {
            #[cfg(unix)]
            if access == Access::Owner {
                use std::os::unix::fs::PermissionsExt;
                file.set_permissions(fs::Permissions::from_mode(0o600))?;
            }
            file.set_len(0)?;
        }
        Ok(file)
    };
    open().map_err(|error| {
        Failure::usage(format!("{}: {error}", path.display()), "name a file that can be written")
    })
}

/// A phrase about an output that stays unfinished after `bytes` bytes.
pub(crate) fn held(output: &Output, bytes: u64) -> Option<String> {
    let name = output.name()?;
    match output {
        Output::Part(_) if bytes == 0 || !output.leaves_part() => None,
        Output::Part(_) => Some(format!("{name} holds {}", counted(bytes, "byte"))),
        _ => Some(format!("{} went to {name}", counted(bytes, "byte"))),
    }
}

/// Closes standard output before the process ends, so that its reader sees the end of the data. No
/// record may go there afterwards.
pub(crate) fn close_standard_output() {
    // The number stays taken, by a device that swallows everything: no other file gets it.
    #[cfg(unix)]
    if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(null);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_under_two_names_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a"), "x").expect("written");
        fs::hard_link(at("a"), at("hard")).expect("linked");
        fs::create_dir(at("sub")).expect("made");
        let mut pairs = vec![
            (at("a"), at("a")),
            (at("a"), at("hard")),
            (at("new"), at("sub/../new")),
            (at("sub/../a"), at("a")),
        ];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("a"), at("soft")).expect("linked");
            std::os::unix::fs::symlink("new", at("dangling")).expect("linked");
            pairs.extend([(at("soft"), at("hard")), (at("dangling"), at("new"))]);
        }
        for (one, other) in pairs {
            let named = [("-f", one.as_path()), ("--report", &at("r")), ("--pcap", &other)];
            let refused = all_different(&named).expect_err("the same");
            assert!(refused.status() == 2 && refused.to_string().contains("both -f and --pcap"), "{refused}");
        }
        let named = [("-f", at("a")), ("--pcap", at("b")), ("--journal", at("sub/a"))];
        let named: Vec<_> = named.iter().map(|(option, path)| (*option, path.as_path())).collect();
        assert_eq!(all_different(&named), Ok(()));
        let null = Path::new("/dev/null");
        assert_eq!(all_different(&[("--pcap", null), ("--journal", null)]), Ok(()));
        assert_eq!(fs::read(at("a")).expect("there"), b"x");
    }

    #[cfg(unix)]
    #[test]
    fn a_private_file_is_its_owners_even_if_it_was_not() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a directory");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        let (new, old) = (dir.path().join("new"), dir.path().join("old"));
        create(&new, Existing::Refuse, Access::Owner).expect("made");
        assert_eq!(mode(&new), 0o600);
        fs::write(&old, "secret of before").expect("written");
        fs::set_permissions(&old, fs::Permissions::from_mode(0o644)).expect("ours");
        assert!(create(&old, Existing::Refuse, Access::Owner).is_err_and(|f| f.status() == 2));
        assert_eq!((mode(&old), fs::read(&old).expect("there").len()), (0o644, 16), "untouched");
        create(&old, Existing::Overwrite, Access::Owner).expect("made");
        assert_eq!((mode(&old), fs::read(&old).expect("there").len()), (0o600, 0));
    }

    #[test]
    fn devices_exist_and_may_be_written() {
        assert!(create(Path::new("/dev/null"), Existing::Refuse, Access::Owner).is_ok());
    }
}
