//! Files that say whom an end trusts: read whole, if no other user may change them.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The content of a file that no other user may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// Its text, without a byte order mark.
    pub text: String,
    /// True if it belongs to another user, who is not root.
    pub is_of_another: bool,
}

/// Reads a file of at most `most` bytes. A file that is not there is `None`.
///
/// # Errors
/// Those of the system; one with words for what is not a file, is longer, is not text, or may be
/// changed by others: the file itself, or its folder, in which they could exchange it.
pub fn read(path: &Path, most: u64) -> io::Result<Option<Trusted>> {
    // A FIFO would wait for a writer when it is opened.
    match std::fs::metadata(path) {
        Ok(there) => check(&there, path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let file = File::open(path)?;
    let there = file.metadata()?;
    check(&there, path)?;
    // A service may not read the folders above its own.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = real.parent() {
        check_folder(folder)?;
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let words = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    let text = String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    Ok(Some(Trusted { text, is_of_another: is_of_another(&there) }))
}

/// The file that a path leads to: that of a link, or the path itself where nothing is yet.
///
/// # Errors
/// Those of the system.
pub fn behind_links(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match std::fs::read_link(path) {
            // A link to nothing yet.
            Ok(to) => Ok(path.parent().unwrap_or(Path::new("")).join(to)),
            Err(_) => Ok(path.to_owned()),
        },
        Err(_) => Ok(path.to_owned()),
        Ok(real) => Ok(real),
    }
}

fn check(there: &Metadata, path: &Path) -> io::Result<()> {
    if !there.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    match others_may_write(there) {
        Some(mode) => Err(others(path, mode)),
        None => Ok(()),
    }
}

/// Checks that others may not exchange a file in this folder. In one such as `/tmp` they cannot.
fn check_folder(folder: &Path) -> io::Result<()> {
    /// Only its owner removes or renames a file.
    const STICKY: u32 = 0o1000;
    match others_may_write(&folder.metadata()?) {
        Some(mode) if mode & STICKY == 0 => Err(others(folder, mode)),
        Some(_) | None => Ok(()),
    }
}

fn others(path: &Path, mode: u32) -> io::Error {
    let words = format!("others may change it (mode {mode:03o}): chmod go-w {}", path.display());
    io::Error::new(io::ErrorKind::PermissionDenied, words)
}

/// The mode of what others than the owner may write.
#[cfg(unix)]
fn others_may_write(there: &Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = there.permissions().mode() & 0o7777;
    (mode & 0o022 != 0).then_some(mode)
}

#[cfg(not(unix))]
const fn others_may_write(_: &Metadata) -> Option<u32> {
    None
}

#[cfg(unix)]
fn is_of_another(there: &Metadata) -> bool {
    let owner = std::os::unix::fs::MetadataExt::uid(there);
    owner != 0 && owner != rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
const fn is_of_another(_: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    }

    fn text(path: &Path) -> Result<Option<String>, String> {
        let read = read(path, 20);
        read.map(|read| read.map(|read| read.text)).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_no_short_file_of_text_is_refused() {
        let place = tempfile::tempdir().expect("a folder");
        let at = |name: &str| place.path().join(name);
        assert_eq!(text(&at("none")), Ok(None));
        fs::write(at("file"), "\u{feff}twenty bytes long").expect("ours");
        assert_eq!(text(&at("file")), Ok(Some("twenty bytes long".to_owned())));
        fs::write(at("long"), [b'a'; 21]).expect("ours");
        fs::write(at("bytes"), [0xff; 3]).expect("ours");
        symlink("/dev/zero", at("endless")).expect("a link");
        // Nobody writes into it.
        let pipe = std::process::Command::new("mkfifo").arg(at("pipe")).status().expect("a program");
        assert!(pipe.success());
        for (name, why) in [
            ("long", "more than 20 bytes"),
            ("bytes", "not text"),
            ("endless", "not a file"),
            ("pipe", "not a file"),
            ("", "not a file"),
        ] {
            let refused = text(&at(name)).expect_err(name);
            assert!(refused.contains(why), "{name}: {refused}");
        }
    }

    #[test]
    fn what_others_may_change_is_refused() {
        let place = tempfile::tempdir().expect("a folder");
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        fs::write(&file, "a").expect("ours");
        symlink(&file, &link).expect("a link");
        for mode in [0o666, 0o620, 0o602] {
            set(&file, mode);
            for path in [&file, &link] {
                assert!(text(path).expect_err("open").contains("chmod go-w"), "{mode:o}");
            }
        }
        set(&file, 0o644);
        for mode in [0o777, 0o770, 0o702] {
            set(place.path(), mode);
            let refused = text(&file).expect_err("open");
            assert!(refused.contains(&format!("chmod go-w {}", place.path().display())), "{refused}");
        }
        for mode in [0o1777, 0o700, 0o755] {
            set(place.path(), mode);
            assert_eq!(text(&file), Ok(Some("a".to_owned())), "{mode:o}");
        }
        set(place.path(), 0o700);
    }

    #[test]
    fn a_link_leads_to_its_file() {
        let place = tempfile::tempdir().expect("a folder");
        let real = place.path().canonicalize().expect("there");
        let (file, link) = (real.join("file"), real.join("link"));
        symlink("file", &link).expect("a link");
        assert_eq!(behind_links(&link).expect("read"), file);
        fs::write(&file, "a").expect("ours");
        assert_eq!(behind_links(&link).expect("read"), file);
        assert_eq!(behind_links(&real.join("none")).expect("read"), real.join("none"));
    }
}
