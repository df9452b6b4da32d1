//! The keys of hosts that this user has connected to, in a file as OpenSSH keeps them.
//!
//! A line has a host with its port, as the user writes them, and the fingerprint of its key. What
//! follows a `#` is the user's own and stays.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use tfrc_quic::trusted::{self, Trusted};
use tfrc_quic::{Fingerprint, make_folder, replace};

/// Bytes of the file, at most: some 150,000 hosts.
const MOST: u64 = 16 << 20;

/// A file of known hosts.
#[derive(Debug, Clone)]
pub struct KnownHosts {
    path: PathBuf,
}

/// A host's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownHost {
    /// The number of the line, from 1.
    pub line: usize,
    /// The key's fingerprint.
    pub fingerprint: Fingerprint,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KnownHostsError {
    /// It cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A line is not a host and a fingerprint.
    #[error("{path}, line {line}: not `HOST:PORT SHA256:...`", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
}

/// The change that [`KnownHosts::remember`] has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remembered {
    /// The host had this key already.
    Before,
    /// The host has a line now.
    Added,
    /// Another key of the host was in this line, which has the new one now.
    Replaced(KnownHost),
}

impl KnownHosts {
    /// The file at this path, which need not exist.
    #[must_use]
    pub const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The line of a host, such as `there.example:6511`; `None` if it is not known.
    ///
    /// # Errors
    /// [`KnownHostsError`]; a line that cannot be read might be that of this host.
    pub fn find(&self, host: &str) -> Result<Option<KnownHost>, KnownHostsError> {
        self.find_in(&self.text()?, host)
    }

    /// True if the file belongs to another user, who is not root.
    ///
    /// # Errors
    /// [`KnownHostsError`].
    pub fn is_of_another(&self) -> Result<bool, KnownHostsError> {
        let read = trusted::read(&self.path, MOST).map_err(|error| self.failed(error))?;
        Ok(read.is_some_and(|read| read.is_of_another))
    }

    /// Adds the host with this key, or gives the host's line this key. Processes that do so at once
    /// wait for each other.
    ///
    /// # Errors
    /// [`KnownHostsError`].
    pub fn remember(&self, host: &str, fingerprint: Fingerprint) -> Result<Remembered, KnownHostsError> {
        self.change(
            |text, found| {
                let entry = format!("{} {fingerprint}", host.to_lowercase());
                let (text, done) = match found {
                    Some(known) if known.fingerprint == fingerprint => return (None, Remembered::Before),
                    Some(known) => (with_line(text, known.line, Some(&entry)), Remembered::Replaced(known)),
                    None => {
                        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                        (format!("{text}{gap}{entry}\n"), Remembered::Added)
                    }
                };
                (Some(text), done)
            },
            host,
        )
    }

    /// Removes the line of a host, and returns it; `None` if there is none.
    ///
    /// # Errors
    /// [`KnownHostsError`].
    pub fn forget(&self, host: &str) -> Result<Option<KnownHost>, KnownHostsError> {
        self.change(|text, found| (found.map(|known| with_line(text, known.line, None)), found), host)
    }

    /// Changes the file: reads it, has `change` make the new text from the old one and the host's
    /// line, and writes it, while no other process does. A link stays one.
    fn change<T>(
        &self,
        change: impl FnOnce(&str, Option<KnownHost>) -> (Option<String>, T),
        host: &str,
    ) -> Result<T, KnownHostsError> {
        let path = trusted::behind_links(&self.path).map_err(|error| self.failed(error))?;
        let lock = lock(&path).map_err(|error| self.failed(error))?;
        let text = self.text()?;
        let (text, done) = change(&text, self.find_in(&text, host)?);
        if let Some(text) = text {
            replace(&path, &text).map_err(|error| self.failed(error))?;
        }
        drop(lock);
        Ok(done)
    }

    fn text(&self) -> Result<String, KnownHostsError> {
        let read = trusted::read(&self.path, MOST).map_err(|error| self.failed(error))?;
        Ok(read.map(|Trusted { text, .. }| text).unwrap_or_default())
    }

    fn failed(&self, source: io::Error) -> KnownHostsError {
        KnownHostsError::File { path: self.path.clone(), source }
    }

    fn find_in(&self, text: &str, host: &str) -> Result<Option<KnownHost>, KnownHostsError> {
        let host = host.to_lowercase();
        for (at, line) in text.lines().enumerate() {
            let line_number = at + 1;
            let mut words = line.split_whitespace();
            let Some(name) = words.next().filter(|word| !word.starts_with('#')) else { continue };
            let wrong = || KnownHostsError::Line { path: self.path.clone(), line: line_number };
            let fingerprint = words.next().and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
            if words.next().is_some_and(|word| !word.starts_with('#')) {
                return Err(wrong());
            }
            if name.to_lowercase() == host {
                return Ok(Some(KnownHost { line: line_number, fingerprint }));
            }
        }
        Ok(None)
    }
}

/// The text with another entry in a line, or without the line. The end of the line and a comment in
/// it stay.
fn with_line(text: &str, number: usize, entry: Option<&str>) -> String {
    let lines = text.split_inclusive('\n').enumerate().map(|(at, line)| match entry {
        _ if at + 1 != number => line.to_owned(),
        None => String::new(),
        Some(entry) => {
            let rest = line.find('#').unwrap_or_else(|| line.trim_end().len());
            let gap = if line.contains('#') { " " } else { "" };
            format!("{entry}{gap}{}", line.get(rest..).unwrap_or_default())
        }
    });
    lines.collect()
}

/// Waits until no other process changes this file. The lock is a file next to it, which stays: the
/// file itself is exchanged.
fn lock(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let mut name = path.to_owned().into_os_string();
    name.push(".lock");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(name)?;
    match file.lock() {
        // A file system without locks is taken as it is.
        Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
        Ok(()) | Err(_) => Ok(file),
    }
}

/// The folder of `tfrc` among the user's settings (XDG Base Directory Specification); `None` if
/// neither `HOME` nor `XDG_CONFIG_HOME` is set.
#[must_use]
pub fn settings_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    base.map(|base| base.join("tfrc"))
}
