//! A DCCP endpoint without I/O: datagrams and time go in, datagrams and events come out.

use std::net::SocketAddr;

use slotmap::{Key, KeyData};
use tfrc_dccp::endpoint::ConnectConfig;
use tfrc_dccp::{Connection, ConnectionConfig, ConnectionId, Received, SendError};
use tfrc_units::{Duration, Probability, Rate};

use crate::address::Address;
use crate::endpoint_config::EndpointConfig;
use crate::event::Event;
use crate::rate::set_cap;
use crate::status::Status;
use crate::values::{NEVER, ecn, instant, time};
use tfrc_border::{bytes, change, give, look, room, take_back};

/// An endpoint: many connections behind one UDP socket, which is yours. Repeat four steps: pass
/// each datagram that came to `tfrc_endpoint_handle_datagram` and the time to
/// `tfrc_endpoint_handle_timeout`; take packets from `tfrc_endpoint_poll_transmit` and send them,
/// until there is none; take events from `tfrc_endpoint_poll_event`, until there is none; sleep
/// until `tfrc_endpoint_poll_timeout` or until something comes.
#[derive(Debug)]
pub struct Endpoint {
    endpoint: tfrc_dccp::Endpoint,
    connecting: ConnectionConfig,
    /// The packet that the last buffer was too short for.
    unsent: Option<(SocketAddr, tfrc_units::Ecn)>,
    packet: Vec<u8>,
    /// The datagram that the last buffer was too short for.
    unread: Option<(ConnectionId, Received)>,
}

/// A packet to be sent, whose bytes are in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Transmission {
    /// Its length in bytes.
    pub length: usize,
    /// To whom.
    pub to: Address,
    /// The codepoint to send it with, a `tfrc_ecn`.
    pub ecn: u8,
}

/// Counts of a connection since its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct ConnectionStats {
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
    /// Datagrams not sent because the connection ended.
    pub unsent_packets: u64,
    /// Datagrams that came when the application did not read in time.
    pub queue_dropped_packets: u64,
}

/// An endpoint. Null for `config` makes one that only begins connections. `seed` points to 32
/// secret bytes from the system's random numbers, fresh for each process; null for it gives null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_new(config: *const EndpointConfig, seed: *const u8) -> *mut Endpoint {
    // SAFETY: null or a handle of this library, and null or 32 bytes, says the header.
    let (config, seed) = unsafe { (look(config), bytes(seed, 32)) };
    let Some(seed) = seed.and_then(|seed| seed.try_into().ok()) else { return std::ptr::null_mut() };
    let config = config.map(|EndpointConfig(config)| config.clone()).unwrap_or_default();
    let connecting = config.connection.clone();
    let endpoint = tfrc_dccp::Endpoint::new(config, seed);
    give(Endpoint { endpoint, connecting, unsent: None, packet: Vec::new(), unread: None })
}

/// Frees an endpoint without a word to its peers; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_free(endpoint: *mut Endpoint) {
    // SAFETY: it came from tfrc_endpoint_new, says the header.
    unsafe { take_back(endpoint) }
}

/// Begins a connection to the peer's DCCP port `port`, and writes its number to `connection`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_connect(
    endpoint: *mut Endpoint,
    now: u64,
    to: *const Address,
    port: u16,
    connection: *mut u64,
) -> Status {
    // SAFETY: a handle of this library, an address and room for a number, says the header.
    let (endpoint, to, room) = unsafe { (change(endpoint), look(to), change(connection)) };
    let (Some(endpoint), Some(to), Some(room)) = (endpoint, to, room) else { return Status::Null };
    let Some(to) = to.checked() else { return Status::Range };
    let config = ConnectConfig { port, connection: endpoint.connecting.clone() };
    match endpoint.endpoint.connect(instant(now), to, config) {
        Ok(id) => {
            *room = number(id);
            Status::Ok
        }
        Err(_) => Status::Address,
    }
}

/// A UDP datagram has come. What is not a packet of a connection is counted or answered as the RFC
/// says; nothing a peer sends does harm. `ecn_bits` is a `tfrc_ecn`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_handle_datagram(
    endpoint: *mut Endpoint,
    now: u64,
    from: *const Address,
    ecn_bits: u8,
    datagram: *const u8,
    length: usize,
) -> Status {
    // SAFETY: a handle of this library, an address and `length` bytes, says the header.
    let (endpoint, from, datagram) = unsafe { (change(endpoint), look(from), bytes(datagram, length)) };
    let (Some(endpoint), Some(from), Some(datagram)) = (endpoint, from, datagram) else {
        return Status::Null;
    };
    let (Some(from), Some(ecn)) = (from.checked(), ecn(ecn_bits)) else { return Status::Range };
    endpoint.endpoint.handle_datagram(instant(now), from, ecn, datagram);
    Status::Ok
}

