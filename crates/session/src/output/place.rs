//! The name of a file that is complete: it leads to the file that was written, which is known by
//! its descriptor, and is on the disk.
//!
//! Others may change the folder meanwhile. A file of theirs never takes the place of ours without
//! an error, and none of theirs is removed.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::Identity;

/// True if this name, links not followed, is that of the open file.
pub(super) fn is(file: &File, path: &Path) -> bool {
    let open = Identity::of_open(file, path);
    open.is_some() && open == Identity::of_link(path)
}

/// Brings a file, or the names in a folder, to the disk. A file system that cannot be asked to has
/// no more to say (EINVAL of some that run as programs).
///
/// # Errors
/// The error of the system.
pub fn on_disk(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        outcome => outcome,
    }
}

/// Gives the file `part` the name `real` too, then takes its first one away.
///
/// # Errors
/// A sentence; `part` stays, and `real` is what it was.
pub(super) fn give(file: &File, part: &Path, real: &Path) -> io::Result<()> {
    let failed = |error: &io::Error| sentence(error, format!("cannot be named {}: {error}", real.display()));
    match link(file, part, real) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(failed(&error)),
        // A file without a name left cannot be given one.
        Err(_) if !is(file, part) => return Err(gone(part)),
        // A file system without hard links.
        Err(_) => {
            return rename_new(part, real).map_err(|error| failed(&error)).and_then(|()| confirm(file, real));
        }
    }
    if let Err(error) = confirm(file, real) {
        if is(file, part) && is(file, real) {
            let _ = fs::remove_file(real);
        }
        return Err(error);
    }
    if is(file, part) {
        fs::remove_file(part).map_err(|error| {
            sentence(&error, format!("{} is complete, but {} stays: {error}", real.display(), part.display()))
        })?;
    }
    Ok(())
}

/// Puts the file `part` in the place of what has the name `real`.
///
/// # Errors
/// A sentence; nothing was replaced, unless the folder cannot be brought to the disk, or somebody
/// put another file into the place at that moment.
pub(super) fn replace(file: &File, part: &Path, real: &Path) -> io::Result<()> {
    if !is(file, part) {
        return Err(gone(part));
    }
    fs::rename(part, real)
        .map_err(|error| sentence(&error, format!("cannot be named {}: {error}", real.display())))?;
    confirm(file, real)
}

/// Looks that this name, links followed, leads to the open file, and brings the name to the disk.
///
/// # Errors
/// A sentence.
pub(crate) fn confirm(file: &File, path: &Path) -> io::Result<()> {
    let shown = path.display();
    let real = fs::canonicalize(path).ok().filter(|real| is(file, real));
    let Some(real) = real else {
        let message = format!("{shown} is not the file that was written: it was moved, removed or replaced");
        return Err(io::Error::new(ErrorKind::NotFound, message));
    };
    let folder = real.parent().unwrap_or(Path::new("/"));
    let synced = open_folder(folder).and_then(|folder| folder.as_ref().map_or(Ok(()), on_disk));
    synced
        .map_err(|error| sentence(&error, format!("the name {shown} cannot be brought to the disk: {error}")))
}

fn gone(part: &Path) -> io::Error {
    let message = format!("it was moved, removed or replaced while it was written: {}", part.display());
    io::Error::new(ErrorKind::NotFound, message)
}

fn sentence(error: &io::Error, message: String) -> io::Error {
    io::Error::new(error.kind(), message)
}

/// A folder as a file that can be brought to the disk.
#[cfg(unix)]
fn open_folder(folder: &Path) -> io::Result<Option<File>> {
    match File::open(folder) {
        // Who may write into a folder may not always list it.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
        opened => opened.map(Some),
    }
}

