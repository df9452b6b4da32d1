//! The file behind a name, and what to do about one that exists.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Policy for a file that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// New data goes behind the old.
    Append,
    /// As [`Existing::Refuse`], and a `FILE.part` of an earlier run is gone on with.
    GoOn,
    /// Replaces an existing file.
    Overwrite,
    /// It stays, and the command is refused.
    Refuse,
}

/// The file behind a name: links and other spellings lead to the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A file that exists: its device and its number there.
    #[cfg(unix)]
    File(u64, u64),
    /// A file that does not exist yet, or a system without such numbers.
    Name(PathBuf),
}

impl Identity {
    /// The file that this name leads to; `None` for a terminal, `/dev/null` and the like, which may
    /// be named twice.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(metadata) => Self::of_metadata(&metadata, path),
            Err(_) => Some(Self::Name(resolved(path))),
        }
    }

    /// The file of this name itself, links not followed.
    #[must_use]
    pub fn of_link(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().and_then(|metadata| Self::of_metadata(&metadata, path))
    }

    /// The identity of an open file, which was opened by this name; `None` as for [`Self::of`].
    #[must_use]
    pub fn of_open(file: &File, opened_as: &Path) -> Option<Self> {
        file.metadata().ok().and_then(|metadata| Self::of_metadata(&metadata, opened_as))
    }

    #[cfg(unix)]
    fn of_metadata(metadata: &fs::Metadata, _: &Path) -> Option<Self> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        (!metadata.file_type().is_char_device()).then(|| Self::File(metadata.dev(), metadata.ino()))
    }

    #[cfg(not(unix))]
    fn of_metadata(_: &fs::Metadata, path: &Path) -> Option<Self> {
        Some(Self::Name(resolved(path)))
    }
}

/// The name that a file would get if it were made: its folder as it is, links at the end followed.
fn resolved(path: &Path) -> PathBuf {
    /// Linux's MAXSYMLINKS; other systems follow fewer.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().map_or(target.clone(), |folder| folder.join(&target));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (fs::canonicalize(folder), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}
