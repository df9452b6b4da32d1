//! The place of received data: a file by way of `FILE.part`, or directly (docs/decisions/0008).
//!
//! A [`OutputPlan`] is made before the port is opened and touches nothing; [`OutputPlan::open`]
//! comes after the port is ours, and [`Output::keep`] before the sender hears that all is written.

mod identity;
mod place;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

pub use identity::{Existing, Identity};
pub(crate) use place::confirm;
pub use place::on_disk;

use crate::{Handle, UdpOut};

/// Why a place cannot be used for data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// Another process writes to the file.
    #[error("{path}: another tfrc recv is writing to it", path = path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A file is there that must not be touched.
    #[error("{path}: the file exists already", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Something that is not a file of an earlier run has the name of the file in the making.
    #[error("{path}: is in the way and not a file of tfrc", path = path.display())]
    InTheWay {
        /// The file in the making.
        path: PathBuf,
    },
    /// An earlier run has left data in the file in the making.
    #[error("{path}: left over from an earlier run, {bytes} bytes", path = path.display())]
    LeftOver {
        /// The file in the making.
        path: PathBuf,
        /// Its length, bytes.
        bytes: u64,
    },
    /// No file can be at this place.
    #[error("{path}: {why}", path = path.display())]
    NoPlace {
        /// The place.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// Standard output cannot be opened.
    #[error("standard output: {0}")]
    StandardOutput(io::Error),
    /// The system fails with a file that is open.
    #[error("{path}: {source}", path = path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file cannot be opened.
    #[error("{path}: {source}", path = path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The output that the user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputPlan {
    /// Several connections, one after another, at the end of a file.
    Append(PathBuf),
    /// A FIFO or a device, as it is.
    Direct(PathBuf),
    /// A file that appears under its name when it is complete.
    File(PartNames),
    /// No output: the data is counted.
    Nowhere,
    /// Standard output.
    Standard,
}

/// The names of a file in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartNames {
    /// The file; symbolic links are resolved, so that they stay.
    real: PathBuf,
    /// The file in the making, next to it.
    part: PathBuf,
    existing: Existing,
}

/// An output that is open.
#[derive(Debug)]
pub enum Output {
    /// Bytes go to the end of this file.
    Appended {
        /// The file, open for the end.
        file: File,
        /// Its name.
        path: PathBuf,
    },
    /// Bytes go where they are to stay.
    Direct {
        /// The file or device.
        file: File,
        /// Its name for the user.
        name: String,
    },
    /// No output.
    Nowhere,
    /// Bytes go to `FILE.part`.
    Part(Part),
    /// Datagrams go to a UDP address.
    Udp(UdpOut),
}

/// A file in the making; its lock shows a second `recv` that it is in use.
#[derive(Debug)]
pub struct Part {
    file: File,
    names: PartNames,
}