/// Lets time pass. Early, late and repeated calls do no harm.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_handle_timeout(endpoint: *mut Endpoint, now: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(endpoint) = (unsafe { change(endpoint) }) else { return Status::Null };
    endpoint.endpoint.handle_timeout(instant(now));
    Status::Ok
}

/// When `tfrc_endpoint_handle_timeout` wants to be called next; `TFRC_NEVER` if nothing is due.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_poll_timeout(endpoint: *mut Endpoint) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let Some(endpoint) = (unsafe { change(endpoint) }) else { return NEVER };
    time(endpoint.endpoint.poll_timeout().map(|wake| wake.at))
}

/// The next packet to send, written to `buffer`, of which 2048 bytes are always enough;
/// `TFRC_STATUS_NOTHING` if there is none, `TFRC_STATUS_BUFFER` if it needs more than `capacity`:
/// it waits then, and `length` says how much.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_poll_transmit(
    endpoint: *mut Endpoint,
    now: u64,
    buffer: *mut u8,
    capacity: usize,
    transmission: *mut Transmission,
) -> Status {
    // SAFETY: a handle of this library, `capacity` bytes and a transmission, says the header.
    let (endpoint, buffer, told) =
        unsafe { (change(endpoint), room(buffer, capacity), change(transmission)) };
    let (Some(endpoint), Some(buffer), Some(told)) = (endpoint, buffer, told) else { return Status::Null };
    let next = endpoint.unsent.take().or_else(|| {
        let sent = endpoint.endpoint.poll_transmit(instant(now), &mut endpoint.packet)?;
        Some((sent.remote, sent.ecn))
    });
    let Some((to, ecn)) = next else { return Status::Nothing };
    let length = endpoint.packet.len();
    *told = Transmission { length, to: to.into(), ecn: ecn.bits() };
    match buffer.get_mut(..length) {
        Some(room) => {
            room.copy_from_slice(&endpoint.packet);
            Status::Ok
        }
        None => {
            endpoint.unsent = Some((to, ecn));
            Status::Buffer
        }
    }
}

/// The oldest event not yet polled; `TFRC_STATUS_NOTHING` if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_poll_event(endpoint: *mut Endpoint, event: *mut Event) -> Status {
    // SAFETY: a handle of this library and room for an event, says the header.
    let (endpoint, room) = unsafe { (change(endpoint), change(event)) };
    let (Some(endpoint), Some(room)) = (endpoint, room) else { return Status::Null };
    match endpoint.endpoint.poll_event() {
        Some((id, event)) => {
            *room = Event::new(number(id), &event);
            Status::Ok
        }
        None => Status::Nothing,
    }
}

/// Hands over a datagram, which is copied. `TFRC_STATUS_FULL`, `TFRC_STATUS_TOO_LONG` or
/// `TFRC_STATUS_CLOSED` if it is not taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_send(
    endpoint: *mut Endpoint,
    now: u64,
    connection: u64,
    datagram: *const u8,
    length: usize,
) -> Status {
    // SAFETY: a handle of this library and `length` bytes, says the header.
    let (endpoint, datagram) = unsafe { (change(endpoint), bytes(datagram, length)) };
    let (Some(endpoint), Some(datagram)) = (endpoint, datagram) else { return Status::Null };
    match endpoint.endpoint.send(instant(now), id(connection), datagram) {
        Ok(()) => Status::Ok,
        Err(SendError::Full) => Status::Full,
        Err(SendError::TooLong { .. }) => Status::TooLong,
        Err(_) => Status::Closed,
    }
}

/// The oldest datagram that waits to be read, written to `buffer`; its length goes to `length`.
/// `TFRC_STATUS_NOTHING` if there is none, `TFRC_STATUS_BUFFER` if it is longer than `capacity`: it
/// waits then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_recv(
    endpoint: *mut Endpoint,
    connection: u64,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> Status {
    // SAFETY: a handle of this library, `capacity` bytes and room for a length, says the header.
    let (endpoint, buffer, told) = unsafe { (change(endpoint), room(buffer, capacity), change(length)) };
    let (Some(endpoint), Some(buffer), Some(told)) = (endpoint, buffer, told) else { return Status::Null };
    let id = id(connection);
    let received = match endpoint.unread.take() {
        Some((of, received)) if of == id => Some(received),
        other => {
            endpoint.unread = other;
            endpoint.endpoint.recv(id)
        }
    };
    let Some(received) = received else { return Status::Nothing };
    *told = received.bytes.len();
    match buffer.get_mut(..received.bytes.len()) {
        Some(room) => {
            room.copy_from_slice(&received.bytes);
            if let Some(connection) = endpoint.endpoint.connection_mut(id) {
                connection.recycle(received.bytes);
            }
            Status::Ok
        }
        None => {
            endpoint.unread = Some((id, received));
            Status::Buffer
        }
    }
}

