//! The keys of hosts that this user has connected to, in a file as OpenSSH keeps them.
//!
//! A line has a host with its port, as the user writes them, and the fingerprint of its key. Lines
//! that begin with `#` are the user's own and stay.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tfrc_quic::{Fingerprint, make_folder};

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

    /// Adds the host with this key, or gives the host's line this key.
    ///
    /// # Errors
    /// [`KnownHostsError`].
    pub fn remember(&self, host: &str, fingerprint: Fingerprint) -> Result<Remembered, KnownHostsError> {
        let text = self.text()?;
        let found = self.find_in(&text, host)?;
        let line = format!("{} {fingerprint}\n", host.to_lowercase());
        let (text, done) = match found {
            Some(known) if known.fingerprint == fingerprint => return Ok(Remembered::Before),
            Some(known) => {
                let lines = text
                    .lines()
                    .enumerate()
                    .map(|(at, old)| if at + 1 == known.line { line.clone() } else { format!("{old}\n") });
                (lines.collect(), Remembered::Replaced(known))
            }
            None => {
                let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                (format!("{text}{gap}{line}"), Remembered::Added)
            }
        };
        self.replace(&text).map_err(|source| KnownHostsError::File { path: self.path.clone(), source })?;
        Ok(done)
    }

    fn text(&self) -> Result<String, KnownHostsError> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(source) => Err(KnownHostsError::File { path: self.path.clone(), source }),
        }
    }

    fn find_in(&self, text: &str, host: &str) -> Result<Option<KnownHost>, KnownHostsError> {
        let host = host.to_lowercase();
        for (at, line) in text.lines().enumerate() {
            let line_number = at + 1;
            let mut words = line.split_whitespace();
            let Some(name) = words.next().filter(|word| !word.starts_with('#')) else { continue };
            let wrong = || KnownHostsError::Line { path: self.path.clone(), line: line_number };
            let fingerprint = words.next().and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
            if words.next().is_some() {
                return Err(wrong());
            }
            if name.to_lowercase() == host {
                return Ok(Some(KnownHost { line: line_number, fingerprint }));
            }
        }
        Ok(None)
    }

    /// Writes the file beside and renames it: a reader has the old one or the new one.
    fn replace(&self, text: &str) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            make_folder(folder)?;
        }
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{}", std::process::id()));
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&name)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        let done = written.and_then(|()| fs::rename(&name, &self.path));
        if done.is_err() {
            let _ = fs::remove_file(&name);
        }
        done
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