impl OutputPlan {
    /// Looks at the place that a file, FIFO or device of this name has, or would have.
    ///
    /// # Errors
    /// [`OutputError`] if a file is there that must not be touched, or none could be.
    pub fn new(path: &Path, existing: Existing) -> Result<Self, OutputError> {
        let unusable = |why: &dyn std::fmt::Display| OutputError::NoPlace {
            path: path.to_owned(),
            why: why.to_string(),
        };
        let real = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(unusable(&"is a directory")),
            Ok(metadata) if !metadata.is_file() => return Ok(Self::Direct(path.to_owned())),
            Ok(_) if existing == Existing::Append => return Ok(Self::Append(path.to_owned())),
            Ok(_) if matches!(existing, Existing::Refuse | Existing::GoOn) => {
                return Err(OutputError::Exists { path: path.to_owned() });
            }
            Ok(_) => fs::canonicalize(path).map_err(|error| unusable(&error))?,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(&error)),
            Err(_) if path.is_symlink() => {
                return Err(unusable(&"is a symbolic link to a file that is not there"));
            }
            Err(error) => {
                let folder = match path.parent() {
                    Some(folder) if !folder.as_os_str().is_empty() => folder,
                    _ => Path::new("."),
                };
                if path.file_name().is_none() || !folder.is_dir() {
                    return Err(unusable(&error));
                }
                if existing == Existing::Append {
                    return Ok(Self::Append(path.to_owned()));
                }
                path.to_owned()
            }
        };
        let shown = if path.is_symlink() { &real } else { path };
        let mut part = OsString::from(shown);
        part.push(".part");
        Ok(Self::File(PartNames { real, part: part.into(), existing }))
    }

    /// Opens the output. Blocks on a FIFO until it has a reader.
    ///
    /// # Errors
    /// [`OutputError`] if it cannot be opened, or another `recv` writes to it.
    pub fn open(self) -> Result<Output, OutputError> {
        match self {
            Self::Nowhere => Ok(Output::Nowhere),
            Self::Standard => {
                let file = standard_output().map_err(OutputError::StandardOutput)?;
                Ok(Output::Direct { file, name: "standard output".to_owned() })
            }
            Self::Direct(path) => {
                let file = OpenOptions::new().write(true).open(&path);
                let file = file.map_err(|source| unwritable(&path, source))?;
                Ok(Output::Direct { file, name: path.display().to_string() })
            }
            Self::Append(path) => {
                let file = OpenOptions::new().append(true).create(true).open(&path);
                let file = file.map_err(|source| unwritable(&path, source))?;
                lock(&file, &path)?;
                Ok(Output::Appended { file, path })
            }
            Self::File(names) => Part::create(names).map(Output::Part),
        }
    }
}

impl Output {
    /// A handle for the thread that writes; `None` if nothing is written.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn handle(&self) -> io::Result<Option<Handle>> {
        match self {
            Self::Nowhere => Ok(None),
            Self::Appended { file, .. } | Self::Direct { file, .. } | Self::Part(Part { file, .. }) => {
                self.begin_anew()?;
                file.try_clone().map(|file| Some(Handle::File(file)))
            }
            Self::Udp(out) => Ok(Some(Handle::Udp(out.clone()))),
        }
    }

    /// The name for the user; `None` if there is no output.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        match self {
            Self::Nowhere => None,
            Self::Appended { path, .. } => Some(path.display().to_string()),
            Self::Direct { name, .. } => Some(name.clone()),
            Self::Part(part) => Some(part.names.part.display().to_string()),
            Self::Udp(out) => Some(out.to().to_string()),
        }
    }

    /// True for a file in the making that still has its name.
    #[must_use]
    pub fn leaves_part(&self) -> bool {
        matches!(self, Self::Part(part) if part.is_there())
    }

    /// True for a file, which somebody opens when it is complete.
    #[must_use]
    pub const fn is_file(&self) -> bool {
        matches!(self, Self::Appended { .. } | Self::Part(_))
    }

    /// A handle for a file in the making, which can be read, too; `None` for other outputs.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn part_file(&self) -> io::Result<Option<File>> {
        match self {
            Self::Part(Part { file, .. }) => file.try_clone().map(Some),
            _ => Ok(None),
        }
    }

    /// Empties a file that goes on: what comes now has no place behind what is there.
    ///
    /// # Errors
    /// Those of the system.
    pub fn begin_anew(&self) -> io::Result<()> {
        let (Self::Part(part), Some(map)) = (self, self.map()) else { return Ok(()) };
        match fs::remove_file(map) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        part.file.set_len(0)
    }

    /// The place of the map that an unfinished file goes on by; `None` if it does not.
    #[must_use]
    pub fn map(&self) -> Option<PathBuf> {
        match self {
            Self::Part(part) => part.map(),
            _ => None,
        }
    }

    /// A handle for bringing a file to the disk ([`on_disk`]); `None` for other outputs. Some
    /// systems report a full disk only then.
    ///
    /// # Errors
    /// When the process has no descriptor left: the data may not be on the disk.
    pub fn to_sync(&self) -> io::Result<Option<File>> {
        match self {
            Self::Appended { file, .. } | Self::Part(Part { file, .. }) => file.try_clone().map(Some),
            _ => Ok(None),
        }
    }

    /// Gives a complete file its name, which is returned. For a file that has a name this looks
    /// that it still has it. After that the name is on the disk, and leads to what was written.
    ///
    /// # Errors
    /// A sentence, and the kind of the system's error. The data is where it was, in `FILE.part`.
    pub fn keep(&mut self) -> io::Result<Option<String>> {
        match self {
            Self::Appended { file, path } => place::confirm(file, path).map(|()| None),
            Self::Part(part) => {
                part.keep()?;
                if let Some(map) = part.map() {
                    let _ = fs::remove_file(map);
                }
                let name = part.names.real.display().to_string();
                *self = Self::Nowhere;
                Ok(Some(name))
            }
            Self::Direct { .. } | Self::Nowhere | Self::Udp(_) => Ok(None),
        }
    }

    /// Leaves an unfinished file as `FILE.part`, unless it is empty.
    pub fn leave(self) {
        if let Self::Part(part) = self
            && part.is_there()
            && part.file.metadata().is_ok_and(|metadata| metadata.len() == 0)
        {
            let _ = fs::remove_file(&part.names.part);
            if let Some(map) = part.map() {
                let _ = fs::remove_file(map);
            }
        }
    }
}

