//! The keys of both ends: this one's in a file, those of hosts in another one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use tfrc_session::{
    AttemptError, ConnectError, Fingerprint, FingerprintError, Key, KeyError, KnownHost, KnownHosts,
    KnownHostsError, Quic, Remembered, settings_folder,
};

use super::Does;
use crate::Failure;
use crate::args::PrivateArgs;
use crate::args::values::DEFAULT_PORT;
use crate::reporter::Reporter;
use crate::session::shown;

/// The keys of a session.
#[derive(Debug)]
pub(crate) struct Keys {
    own: Key,
    /// The peers that are let in; none: all.
    allow: Vec<Fingerprint>,
    /// The host that is called.
    called: Option<Called>,
}

/// A host whose key is known.
#[derive(Debug)]
struct Called {
    host: String,
    key: Fingerprint,
    /// The list of known hosts; `None` if there is no folder for it.
    hosts: Option<KnownHosts>,
    /// Its line; `None` if the user names the key.
    line: Option<KnownHost>,
}

impl Keys {
    /// Reads or makes this end's key, and finds the peer's.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub(super) fn new(args: &PrivateArgs, does: Does<'_>, reporter: &mut Reporter) -> Result<Self, Failure> {
        let called = match does {
            Does::Calls(host) => Some(called(args, host)?),
            Does::Listens(_) if args.peer_key.is_some() => {
                return Err(Failure::usage(
                    "--peer-key names the key of a host that is called, and this end listens",
                    "name those who may connect with --allow-key",
                ));
            }
            Does::Listens(_) => None,
        };
        let allow = match does {
            Does::Listens(keys) => keys.iter().map(|key| fingerprint("--allow-key", key)).collect(),
            Does::Calls(_) => Ok(Vec::new()),
        }?;
        let path = key_file(args.key.as_deref())?;
        let loaded = Key::load_or_make(&path).map_err(|error| unusable(&error))?;
        if loaded.is_new {
            reporter.note(&format!("made a key in {}", path.display()));
        }
        let hosts = called.as_ref().and_then(|called| called.hosts.as_ref());
        let other = hosts.filter(|hosts| hosts.is_of_another().unwrap_or(false)).map(KnownHosts::path);
        for path in loaded.is_of_another.then_some(path.as_path()).into_iter().chain(other) {
            reporter.note(&format!("{} belongs to another user, who can change it", path.display()));
        }
        Ok(Self { own: loaded.key, allow, called })
    }

    /// The keys for a session: the host's that is called, or those that are let in.
    pub(super) fn carrier(&self) -> Quic {
        let peers = self.called.as_ref().map_or_else(|| self.allow.clone(), |called| vec![called.key]);
        Quic { key: self.own.clone(), peers }
    }

    /// The failure of a session because the key there is another, or this end's is not let in.
    pub(super) fn refused(&self, error: &ConnectError) -> Option<Failure> {
        let (Some(called), ConnectError::Failed(attempts)) = (&self.called, error) else { return None };
        attempts.iter().find_map(|(_, error)| called.refused(error))
    }

    /// Keeps the key of the host that was called, if the user has named it.
    pub(crate) fn remember(&self, reporter: &mut Reporter) {
        let Some(Called { host, key, hosts: Some(hosts), line: None }) = &self.called else { return };
        let note = match hosts.remember(host, *key) {
            Ok(Remembered::Before) => return,
            Ok(Remembered::Added) => format!("{host} is known by this key from now on"),
            Ok(Remembered::Replaced(old)) => {
                format!("{host} is known by this key from now on, and was by {}", old.fingerprint)
            }
            Err(error) => return reporter.note(&format!("{host} is not remembered: {error}")),
        };
        reporter.note(&format!("{note} ({})", hosts.path().display()));
    }

    /// Says by which key this end is known, and the whole line that calls it.
    pub(super) fn introduce(&self, at: SocketAddr, program: &str, more: &str, reporter: &mut Reporter) {
        let key = self.own.fingerprint();
        let host = if at.ip().is_unspecified() { address_of_this_host() } else { Some(at.ip()) };
        let host = match (host, at.port()) {
            (None, DEFAULT_PORT) => "HOST".to_owned(),
            (None, port) => format!("HOST:{port}"),
            (Some(host), DEFAULT_PORT) => host.to_canonical().to_string(),
            (Some(host), port) => shown(SocketAddr::new(host, port)),
        };
        reporter.note(&format!("this end's key is {key}; run at the other end:"));
        reporter.note(&format!("  {program} {host} --quic --peer-key {key}{more}"));
    }
}

impl Called {
    fn refused(&self, error: &AttemptError) -> Option<Failure> {
        let host = &self.host;
        if let Some(seen) = error.other_key() {
            let expected = match (self.line, &self.hosts) {
                (Some(known), Some(hosts)) => format!("line {} of {}", known.line, hosts.path().display()),
                _ => "that of --peer-key".to_owned(),
            };
            return Some(Failure::usage(
                format!(
                    "the key of {host} is {seen}, not {} ({expected}): the host has another key now, or \
                     somebody else answers",
                    self.key
                ),
                "compare it with the fingerprint that tfrc prints there; if that is the one, name it once \
                 with --peer-key",
            ));
        }
        let own = error.refused_key()?;
        Some(Failure::usage(
            format!("{host} does not let this end in: its key is {own}"),
            format!("have `--allow-key {own}` added there, if you are meant"),
        ))
    }
}

