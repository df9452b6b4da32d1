//! Events of connections.

use tfrc_dccp::wire::ResetCode;

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum EventKind {
    /// A listening endpoint has a new connection. `service` is the code that was asked for.
    Incoming = 0,
    /// A connection that this end began is established: data may be sent.
    Connected = 1,
    /// Datagrams wait to be read, where none did before.
    Readable = 2,
    /// The send queue was full and has room again.
    Writable = 3,
    /// All that was handed over has been sent or dropped.
    Flushed = 4,
    /// `packets` datagrams, `bytes` long together, left the send queue unsent: they were late, or
    /// the connection ended.
    Dropped = 5,
    /// The allowed rate is now `rate_bps`.
    RateChanged = 6,
    /// The peer wants to close: read what is left, then call `tfrc_endpoint_close`.
    CloseReceived = 7,
    /// The connection is over: `closed_by`, `reset_code`. Read what is left, then call
    /// `tfrc_endpoint_release`.
    Closed = 8,
    /// Something that this library is older than; it may be ignored.
    Other = 9,
}

/// Party that ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum ClosedBy {
    /// It stands.
    None = 0,
    /// We closed, and the peer agreed.
    Us = 1,
    /// The peer closed, and we agreed.
    Peer = 2,
    /// We broke it off.
    OurReset = 3,
    /// The peer broke it off.
    PeerReset = 4,
    /// The network says that nobody listens there.
    Unreachable = 5,
}

/// Something the application should know. Fields that do not belong to the kind are zero.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Event {
    /// The connection.
    pub connection: u64,
    /// Datagrams.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Data, bit/s.
    pub rate_bps: f64,
    /// The kind.
    pub kind: EventKind,
    /// The party that ended it.
    pub closed_by: ClosedBy,
    /// The service code.
    pub service: u32,
    /// The Reset Code with which it ended (RFC 4340 §5.6); 1 if all went well.
    pub reset_code: u8,
}

impl Event {
    pub(crate) fn new(connection: u64, event: &tfrc_dccp::Event) -> Self {
        let blank = Self {
            connection,
            packets: 0,
            bytes: 0,
            rate_bps: 0.0,
            kind: EventKind::Other,
            closed_by: ClosedBy::None,
            service: 0,
            reset_code: 0,
        };
        let of = |kind| Self { kind, ..blank };
        match event {
            tfrc_dccp::Event::Incoming { service } => {
                Self { service: service.get(), ..of(EventKind::Incoming) }
            }
            tfrc_dccp::Event::Connected => of(EventKind::Connected),
            tfrc_dccp::Event::Readable => of(EventKind::Readable),
            tfrc_dccp::Event::Writable => of(EventKind::Writable),
            tfrc_dccp::Event::Flushed => of(EventKind::Flushed),
            tfrc_dccp::Event::Dropped { packets, bytes, .. } => {
                Self { packets: *packets, bytes: *bytes, ..of(EventKind::Dropped) }
            }
            tfrc_dccp::Event::RateChanged(change) => {
                Self { rate_bps: change.to.bits_per_sec(), ..of(EventKind::RateChanged) }
            }
            tfrc_dccp::Event::CloseReceived => of(EventKind::CloseReceived),
            tfrc_dccp::Event::Closed(closed) => Self {
                closed_by: closed.by.into(),
                reset_code: ResetCode::wire(closed.code),
                ..of(EventKind::Closed)
            },
            _ => blank,
        }
    }
}

impl From<tfrc_dccp::ClosedBy> for ClosedBy {
    fn from(by: tfrc_dccp::ClosedBy) -> Self {
        match by {
            tfrc_dccp::ClosedBy::Us => Self::Us,
            tfrc_dccp::ClosedBy::Peer => Self::Peer,
            tfrc_dccp::ClosedBy::OurReset => Self::OurReset,
            tfrc_dccp::ClosedBy::PeerReset => Self::PeerReset,
            tfrc_dccp::ClosedBy::Unreachable => Self::Unreachable,
        }
    }
}