impl Part {
    /// Makes `FILE.part`, or takes over one that nobody writes to and that is empty or may be
    /// removed.
    fn create(names: PartNames) -> Result<Self, OutputError> {
        let part = &names.part;
        let file = match OpenOptions::new().read(true).write(true).create_new(true).open(part) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Self::take_over(names),
            Err(error) => return Err(unwritable(part, error)),
        };
        lock(&file, part)?;
        Ok(Self { file, names })
    }

    fn take_over(names: PartNames) -> Result<Self, OutputError> {
        let part = &names.part;
        let strange = || OutputError::InTheWay { path: part.clone() };
        let system = |source| OutputError::System { path: part.clone(), source };
        // A FIFO or a link of this name is not opened at all.
        if !fs::symlink_metadata(part).is_ok_and(|metadata| metadata.is_file() && has_one_name(&metadata)) {
            return Err(strange());
        }
        let file = OpenOptions::new().read(true).write(true).open(part);
        let file = file.map_err(|source| unwritable(part, source))?;
        lock(&file, part)?;
        // Its writer may have renamed it between opening and locking: then this is the finished
        // file.
        if Identity::of_link(part) != Identity::of_open(&file, part) {
            return Err(strange());
        }
        let length = file.metadata().map_err(system)?.len();
        match names.existing {
            Existing::GoOn => {}
            Existing::Overwrite => file.set_len(0).map_err(system)?,
            _ if length > 0 => return Err(OutputError::LeftOver { path: part.clone(), bytes: length }),
            _ => {}
        }
        Ok(Self { file, names })
    }

    fn map(&self) -> Option<PathBuf> {
        let PartNames { part, existing, .. } = &self.names;
        let mut map = part.as_os_str().to_owned();
        map.push(".map");
        (*existing == Existing::GoOn).then(|| map.into())
    }

    /// True while `FILE.part` is the file that was opened.
    fn is_there(&self) -> bool {
        place::is(&self.file, &self.names.part)
    }

    /// Gives it its name. Without `--overwrite` a file that came to be meanwhile stays.
    fn keep(&self) -> io::Result<()> {
        let PartNames { real, part, existing } = &self.names;
        match existing {
            Existing::Overwrite => place::replace(&self.file, part, real),
            _ => place::give(&self.file, part, real),
        }
    }
}

/// False for a file that has another name too, under which it would be written into.
#[cfg(unix)]
fn has_one_name(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) == 1
}

#[cfg(not(unix))]
const fn has_one_name(_: &fs::Metadata) -> bool {
    true
}