#[cfg(not(unix))]
fn open_folder(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Gives the open file another name, which must be new: by its descriptor, whatever has become of
/// its first name.
#[cfg(target_os = "linux")]
fn link(file: &File, _: &Path, real: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd;
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, real, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, part: &Path, real: &Path) -> io::Result<()> {
    fs::hard_link(part, real)
}

/// Renames to a name that must be new.
#[cfg(target_os = "linux")]
fn rename_new(part: &Path, real: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, part, CWD, real, RenameFlags::NOREPLACE) {
        // A file system that cannot refuse by itself.
        Err(rustix::io::Errno::INVAL) if !real.exists() => fs::rename(part, real),
        outcome => Ok(outcome?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(part: &Path, real: &Path) -> io::Result<()> {
    if real.exists() { Err(ErrorKind::AlreadyExists.into()) } else { fs::rename(part, real) }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A folder in which `out.part` is being written; what somebody does to it; whether it can be
    /// named, and what is in the folder then.
    fn after(change: impl FnOnce(&Path), overwrite: bool) -> (Result<(), String>, Vec<(String, String)>) {
        let dir = tempfile::tempdir().expect("a directory");
        let (part, real) = (dir.path().join("out.part"), dir.path().join("out"));
        fs::write(&part, "ours").expect("written");
        let file = File::options().write(true).open(&part).expect("open");
        if overwrite {
            fs::write(&real, "old").expect("written");
        }
        change(dir.path());
        let named = if overwrite { replace(&file, &part, &real) } else { give(&file, &part, &real) };
        let mut left: Vec<_> = fs::read_dir(dir.path())
            .expect("readable")
            .map(|entry| {
                let path = entry.expect("readable").path();
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                (name, fs::read_to_string(&path).unwrap_or_default())
            })
            .collect();
        left.sort();
        (named.map_err(|error| error.to_string()), left)
    }

    fn folder(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
    }

    #[test]
    fn what_others_do_meanwhile_takes_no_place_of_ours() {
        let nothing = |_: &Path| {};
        assert_eq!(after(nothing, false), (Ok(()), folder(&[("out", "ours")])));
        assert_eq!(after(nothing, true), (Ok(()), folder(&[("out", "ours")])));
        let made = |dir: &Path| fs::write(dir.join("out"), "theirs").expect("written");
        let (named, left) = after(made, false);
        assert!(named.expect_err("taken").contains("cannot be named"));
        assert_eq!(left, folder(&[("out", "theirs"), ("out.part", "ours")]));
        let moved = |dir: &Path| fs::rename(dir.join("out.part"), dir.join("away")).expect("moved");
        assert_eq!(after(moved, false), (Ok(()), folder(&[("away", "ours"), ("out", "ours")])));
        let exchanged = |dir: &Path| {
            fs::rename(dir.join("out.part"), dir.join("away")).expect("moved");
            fs::write(dir.join("out.part"), "theirs").expect("written");
        };
        let (named, left) = after(exchanged, false);
        assert_eq!(
            (named, left),
            (Ok(()), folder(&[("away", "ours"), ("out", "ours"), ("out.part", "theirs")]))
        );
        let linked = |dir: &Path| {
            fs::write(dir.join("other"), "theirs").expect("written");
            fs::remove_file(dir.join("out.part")).expect("removed");
            std::os::unix::fs::symlink(dir.join("other"), dir.join("out.part")).expect("linked");
        };
        let removed = |dir: &Path| fs::remove_file(dir.join("out.part")).expect("removed");
        for overwrite in [false, true] {
            let old: &[(&str, &str)] = if overwrite { &[("out", "old")] } else { &[] };
            let (named, left) = after(removed, overwrite);
            assert!(named.expect_err("gone").contains("removed or replaced"), "{overwrite}");
            assert_eq!(left, folder(old));
            let (named, left) = after(linked, overwrite);
            assert!(named.expect_err("gone").contains("removed or replaced"), "{overwrite}");
            assert_eq!(left, folder(&[&[("other", "theirs")], old, &[("out.part", "theirs")]].concat()));
        }
        let (named, left) = after(exchanged, true);
        assert!(named.is_err());
        assert_eq!(left, folder(&[("away", "ours"), ("out", "old"), ("out.part", "theirs")]));
    }

    #[test]
    fn a_file_that_is_appended_to_must_still_be_there() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, link) = (dir.path().join("out"), dir.path().join("link"));
        let file = File::create(&path).expect("made");
        std::os::unix::fs::symlink(&path, &link).expect("linked");
        assert!(confirm(&file, &path).is_ok() && confirm(&file, &link).is_ok());
        fs::remove_file(&path).expect("removed");
        assert!(confirm(&file, &path).is_err());
        fs::write(&path, "theirs").expect("written");
        let error = confirm(&file, &path).expect_err("another file");
        assert!(error.to_string().contains("is not the file that was written"), "{error}");
    }
}
