//! The connections of an endpoint.

use alloc::boxed::Box;
use core::net::SocketAddr;

use slotmap::{SlotMap, new_key_type};
use tfrc_units::Instant;

use super::Key;
use crate::connection::Connection;
use crate::feature::Role;

new_key_type! {
    /// Names a connection of an endpoint; never used again for another one.
    pub struct ConnectionId;
}

#[cfg(test)]
impl ConnectionId {
    pub(super) fn numbered(n: u64) -> Self {
        slotmap::KeyData::from_ffi(n).into()
    }
}

/// Connections by their id. Boxed: an empty slot costs little, and the map grows by doubling.
pub(super) type Slots = SlotMap<ConnectionId, Box<Live>>;

/// A connection and what the endpoint knows of it.
#[derive(Debug, Clone)]
pub(super) struct Live {
    pub(super) connection: Connection,
    pub(super) remote: SocketAddr,
    pub(super) key: Key,
    pub(super) began: Instant,
    /// Its entry in the endpoint's timers.
    pub(super) timer: Option<Instant>,
    pub(super) marks: Marks,
    pub(super) owner: Owner,
    /// Its key has become a tomb.
    pub(super) buried: bool,
    /// It counts among the connections served.
    pub(super) serves: bool,
}

/// The application's hold on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The application has not polled it yet.
    NotTold,
    /// The application has it.
    Application,
    /// It came when as many were served as are to be; the application never hears of it.
    Rejected,
    /// The application is done with it.
    Released,
}

/// The endpoint's lists in which it stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    pub(super) transmit: bool,
    pub(super) tell: bool,
    pub(super) timer: bool,
}

impl Live {
    pub(super) fn new(connection: Connection, remote: SocketAddr, key: Key, began: Instant) -> Self {
        Self {
            owner: match connection.role() {
                Role::Client => Owner::Application,
                Role::Server => Owner::NotTold,
            },
            serves: false,
            connection,
            remote,
            key,
            began,
            timer: None,
            marks: Marks::default(),
            buried: false,
        }
    }
}

/// Returns true for the time that a connection asked last to be woken at.
pub(super) fn is_current_timer(slots: &Slots, at: Instant, id: ConnectionId) -> bool {
    slots.get(id).is_some_and(|live| live.timer == Some(at))
}
