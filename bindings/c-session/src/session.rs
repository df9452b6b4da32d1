//! Sessions that send and receive datagrams.

use std::collections::VecDeque;
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tfrc_border::{bytes, change, give, look, room, take_back};
use tfrc_session::{
    AttemptError, Cause, Closed, ConnectError, Connection, LatePolicy, Recordings, SendError, connect_any,
    why,
};

use crate::listener::Port;
use crate::options::{Options, Part, Role};
use crate::runtime::{late, runtime, within};
use crate::status::{Answer, Failure, NEVER, Status, answer, c_text, words};

/// One end of a session. Datagrams keep their boundaries; the network may lose some, and change
/// their order.
#[derive(Debug)]
pub struct Session {
    pub(crate) connection: Connection,
    pub(crate) part: Part,
    port: Arc<Port>,
    role: Role,
    /// Datagrams that a buffer was too short for.
    unread: Mutex<VecDeque<Vec<u8>>>,
    peer: CString,
    peer_key: Option<CString>,
    last_words: OnceLock<CString>,
}

/// A session at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Stats {
    /// X, the allowed rate of what this end sends, bit/s.
    pub allowed_rate_bps: f64,
    /// R, the round-trip time, ns; `TFRC_SESSION_NEVER` before it was measured.
    pub rtt_ns: u64,
    /// p of what this end sends, 0 to 1.
    pub loss_event_rate: f64,
    /// p of what this end receives, 0 to 1.
    pub received_loss_event_rate: f64,
    /// Datagrams that wait to be sent.
    pub queued_packets: u64,
    /// Datagrams sent.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Datagrams received.
    pub received_packets: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Datagrams that the peer has sent, received or not, as far as is known.
    pub peer_sent_packets: u64,
    /// Datagrams dropped because they waited longer than the deadline.
    pub late_packets: u64,
    /// Datagrams not sent because the session ended, or the path had become too narrow.
    pub unsent_packets: u64,
    /// Datagrams that came when the program did not read in time.
    pub queue_dropped_packets: u64,
}

impl Session {
    pub(crate) fn new(
        connection: Connection,
        port: Arc<Port>,
        part: Part,
        late: LatePolicy,
        role: Role,
    ) -> Self {
        connection.set_late_policy(late);
        Self {
            peer: c_text(connection.remote_addr().map(|address| address.to_string()).unwrap_or_default()),
            peer_key: connection.peer_key().map(c_text),
            connection,
            part,
            port,
            role,
            unread: Mutex::default(),
            last_words: OnceLock::new(),
        }
    }

    /// Stays for a peer that has not heard the end, unless the listener's closing does that.
    pub(crate) async fn farewell(&self) {
        if self.role == Role::Calls {
            self.port.0.linger().await;
        }
    }

    fn carries_datagrams(&self) -> Answer<()> {
        match self.part {
            Part::Sends | Part::Receives => Ok(()),
            _ => Err(Failure::new(Status::Part, "this session is for a file, by its options")),
        }
    }

    fn send(&self, datagram: &[u8], timeout_ms: u64) -> Answer {
        self.carries_datagrams()?;
        match within(timeout_ms, self.connection.send(datagram.to_vec()))? {
            Some(Ok(())) => Ok(Status::Ok),
            Some(Err(error @ SendError::TooLong { .. })) => Err(Failure::new(Status::TooLong, error)),
            Some(Err(error)) => Err(Failure::new(Status::Closed, error)),
            None => Err(Failure::new(
                Status::Full,
                format_args!("the send queue stayed full for {timeout_ms} ms: the rate allows no more"),
            )),
        }
    }

    fn receive(&self, buffer: &mut [u8], timeout_ms: u64, length: &mut usize) -> Answer {
        self.carries_datagrams()?;
        let waiting = || self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = waiting().pop_front();
        let datagram = match kept {
            Some(datagram) => datagram,
            None => match within(timeout_ms, self.connection.recv())? {
                Some(Some(received)) => received.bytes,
                Some(None) => return Ok(Status::Nothing),
                None => return Err(late("no datagram came", timeout_ms)),
            },
        };
        *length = datagram.len();
        match buffer.get_mut(..datagram.len()) {
            Some(place) => place.copy_from_slice(&datagram),
            None => {
                let text = format!("a datagram of {} bytes for a buffer of {}", datagram.len(), buffer.len());
                waiting().push_front(datagram);
                return Err(Failure::new(Status::Buffer, text));
            }
        }
        Ok(Status::Ok)
    }

