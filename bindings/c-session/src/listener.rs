//! UDP ports that take sessions.

use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tfrc_border::{change, give, look, take_back};
use tfrc_session::{Endpoint, LatePolicy, Refusal, RefusalReason};

use crate::options::{Options, Part, Role};
use crate::runtime::{late, runtime, within};
use crate::session::Session;
use crate::status::{Answer, Failure, Status, answer, c_text, words};

/// An endpoint that ends with its last user.
#[derive(Debug)]
pub(crate) struct Port(pub(crate) Endpoint);

impl Drop for Port {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A UDP port that takes sessions.
#[derive(Debug)]
pub struct Listener {
    port: Arc<Port>,
    address: CString,
    part: Part,
    late: LatePolicy,
    is_closed: AtomicBool,
}

/// Opens a UDP port at `address`, `HOST:PORT`; port 0 lets the system choose. Null for `options`
/// takes one session over DCCP at a time, and receives datagrams.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_listen(
    options: *const Options,
    address: *const c_char,
    listener: *mut *mut Listener,
) -> Status {
    // SAFETY: null or a handle of this library, a text and room for a pointer, says the header.
    let (options, address, room) = unsafe { (look(options), words(address, "address"), change(listener)) };
    answer((|| {
        let room = room.ok_or_else(|| Failure::null("listener"))?;
        *room = ptr::null_mut();
        *room = give(listen(options.unwrap_or(&Options::default()), address?)?);
        Ok(Status::Ok)
    })())
}

fn listen(options: &Options, address: &str) -> Answer<Listener> {
    let checked = options.checked(Role::Listens)?;
    let failed =
        |error: &dyn std::fmt::Display| Failure::new(Status::Address, format_args!("{address}: {error}"));
    let endpoint = runtime()?.block_on(async {
        let mut found = tokio::net::lookup_host(address).await.map_err(|error| failed(&error))?;
        let at = found.next().ok_or_else(|| failed(&"has no address"))?;
        Endpoint::bind(at, &checked).map_err(|error| failed(&error))
    })?;
    Ok(Listener {
        address: c_text(endpoint.local_addr().to_string()),
        port: Arc::new(Port(endpoint)),
        part: options.part(Role::Listens),
        late: options.late,
        is_closed: AtomicBool::new(false),
    })
}

/// The address that is listened on, `HOST:PORT`; null for null. It lives as long as the listener.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_listener_address(listener: *const Listener) -> *const c_char {
    // SAFETY: null or a handle of this library, says the header.
    unsafe { look(listener) }.map_or(ptr::null(), |listener| listener.address.as_ptr())
}

/// Takes the next session. After TFRC_SESSION_STATUS_TIMEOUT the text of the error names the peer
/// that was refused last, if there was one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_accept(
    listener: *const Listener,
    timeout_ms: u64,
    session: *mut *mut Session,
) -> Status {
    // SAFETY: a handle of this library, and room for a pointer, says the header.
    let (listener, room) = unsafe { (look(listener), change(session)) };
    answer((|| {
        let room = room.ok_or_else(|| Failure::null("session"))?;
        *room = ptr::null_mut();
        let listener = listener.ok_or_else(|| Failure::null("listener"))?;
        let closed = || Failure::new(Status::Closed, "the listener is closed");
        if listener.is_closed.load(Ordering::Relaxed) {
            return Err(closed());
        }
        let Listener { port, part, late, .. } = listener;
        let Some(accepted) = within(timeout_ms, port.0.accept())? else {
            return Err(nobody(timeout_ms, port.0.take_refusals().last()));
        };
        let connection = accepted.ok_or_else(closed)?;
        *room = give(Session::new(connection, Arc::clone(port), *part, *late, Role::Listens));
        Ok(Status::Ok)
    })())
}

fn nobody(timeout_ms: u64, refused: Option<&Refusal>) -> Failure {
    let Some(Refusal { remote, reason }) = refused else { return late("nobody came", timeout_ms) };
    let why = match reason {
        RefusalReason::Key(key) => format!("its key {key} is not one of the peer keys"),
        RefusalReason::Busy => "as many connections as are taken at once are open".to_owned(),
        other => format!("{other:?}"),
    };
    late(&format!("{remote} was refused ({why}), and nobody else came"), timeout_ms)
}

/// Takes no more sessions, and waits for peers that have not heard the end of theirs: some seconds,
/// at most `timeout_ms`. A receiver calls it before the process ends, so that no sender is left
/// without an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_listener_close(listener: *const Listener, timeout_ms: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let listener = unsafe { look(listener) };
    answer((|| {
        let listener = listener.ok_or_else(|| Failure::null("listener"))?;
        listener.is_closed.store(true, Ordering::Relaxed);
        within(timeout_ms, listener.port.0.linger())?;
        Ok(Status::Ok)
    })())
}

/// Frees a listener; null is allowed. Its port is open until its last session is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_listener_free(listener: *mut Listener) {
    if listener.is_null() {
        return;
    }
    let _inside = runtime().ok().map(|runtime| runtime.enter());
    // SAFETY: it came from tfrc_session_listen, says the header.
    unsafe { take_back(listener) }
}
