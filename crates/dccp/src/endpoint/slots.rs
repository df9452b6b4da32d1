use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::SocketAddr;

use tfrc_units::Instant;

use super::Key;
use crate::connection::Connection;
use crate::feature::Role;

/// Names a connection of an endpoint; never used again for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    slot: usize,
    generation: u32,
}

#[cfg(test)]
impl ConnectionId {
    pub(super) fn numbered(n: u64) -> Self {
        Self { slot: usize::try_from(n).unwrap_or_default(), generation: 0 }
    }
}

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
    /// The application knows of it.
    pub(super) known: bool,
    /// The application is done with it.
    pub(super) released: bool,
    /// It came when as many were served as are to be; the application never hears of it.
    pub(super) rejected: bool,
    /// Its key has become a tomb.
    pub(super) buried: bool,
    /// It counts among the connections served.
    pub(super) serves: bool,
}

/// In which of the endpoint's lists it stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    pub(super) transmit: bool,
    pub(super) tell: bool,
    pub(super) timer: bool,
}

impl Live {
    pub(super) fn new(connection: Connection, remote: SocketAddr, key: Key, began: Instant) -> Self {
        Self {
            known: connection.role() == Role::Client,
            serves: false,
            connection,
            remote,
            key,
            began,
            timer: None,
            marks: Marks::default(),
            released: false,
            rejected: false,
            buried: false,
        }
    }
}

/// Connections by their id.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

#[derive(Debug, Clone, Default)]
struct Slot {
    generation: u32,
    /// Boxed: an empty slot costs little, and the vector grows by doubling.
    live: Option<Box<Live>>,
}

impl Slots {
    pub(super) fn insert(&mut self, live: Live) -> ConnectionId {
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(Slot::default());
        }
        let Some(place) = self.slots.get_mut(slot) else { return ConnectionId { slot, generation: 0 } };
        place.live = Some(Box::new(live));
        ConnectionId { slot, generation: place.generation }
    }

    pub(super) fn get(&self, id: ConnectionId) -> Option<&Live> {
        self.slots.get(id.slot).filter(|slot| slot.generation == id.generation)?.live.as_deref()
    }

    pub(super) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Live> {
        self.slots.get_mut(id.slot).filter(|slot| slot.generation == id.generation)?.live.as_deref_mut()
    }

    pub(super) fn remove(&mut self, id: ConnectionId) {
        let slot = self.slots.get_mut(id.slot).filter(|slot| slot.generation == id.generation);
        if let Some(slot) = slot
            && slot.live.take().is_some()
        {
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(id.slot);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether this is what a connection has said last of when it wants to be woken.
    pub(super) fn is_current_timer(&self, at: Instant, id: ConnectionId) -> bool {
        self.get(id).is_some_and(|live| live.timer == Some(at))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ConnectionId, &Live)> {
        self.slots.iter().enumerate().filter_map(|(slot, entry)| {
            let id = ConnectionId { slot, generation: entry.generation };
            entry.live.as_deref().map(|live| (id, live))
        })
    }
}
