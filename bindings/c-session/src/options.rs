//! Options of listeners and sessions.

use std::ffi::{CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use tfrc_border::{change, give, look, take_back, text};
use tfrc_session::{Carrier, Common, DEADLINE_QUEUE, DataFrom, Fingerprint, Key, LatePolicy, Listen, Quic};
use tfrc_units::Duration;

use crate::status::{Answer, Failure, NEVER, Status, answer, c_text, words};

/// Options of a listener, or of a session that connects. They are copied where they are used, and
/// may be freed then.
///
/// Without a key, sessions are over DCCP, and anybody on the path can read and change them. With
/// one they are private, over QUIC, as those of `tfrc --quic`.
#[derive(Debug, Default)]
pub struct Options {
    common: Common,
    connections: Option<usize>,
    part: Option<Part>,
    pub(crate) late: LatePolicy,
    own: Option<(Key, CString)>,
    peers: Vec<Fingerprint>,
}

/// The part of an end in its sessions. The peer has the opposite one. Of datagrams the end that
/// receives may send a few as well, such as answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// It sends datagrams.
    Sends = 0,
    /// It receives datagrams.
    Receives = 1,
    /// It sends one file in a session; the peer may be `tfrc recv -o FILE`.
    SendsFile = 2,
    /// It receives one file in a session; the peer may be `tfrc send -f FILE`.
    ReceivesFile = 3,
}

/// The rate control of data that this end sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Profile {
    /// RFC 5348 alone.
    Rfc5348 = 0,
    /// Fair to the TCPs of today.
    Balanced = 1,
}

/// The two ways to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Calls,
    Listens,
}

impl Options {
    /// The part of an end with these options.
    pub(crate) fn part(&self, role: Role) -> Part {
        self.part.unwrap_or(match role {
            Role::Calls => Part::Sends,
            Role::Listens => Part::Receives,
        })
    }

    /// The options as the session crate has them.
    pub(crate) fn checked(&self, role: Role) -> Answer<tfrc_session::Options> {
        let carrier = match (&self.own, self.peers.as_slice()) {
            (None, []) => Carrier::default(),
            (None, _) => {
                return Err(Failure::new(
                    Status::Carrier,
                    "DCCP has no keys, and a peer's key was given: set a key of this end, too, for QUIC",
                ));
            }
            (Some(_), []) if role == Role::Calls => {
                return Err(Failure::new(
                    Status::Key,
                    "a private session needs the fingerprint of the key there: \
                     tfrc_session_options_add_peer_key",
                ));
            }
            (Some((key, _)), peers) => Carrier::Quic(Quic { key: key.clone(), peers: peers.to_vec() }),
        };
        let part = self.part(role);
        let sends = matches!(part, Part::Sends | Part::SendsFile);
        let greeting = match part {
            Part::Sends | Part::Receives => "",
            Part::SendsFile => tfrc_session::Part::SendsFile.word(),
            Part::ReceivesFile => tfrc_session::Part::ReceivesFiles.word(),
        };
        let common = Common {
            accept: match role {
                Role::Calls => Listen::Refuse,
                Role::Listens => Listen::Many(self.connections.unwrap_or(1)),
            },
            data_from: if sends == (role == Role::Calls) { DataFrom::Caller } else { DataFrom::Listener },
            greeting: greeting.to_owned(),
            ..self.common.clone()
        };
        Ok(tfrc_session::Options { common, carrier })
    }
}

/// Options of a session over DCCP in which the end that connects sends datagrams.
#[unsafe(no_mangle)]
pub extern "C" fn tfrc_session_options_new() -> *mut Options {
    give(Options::default())
}

/// Frees options; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_options_free(options: *mut Options) {
    // SAFETY: it came from tfrc_session_options_new, says the header.
    unsafe { take_back(options) }
}

/// Makes sessions private, over QUIC, with the key in this file. If the file is not there it is
/// made, for its owner alone. Null for `path` makes a key that no file has, a new one in each call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_options_set_key(options: *mut Options, path: *const c_char) -> Status {
    // SAFETY: a handle of this library, and null or a text, says the header.
    let (options, path) = unsafe { (change(options), text(path)) };
    answer((|| {
        let options = options.ok_or_else(|| Failure::null("options"))?;
        let key = match path {
            None => Key::temporary(),
            Some(path) => {
                Key::load_or_make(Path::new(OsStr::from_bytes(path.to_bytes()))).map(|loaded| loaded.key)
            }
        };
        let key = key.map_err(|error| Failure::new(Status::Key, error))?;
        let fingerprint = c_text(key.fingerprint().to_string());
        options.own = Some((key, fingerprint));
        Ok(Status::Ok)
    })())
}

/// The fingerprint of this end's key, `SHA256:` and 43 letters, which the peer needs to know; null
/// before `tfrc_session_options_set_key`. It lives until that is called again, or the options are
/// freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_options_key(options: *const Options) -> *const c_char {
    // SAFETY: null or a handle of this library, says the header.
    let own = unsafe { look(options) }.and_then(|options| options.own.as_ref());
    own.map_or(ptr::null(), |(_, fingerprint)| fingerprint.as_ptr())
}