    fn close(&self, text: &str, timeout_ms: u64) -> Answer {
        let closed = within(timeout_ms, async {
            if self.connection.is_asked_to_close() {
                let closed = self.connection.accept_close(text).await;
                self.farewell().await;
                return closed;
            }
            self.connection.set_closing_text(text);
            self.connection.close().await
        })?;
        match closed {
            Some(Some(Closed { cause: Cause::Agreed, text, .. })) => {
                self.last_words.get_or_init(|| c_text(text.unwrap_or_default()));
                Ok(Status::Ok)
            }
            Some(Some(closed)) => Err(Failure::new(Status::Closed, why(&closed))),
            Some(None) => Err(Failure::new(Status::Closed, "the session has ended before")),
            None => Err(late("the session has not ended", timeout_ms)),
        }
    }
}

/// Connects to the listener at `address`, `HOST:PORT`: to the first of its addresses that answers.
/// Null for `options` sends datagrams over DCCP.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_connect(
    options: *const Options,
    address: *const c_char,
    timeout_ms: u64,
    session: *mut *mut Session,
) -> Status {
    // SAFETY: null or a handle of this library, a text and room for a pointer, says the header.
    let (options, address, room) = unsafe { (look(options), words(address, "address"), change(session)) };
    answer((|| {
        let room = room.ok_or_else(|| Failure::null("session"))?;
        *room = ptr::null_mut();
        *room = give(connect(options.unwrap_or(&Options::default()), address?, timeout_ms)?);
        Ok(Status::Ok)
    })())
}

fn connect(options: &Options, address: &str, timeout_ms: u64) -> Answer<Session> {
    let checked = options.checked(Role::Calls)?;
    let connected = within(timeout_ms, async {
        let found = tokio::net::lookup_host(address).await;
        let failed =
            |error: std::io::Error| Failure::new(Status::Address, format_args!("{address}: {error}"));
        let found: Vec<_> = found.map_err(failed)?.collect();
        connect_any(&found, &checked, Recordings::default()).await.map_err(|error| not_connected(&error))
    })?;
    let none = || late(&format!("{address}: nobody answered"), timeout_ms);
    let (endpoint, connection) = connected.ok_or_else(none)??;
    let (part, port) = (options.part(Role::Calls), Arc::new(Port(endpoint)));
    Ok(Session::new(connection, port, part, options.late, Role::Calls))
}

fn not_connected(error: &ConnectError) -> Failure {
    let ConnectError::Failed(attempts) = error else { return Failure::new(Status::Address, error) };
    let any = |is: fn(&AttemptError) -> bool| attempts.iter().any(|(_, error)| is(error));
    if any(|error| matches!(error, AttemptError::Private)) {
        let text = "the peer takes private sessions only: tfrc_session_options_set_key makes one";
        return Failure::new(Status::Carrier, text);
    }
    if any(|error| matches!(error, AttemptError::Plain)) {
        let text = "the peer speaks DCCP, and takes no private sessions: it has to be made with a key";
        return Failure::new(Status::Carrier, text);
    }
    let is_key = any(|error| error.other_key().is_some() || error.refused_key().is_some());
    Failure::new(if is_key { Status::Key } else { Status::Refused }, error)
}

/// Hands over a datagram, which goes when the rate allows: waits while many wait already. After
/// TFRC_SESSION_STATUS_FULL it was not taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_send(
    session: *const Session,
    datagram: *const u8,
    length: usize,
    timeout_ms: u64,
) -> Status {
    // SAFETY: a handle of this library and `length` bytes, says the header.
    let (session, datagram) = unsafe { (look(session), bytes(datagram, length)) };
    answer((|| {
        let session = session.ok_or_else(|| Failure::null("session"))?;
        session.send(datagram.ok_or_else(|| Failure::null("datagram"))?, timeout_ms)
    })())
}