/// The host that is called, and its key.
fn called(args: &PrivateArgs, host: &str) -> Result<Called, Failure> {
    let named = args.peer_key.as_ref().map(|key| fingerprint("--peer-key", key)).transpose()?;
    if let Some(key) = named {
        // Without a folder the host is not remembered.
        let hosts = known_hosts().ok();
        return Ok(Called { host: host.to_owned(), key, hosts, line: None });
    }
    let hosts = known_hosts()?;
    match hosts.find(host).map_err(|error| unreadable(&error))? {
        Some(known) => {
            let key = known.fingerprint;
            Ok(Called { host: host.to_owned(), key, hosts: Some(hosts), line: Some(known) })
        }
        None => Err(Failure::usage(
            format!("{host} is not known: its key is in no line of {}", hosts.path().display()),
            "add the fingerprint that tfrc prints there, once: --peer-key SHA256:...",
        )),
    }
}

fn fingerprint(option: &str, written: &str) -> Result<Fingerprint, Failure> {
    written.parse().map_err(|error: FingerprintError| {
        Failure::usage(format!("{option} {written}: not a fingerprint"), error.to_string())
    })
}

fn unusable(error: &KeyError) -> Failure {
    match error {
        KeyError::Open { path, .. } => {
            Failure::usage(error.to_string(), format!("chmod 600 {}", path.display()))
        }
        KeyError::Content { .. } => Failure::usage(
            error.to_string(),
            "name another file with --key, or move this one away: a new key is made then",
        ),
        error => Failure::usage(error.to_string(), "name a file that can be read or made with --key FILE"),
    }
}

fn unreadable(error: &KnownHostsError) -> Failure {
    let remedy = match error {
        KnownHostsError::Line { .. } => "mend the line, or delete it; --peer-key adds hosts",
        _ => "mend it, or name the key with --peer-key: the file is not needed then",
    };
    Failure::usage(error.to_string(), remedy)
}

/// The folder of this program among the user's settings.
fn folder(remedy: &str) -> Result<PathBuf, Failure> {
    settings_folder().ok_or_else(|| {
        Failure::usage(
            "no folder for keys: neither HOME nor XDG_CONFIG_HOME is set",
            format!("set one of them, or {remedy}"),
        )
    })
}

fn key_file(named: Option<&Path>) -> Result<PathBuf, Failure> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None => Ok(folder("name a file with --key")?.join("key")),
    }
}

fn known_hosts() -> Result<KnownHosts, Failure> {
    folder("name the key with --peer-key").map(|folder| KnownHosts::at(folder.join("known_hosts")))
}

/// The fingerprint of this end's key, which is made if there is none.
///
/// # Errors
/// [`Failure::Usage`] if the file cannot be used.
pub(crate) fn show_key(named: Option<&Path>) -> Result<String, Failure> {
    let path = key_file(named)?;
    let loaded = Key::load_or_make(&path).map_err(|error| unusable(&error))?;
    Ok(format!("{} {}\n", loaded.key.fingerprint(), path.display()))
}

/// Makes a new key for this end. Says which one is over.
///
/// # Errors
/// [`Failure::Usage`] if the file cannot be written.
pub(crate) fn renew_key(named: Option<&Path>) -> Result<String, Failure> {
    let path = key_file(named)?;
    // One that cannot be read is over too.
    let old = Key::load(&path).ok().flatten().map(|old| old.key.fingerprint());
    let new = Key::renew(&path).map_err(|error| unusable(&error))?.fingerprint();
    let over = old.map(|old| format!("{old} is over: take it out of each --allow-key\n"));
    Ok(format!("{new} {}\n{}", path.display(), over.unwrap_or_default()))
}

/// Forgets the key of a host.
///
/// # Errors
/// [`Failure::Usage`] if it is not known, or the file cannot be used.
pub(crate) fn forget_host(host: &str) -> Result<String, Failure> {
    let hosts = known_hosts()?;
    match hosts.forget(host).map_err(|error| unreadable(&error))? {
        Some(known) => {
            let path = hosts.path().display();
            Ok(format!(
                "{host} is forgotten: its key was {} (line {} of {path})\n",
                known.fingerprint, known.line
            ))
        }
        None => Err(Failure::usage(
            format!("{host} is in no line of {}", hosts.path().display()),
            "write it as that file does: HOST:PORT",
        )),
    }
}

/// The address by which hosts elsewhere see this one, as far as its own routes say: a socket that
/// is connected, and sends nothing, has it.
fn address_of_this_host() -> Option<IpAddr> {
    let routes: [(IpAddr, IpAddr); 2] = [
        (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into()),
        (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()),
    ];
    routes.into_iter().find_map(|(any, elsewhere)| {
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect((elsewhere, DEFAULT_PORT)).ok()?;
        socket.local_addr().ok().map(|address| address.ip())
    })
}