/// Locks a file for the rest of the process. A file system without locks is taken as it is.
fn lock(file: &File, path: &Path) -> Result<(), OutputError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(OutputError::Busy { path: path.to_owned() }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

fn unwritable(path: &Path, source: io::Error) -> OutputError {
    OutputError::Unwritable { path: path.to_owned(), source }
}

/// Standard output without the buffer of the standard library.
#[cfg(unix)]
fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// Standard output without the buffer of the standard library.
#[cfg(windows)]
fn standard_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn part(path: &Path, existing: Existing) -> Result<Part, OutputError> {
        match OutputPlan::new(path, existing)?.open()? {
            Output::Part(part) => Ok(part),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("out");
        let mut making = part(&path, Existing::Refuse).expect("made");
        making.file.write_all(b"data").expect("written");
        assert!(!path.exists() && dir.path().join("out.part").exists());
        making.keep().expect("named");
        assert!(!dir.path().join("out.part").exists());
        assert_eq!(fs::read(&path).expect("there"), b"data");
        let refused = OutputPlan::new(&path, Existing::Refuse);
        assert!(matches!(refused, Err(OutputError::Exists { .. })), "{refused:?}");
        let replacing = part(&path, Existing::Overwrite).expect("made");
        assert_eq!(fs::read(&path).expect("still there"), b"data");
        replacing.keep().expect("renamed");
        assert_eq!(fs::read(&path).expect("replaced"), b"");
    }

    #[test]
    fn what_is_left_over_and_what_is_written_to_are_told_apart() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("out");
        let mut first = part(&path, Existing::Refuse).expect("made");
        first.file.write_all(b"half").expect("written");
        for existing in [Existing::Refuse, Existing::Overwrite] {
            let second = part(&path, existing).expect_err("busy");
            assert!(second.to_string().ends_with("another tfrc recv is writing to it"), "{second}");
        }
        Output::Part(first).leave();
        let left = part(&path, Existing::Refuse).expect_err("left over");
        assert!(left.to_string().ends_with("left over from an earlier run, 4 bytes"), "{left}");
        let taken = part(&path, Existing::Overwrite).expect("removed");
        assert_eq!(taken.file.metadata().expect("there").len(), 0);
        Output::Part(taken).leave();
        assert!(!dir.path().join("out.part").exists(), "nothing in it, nothing left");
    }

    #[test]
    fn a_file_that_came_to_be_meanwhile_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("out");
        let making = part(&path, Existing::Refuse).expect("made");
        fs::write(&path, "somebody's").expect("written");
        assert_eq!(making.keep().expect_err("refused").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).expect("there"), b"somebody's");
        assert!(dir.path().join("out.part").exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_lead_nowhere_else() {
        let dir = tempfile::tempdir().expect("a directory");
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "old").expect("written");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        assert!(OutputPlan::new(&link, Existing::Refuse).is_err());
        let mut making = part(&link, Existing::Overwrite).expect("made");
        making.file.write_all(b"new").expect("written");
        making.keep().expect("renamed");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&real).expect("there"), b"new");
        let dangling = dir.path().join("dangling");
        std::os::unix::fs::symlink(dir.path().join("absent"), &dangling).expect("linked");
        let nowhere = OutputPlan::new(&dangling, Existing::Overwrite);
        assert!(matches!(nowhere, Err(OutputError::NoPlace { .. })), "{nowhere:?}");
        // A link with the name of the file in the making would lead the data elsewhere.
        std::os::unix::fs::symlink(&real, dir.path().join("x.part")).expect("linked");
        assert!(matches!(
            part(&dir.path().join("x"), Existing::Overwrite),
            Err(OutputError::InTheWay { .. })
        ));
        // So would a second name of another file.
        fs::hard_link(&real, dir.path().join("y.part")).expect("linked");
        assert!(matches!(
            part(&dir.path().join("y"), Existing::Overwrite),
            Err(OutputError::InTheWay { .. })
        ));
        assert_eq!(fs::read(&real).expect("there"), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_written_directly_and_directories_not_at_all() {
        let null = PathBuf::from("/dev/null");
        let direct = OutputPlan::new(&null, Existing::Refuse);
        assert!(matches!(direct, Ok(OutputPlan::Direct(path)) if path == null));
        let dir = tempfile::tempdir().expect("a directory");
        let folder = OutputPlan::new(dir.path(), Existing::Overwrite);
        assert!(matches!(folder, Err(OutputError::NoPlace { .. })), "{folder:?}");
    }
}