/// Writes the next datagram that has come to the buffer, and its length to `length`.
/// TFRC_SESSION_STATUS_NOTHING and a length of 0: the peer sends no more, or is gone, and
/// `tfrc_session_close` says which. TFRC_SESSION_STATUS_BUFFER: the length that the buffer needs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_receive(
    session: *const Session,
    buffer: *mut u8,
    capacity: usize,
    timeout_ms: u64,
    length: *mut usize,
) -> Status {
    // SAFETY: a handle of this library, `capacity` bytes and room for a number, says the header.
    let (session, buffer, length) = unsafe { (look(session), room(buffer, capacity), change(length)) };
    answer((|| {
        let length = length.ok_or_else(|| Failure::null("length"))?;
        *length = 0;
        let session = session.ok_or_else(|| Failure::null("session"))?;
        session.receive(buffer.ok_or_else(|| Failure::null("buffer"))?, timeout_ms, length)
    })())
}

/// The longest datagram that fits into a packet now, bytes; 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_max_datagram(session: *const Session) -> usize {
    // SAFETY: null or a handle of this library, says the header.
    unsafe { look(session) }.map_or(0, |session| session.connection.max_datagram())
}

/// Writes the session's rates and counts to `stats`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_get_stats(session: *const Session, stats: *mut Stats) -> Status {
    // SAFETY: a handle of this library, and room for the counts, says the header.
    let (session, room) = unsafe { (look(session), change(stats)) };
    answer((|| {
        let status = session.ok_or_else(|| Failure::null("session"))?.connection.status();
        let counts = status.stats;
        *room.ok_or_else(|| Failure::null("stats"))? = Stats {
            allowed_rate_bps: status.allowed_rate.bits_per_sec(),
            rtt_ns: status.rtt.or(status.sender_rtt).map_or(NEVER, tfrc_units::Duration::as_nanos),
            loss_event_rate: status.reported_loss_event_rate.get(),
            received_loss_event_rate: status.loss_event_rate.get(),
            queued_packets: status.queued as u64,
            sent_packets: counts.sent_data_packets,
            sent_bytes: counts.sent_data_bytes,
            received_packets: counts.received_data_packets,
            received_bytes: counts.received_data_bytes,
            peer_sent_packets: status.peer_sent_packets,
            late_packets: status.late_dropped,
            unsent_packets: status.unsent_packets,
            queue_dropped_packets: counts.queue_dropped_packets,
        };
        Ok(Status::Ok)
    })())
}

/// The peer's address when the session began, `HOST:PORT`; null for null. It lives as long as the
/// session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_peer(session: *const Session) -> *const c_char {
    // SAFETY: null or a handle of this library, says the header.
    unsafe { look(session) }.map_or(ptr::null(), |session| session.peer.as_ptr())
}

/// The fingerprint of the peer's key, which the peer has proved to have; null over DCCP, which has
/// none. It lives as long as the session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_peer_key(session: *const Session) -> *const c_char {
    // SAFETY: null or a handle of this library, says the header.
    let key = unsafe { look(session) }.and_then(|session| session.peer_key.as_ref());
    key.map_or(ptr::null(), |key| key.as_ptr())
}

/// Ends the session once everything has been sent, or agrees to the end that the peer has asked
/// for, with a text of at most 200 bytes for the peer; null for none. An end that has connected and
/// agrees stays for some seconds for a peer that does not hear it. After
/// TFRC_SESSION_STATUS_TIMEOUT it may be called again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_close(
    session: *const Session,
    text: *const c_char,
    timeout_ms: u64,
) -> Status {
    // SAFETY: a handle of this library, and null or a text, says the header.
    let (session, text) =
        unsafe { (look(session), if text.is_null() { Ok("") } else { words(text, "text") }) };
    answer((|| {
        let text = text?;
        if text.len() > 200 {
            return Err(Failure::range(format_args!("a text of {} bytes: at most 200", text.len())));
        }
        session.ok_or_else(|| Failure::null("session"))?.close(text, timeout_ms)
    })())
}

/// The text with which the peer has ended the session; null before `tfrc_session_close` was done.
/// It lives as long as the session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_peer_text(session: *const Session) -> *const c_char {
    // SAFETY: null or a handle of this library, says the header.
    let text = unsafe { look(session) }.and_then(|session| session.last_words.get());
    text.map_or(ptr::null(), |text| text.as_ptr())
}

/// Frees a session, and breaks it off if it was not closed; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_free(session: *mut Session) {
    if session.is_null() {
        return;
    }
    let _inside = runtime().ok().map(|runtime| runtime.enter());
    // SAFETY: it came from this library, says the header.
    unsafe { take_back(session) }
}