/// Adds the fingerprint of a peer's key. A listener lets in the owners of these keys, and everybody
/// if there are none; a private session that connects needs the key of the end that it calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_options_add_peer_key(
    options: *mut Options,
    fingerprint: *const c_char,
) -> Status {
    // SAFETY: a handle of this library, and null or a text, says the header.
    let (options, fingerprint) = unsafe { (change(options), words(fingerprint, "fingerprint")) };
    answer((|| {
        let options = options.ok_or_else(|| Failure::null("options"))?;
        let fingerprint = fingerprint?;
        let peer = fingerprint.parse();
        options.peers.push(peer.map_err(|error| Failure::range(format_args!("{fingerprint}: {error}")))?);
        Ok(Status::Ok)
    })())
}

/// The part of this end, a `tfrc_session_part`. Without this the end that connects sends datagrams,
/// and the one that listens receives them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_options_set_part(options: *mut Options, part: u8) -> Status {
    let part = match part {
        0 => Ok(Part::Sends),
        1 => Ok(Part::Receives),
        2 => Ok(Part::SendsFile),
        3 => Ok(Part::ReceivesFile),
        other => Err(Failure::range(format_args!("there is no part {other}"))),
    };
    // SAFETY: a handle of this library, says the header.
    unsafe { set(options, part, |options, part| options.part = Some(part)) }
}

/// Connections that a listener has at once, at least 1; 1 by default. Others are told that it is
/// busy. A connection takes its place from its handshake until its session is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_options_set_connections(
    options: *mut Options,
    connections: usize,
) -> Status {
    let connections =
        if connections > 0 { Ok(connections) } else { Err(Failure::range("a listener of 0 connections")) };
    // SAFETY: a handle of this library, says the header.
    unsafe { set(options, connections, |options, number| options.connections = Some(number)) }
}

/// The rate control of what this end sends, a `tfrc_session_profile`: balanced by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_options_set_profile(options: *mut Options, profile: u8) -> Status {
    let profile = match profile {
        0 => Ok(tfrc_session::Profile::Rfc5348),
        1 => Ok(tfrc_session::Profile::Balanced),
        other => Err(Failure::range(format_args!("there is no profile {other}"))),
    };
    // SAFETY: a handle of this library, says the header.
    unsafe { set(options, profile, |options, profile| options.common.profile = profile) }
}

/// The application's own limit, bit/s, above zero; `INFINITY`, the default, for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_options_set_cap_bps(options: *mut Options, bps: f64) -> Status {
    let cap = match bps {
        f64::INFINITY => Ok(None),
        bps if bps.is_finite() && bps > 0.0 => Ok(Some(bps)),
        bps => Err(Failure::range(format_args!("the cap is {bps} bit/s: it has to be above zero"))),
    };
    // SAFETY: a handle of this library, says the header.
    unsafe { set(options, cap, |options, cap| options.common.cap_bps = cap) }
}

/// The longest queueing delay that the flow may make, at least 1 ms: it sends less than X then.
/// `TFRC_SESSION_NEVER`, the default, for no bound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_options_set_max_queue_delay(
    options: *mut Options,
    delay_ms: u64,
) -> Status {
    let delay = time(delay_ms, "a bound on the queueing delay");
    // SAFETY: a handle of this library, says the header.
    unsafe { set(options, delay, |options, delay| options.common.max_queue_delay = delay) }
}

/// Datagrams that have waited longer than this when their turn comes are dropped, and a full queue,
/// of 1024 then, drops its oldest: for live media. `TFRC_SESSION_NEVER`, the default: they wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_options_set_deadline(
    options: *mut Options,
    deadline_ms: u64,
) -> Status {
    let deadline = time(deadline_ms, "a deadline");
    // SAFETY: a handle of this library, says the header.
    unsafe {
        set(options, deadline, |options, deadline| {
            options.late = deadline.map_or(LatePolicy::Wait, LatePolicy::DropAfter);
            if deadline.is_some() {
                options.common.send_queue = DEADLINE_QUEUE;
            }
        })
    }
}

/// Silence after which the peer counts as gone, at least 1 ms; `TFRC_SESSION_NEVER` for the usual
/// 60 s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_options_set_silence(options: *mut Options, silence_ms: u64) -> Status {
    let silence = time(silence_ms, "a silence");
    // SAFETY: a handle of this library, says the header.
    unsafe { set(options, silence, |options, silence| options.common.silence = silence) }
}

/// A time of at least a millisecond; `None` for [`NEVER`].
fn time(ms: u64, what: &str) -> Answer<Option<Duration>> {
    match ms {
        NEVER => Ok(None),
        0 => Err(Failure::range(format_args!("{what} of 0 ms"))),
        ms => Ok(Some(Duration::from_millis(ms))),
    }
}

/// # Safety
/// As [`change`].
unsafe fn set<T>(options: *mut Options, value: Answer<T>, apply: impl FnOnce(&mut Options, T)) -> Status {
    // SAFETY: passed on to the caller.
    let options = unsafe { change(options) };
    answer((|| {
        apply(options.ok_or_else(|| Failure::null("options"))?, value?);
        Ok(Status::Ok)
    })())
}