/// Closes a connection: what was handed over is still sent. Agrees if the peer wants to close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_close(endpoint: *mut Endpoint, now: u64, connection: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(endpoint) = (unsafe { change(endpoint) }) else { return Status::Null };
    let Some(connection) = endpoint.endpoint.connection_mut(id(connection)) else { return Status::Closed };
    connection.close(instant(now));
    Status::Ok
}

/// Forgets a connection; one that is not over is broken off first. Its number is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_release(endpoint: *mut Endpoint, now: u64, connection: u64) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(endpoint) = (unsafe { change(endpoint) }) else { return Status::Null };
    let id = id(connection);
    if endpoint.unread.as_ref().is_some_and(|(of, _)| *of == id) {
        endpoint.unread = None;
    }
    endpoint.endpoint.release(instant(now), id);
    Status::Ok
}

/// X of a connection, data, bit/s; NAN if there is no such connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_connection_allowed_rate_bps(endpoint: *const Endpoint, connection: u64) -> f64 {
    // SAFETY: a handle of this library, says the header.
    unsafe { of(endpoint, connection) }.map_or(f64::NAN, |connection| Rate::bits_per_sec(connection.rate()))
}

/// Replaces the limit on the sending rate of a connection: bit/s, above zero; `INFINITY` for none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_connection_set_cap_bps(
    endpoint: *mut Endpoint,
    connection: u64,
    bps: f64,
) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(endpoint) = (unsafe { change(endpoint) }) else { return Status::Null };
    let Some(connection) = endpoint.endpoint.connection_mut(id(connection)) else { return Status::Closed };
    set_cap(bps, |cap| connection.set_cap(cap))
}

/// R of a connection, ns; `TFRC_NEVER` before there is a sample.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_connection_rtt(endpoint: *const Endpoint, connection: u64) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let rtt = unsafe { of(endpoint, connection) }.and_then(Connection::rtt);
    rtt.map_or(NEVER, Duration::as_nanos)
}

/// p of a connection's data, 0 to 1; NAN if there is no such connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_connection_loss_event_rate(endpoint: *const Endpoint, connection: u64) -> f64 {
    // SAFETY: a handle of this library, says the header.
    unsafe { of(endpoint, connection) }
        .map_or(f64::NAN, |connection| Probability::get(connection.loss_event_rate()))
}

/// The time up to `now`, ns, for which what a connection sends has competed with others that keep
/// the queue longer than its bound (`tfrc_config_set_max_queue_delay`), which does not limit it
/// then; 0 without a bound, and if there is no such connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_connection_competed(
    endpoint: *const Endpoint,
    now: u64,
    connection: u64,
) -> u64 {
    // SAFETY: a handle of this library, says the header.
    let connection = unsafe { of(endpoint, connection) };
    connection.map_or(0, |connection| Duration::as_nanos(connection.rate_sender().competed(instant(now))))
}

/// Counts of a connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_connection_get_stats(
    endpoint: *const Endpoint,
    connection: u64,
    stats: *mut ConnectionStats,
) -> Status {
    // SAFETY: a handle of this library and room for the counts, says the header.
    let (connection, room) = unsafe { (of(endpoint, connection), change(stats)) };
    let Some(room) = room else { return Status::Null };
    let Some(connection) = connection else { return Status::Closed };
    let stats = connection.stats();
    *room = ConnectionStats {
        sent_packets: stats.sent_data_packets,
        sent_bytes: stats.sent_data_bytes,
        received_packets: stats.received_data_packets,
        received_bytes: stats.received_data_bytes,
        peer_sent_packets: connection.peer_sent_data_packets(),
        late_packets: stats.late_packets,
        unsent_packets: stats.unsent_packets,
        queue_dropped_packets: stats.queue_dropped_packets,
    };
    Status::Ok
}

/// # Safety
/// As [`look`].
unsafe fn of<'a>(endpoint: *const Endpoint, connection: u64) -> Option<&'a Connection> {
    // SAFETY: passed on to the caller.
    unsafe { look(endpoint) }?.endpoint.connection(id(connection))
}

fn number(id: ConnectionId) -> u64 {
    id.data().as_ffi()
}

fn id(number: u64) -> ConnectionId {
    KeyData::from_ffi(number).into()
}
