//! Files: how much of one is read, and scenarios and traces from them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Document, Scenario, ScenarioError, World};

/// Bytes of a text file that is read whole, at most.
const MOST_BYTES: u64 = 16 << 20;
/// Bytes of a file of results, at most.
const MOST_RESULTS: u64 = 256 << 20;
/// Bytes of a trace, at most: 10,000,000 lines of a number with ten digits.
const MOST_TRACE: u64 = 128 << 20;

/// The text of a file or a pipe, of at most 16 MiB.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::FileTooLarge`] for a longer one, or a device without end.
pub fn read(path: &Path) -> io::Result<String> {
    read_at_most(path, MOST_BYTES)
}

/// The text of a file of results, of at most 256 MiB.
///
/// # Errors
/// As [`read`].
pub fn read_results(path: &Path) -> io::Result<String> {
    read_at_most(path, MOST_RESULTS)
}

/// The text of a file that the program has kept, of at most 256 MiB. A pipe or a device, which
/// might wait indefinitely, is refused.
///
/// # Errors
/// As [`read`].
pub fn read_kept(path: &Path) -> io::Result<String> {
    read_file_at_most(path, MOST_RESULTS)
}

/// The text of a trace, of at most 128 MiB.
pub(super) fn read_trace(path: &Path) -> io::Result<String> {
    read_file_at_most(path, MOST_TRACE)
}

fn read_file_at_most(path: &Path, most: u64) -> io::Result<String> {
    let there = std::fs::metadata(path)?;
    if !there.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if there.len() > most {
        return Err(too_large(most));
    }
    read_at_most(path, most)
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {} MiB", most >> 20))
}

fn read_at_most(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    // One byte more shows that the file is too long, whatever its size is said to be.
    File::open(path)?.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(text)
}

/// The folder in which files are looked for that a scenario names: its own, or the current one for
/// a pipe or a device, as `/dev` has none.
pub(super) fn folder(path: &Path) -> PathBuf {
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => PathBuf::new(),
        _ => path.parent().unwrap_or(Path::new("")).to_owned(),
    }
}

impl Document {
    /// The text of a file.
    ///
    /// # Errors
    /// [`ScenarioError::Read`] if the file cannot be read.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        match read(path) {
            Ok(text) => Ok(Self::new(name, text).in_folder(folder(path))),
            Err(source) => Err(ScenarioError::Read { name, source }),
        }
    }
}

impl Scenario {
    /// Reads a scenario from a file, for a world.
    ///
    /// # Errors
    /// [`ScenarioError::Read`] if the file cannot be read, else as [`parse`](Self::parse).
    pub fn load(path: &Path, world: World) -> Result<Self, ScenarioError> {
        Self::first(&Document::load(path)?, world)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("a"), "text").expect("written");
        assert_eq!(read_kept(&dir.path().join("a")).expect("read"), "text");
        assert!(read_kept(dir.path()).is_err());
        #[cfg(unix)]
        {
            let endless = read(Path::new("/dev/zero")).expect_err("endless");
            assert_eq!(endless.kind(), io::ErrorKind::FileTooLarge);
            assert_eq!(folder(Path::new("/dev/null")), Path::new(""), "a device has no neighbours");
            assert_eq!(folder(&dir.path().join("a")), dir.path());
            assert!(
                read_kept(Path::new("/dev/zero")).is_err_and(|error| error.to_string() == "it is not a file")
            );
        }
    }
}
