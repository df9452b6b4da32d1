//! The state that the application's side and the driver share: the machine and, for each
//! connection, what the application waits for.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use tfrc::RateChange;
use tfrc_dccp::endpoint::Transmission;
use tfrc_dccp::wire::{Integrity, Packet, PacketType};
use tfrc_dccp::{Closed, ConnectionId, Event};
use tfrc_units::{Ecn, Instant, Rate};
use tokio::sync::Notify;

use crate::journaled_endpoint::Machine;

/// Rate changes kept for an application that looks, and for one that has not yet.
const RATE_CHANGES: usize = 4096;
const FEW_RATE_CHANGES: usize = 32;

/// Peers of connections that have ended which are remembered for lingering, at most.
const ENDED_PEERS: usize = 256;

/// The other end of a connection: its address, our DCCP port and its own.
type Peer = (SocketAddr, u16, u16);

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) machine: Machine,
    pub(crate) slots: BTreeMap<ConnectionId, Slot>,
    pub(crate) incoming: VecDeque<ConnectionId>,
    /// The driver has ended; nothing will happen any more.
    pub(crate) ended: bool,
    /// Peers whose connections have ended lately, the latest last.
    ended_peers: VecDeque<Peer>,
    /// While a connection lingers: when one of them was heard last, or the beginning.
    pub(crate) heard: Option<Instant>,
    /// Datagrams that this system did not send, for another reason than their length.
    pub(crate) unsent: u64,
    /// Packets without UDP whose checksum was wrong.
    pub(crate) corrupt: u64,
}

/// One connection, as its application sees it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) waiters: Arc<Waiters>,
    pub(crate) standing: SlotStage,
    pub(crate) rate_changes: VecDeque<RateChange>,
    /// Rate changes kept, at most.
    pub(crate) rate_changes_kept: usize,
    /// The target rate that `rate_changed` has returned last.
    pub(crate) told_rate: Option<Rate>,
    pub(crate) loss_measure: LossMeasure,
    /// When the peer's Close came.
    pub(crate) close_heard: Option<Instant>,
}

/// The tasks that wait for something of a connection, by its kind: a datagram that leaves must not
/// wake a task that waits for one to come in.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    readable: Notify,
    room: Notify,
    state: Notify,
    rate: Notify,
}

/// Something that a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// A datagram to read, or the end.
    Readable,
    /// Room in the send queue, or its end.
    Room,
    /// The beginning or end of the connection.
    State,
    /// A change of the rate, or the end.
    Rate,
}

impl Waiters {
    pub(crate) const fn of(&self, awaited: Awaited) -> &Notify {
        match awaited {
            Awaited::Readable => &self.readable,
            Awaited::Room => &self.room,
            Awaited::State => &self.state,
            Awaited::Rate => &self.rate,
        }
    }

    /// Wakes the tasks that an event is news for.
    fn wake(&self, event: &Event) {
        match event {
            Event::Readable => self.readable.notify_waiters(),
            Event::Writable | Event::Flushed | Event::Dropped { .. } => self.room.notify_waiters(),
            Event::RateChanged(_) => self.rate.notify_waiters(),
            _ => self.wake_all(),
        }
    }

    pub(crate) fn wake_all(&self) {
        for awaited in [Awaited::Readable, Awaited::Room, Awaited::State, Awaited::Rate] {
            self.of(awaited).notify_waiters();
        }
    }
}

/// The stage of a connection's life that the machine does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SlotStage {
    /// The application has a handle.
    Held,
    /// Its handle is gone: it is forgotten as soon as it is over.
    Orphan,
    /// It is over, and the application has a handle.
    Over { at: Instant, closed: Closed },
}

/// Loss events per data packet from the first loss event on, that is without slow start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LossMeasure {
    at_first: Option<(u64, u64)>,
    now: (u64, u64),
}

impl LossMeasure {
    /// Takes in the numbers of loss events and data packets up to now. There may be fewer loss
    /// events than before: a packet taken for lost that comes after all repairs the history (RFC
    /// 5348 §5.1).
    fn update(&mut self, loss_events: u64, packets: u64) {
        if loss_events == 0 {
            self.at_first = None;
        } else {
            self.at_first.get_or_insert((loss_events, packets));
        }
        self.now = (loss_events, packets);
    }

    /// Loss events and packets after the first loss event.
    pub(crate) fn after_slow_start(&self) -> (u64, u64) {
        let (events, packets) = self.at_first.unwrap_or(self.now);
        (self.now.0.saturating_sub(events), self.now.1.saturating_sub(packets))
    }
}

impl State {
    pub(crate) const fn new(machine: Machine) -> Self {
        Self {
            machine,
            slots: BTreeMap::new(),
            incoming: VecDeque::new(),
            ended: false,
            ended_peers: VecDeque::new(),
            heard: None,
            unsent: 0,
            corrupt: 0,
        }
    }

    pub(crate) fn add_slot(&mut self, id: ConnectionId) {
        let slot = Slot {
            waiters: Arc::default(),
            standing: SlotStage::Held,
            rate_changes: VecDeque::new(),
            rate_changes_kept: FEW_RATE_CHANGES,
            told_rate: None,
            loss_measure: LossMeasure::default(),
            close_heard: None,
        };
        self.slots.insert(id, slot);
    }

    /// A turn of the host, by the [contract](tfrc_dccp#the-contract) of the machine: gives each
    /// datagram to be sent to `send`, takes the events, and returns the time of the next turn.
    pub(crate) fn pump(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        mut send: impl FnMut(&Transmission, &[u8]),
    ) -> Option<Instant> {
        self.machine.timeout(now);
        while let Some(transmission) = self.machine.transmit(now, buffer) {
            send(&transmission, buffer);
        }
        self.take_events(now);
        self.machine.poll_timeout()
    }

    /// A turn of a host that cannot send now: timers are served and events reported.
    pub(crate) fn attend(&mut self, now: Instant) {
        self.machine.timeout(now);
        self.take_events(now);
    }

    /// A datagram has come.
    pub(crate) fn datagram(&mut self, at: Instant, from: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        let known = self.machine.datagram(at, from, ecn, bytes);
        if known.is_none() && self.heard.is_some() && self.is_repeated_close(from, bytes) {
            self.heard = Some(at);
        }
    }

    /// Returns true for a Close or CloseReq of a connection that has ended: its peer has not heard
    /// the end yet and repeats itself (RFC 4340 §8.3).
    fn is_repeated_close(&self, from: SocketAddr, bytes: &[u8]) -> bool {
        Packet::parse(bytes, Integrity::Udp).is_ok_and(|packet| {
            let peer = (from, packet.destination_port, packet.source_port);
            matches!(packet.header.kind(), PacketType::Close | PacketType::CloseReq)
                && self.ended_peers.contains(&peer)
        })
    }

    fn take_events(&mut self, now: Instant) {
        while let Some((id, event)) = self.machine.poll_event() {
            if matches!(event, Event::Incoming { .. }) {
                self.add_slot(id);
                self.incoming.push_back(id);
                continue;
            }
            let Some(slot) = self.slots.get_mut(&id) else { continue };
            if let Some(connection) = self.machine.connection(id) {
                let packets = connection.peer_sent_data_packets();
                let events = connection.rate_receiver().map_or(0, tfrc::Receiver::loss_events);
                slot.loss_measure.update(events, packets);
            }
            slot.waiters.wake(&event);
            match event {
                Event::RateChanged(change) => slot.note(change),
                Event::CloseReceived => slot.close_heard = Some(now),
                Event::Closed(closed) => self.over(now, id, closed),
                _ => {}
            }
        }
    }

    /// A connection is over. The machine keeps it until its handle is gone.
    fn over(&mut self, now: Instant, id: ConnectionId, closed: Closed) {
        if let (Some(connection), Some(remote)) = (self.machine.connection(id), self.machine.remote(id)) {
            let (ours, theirs) = connection.ports();
            self.ended_peers.push_back((remote, ours, theirs));
            if self.ended_peers.len() > ENDED_PEERS {
                self.ended_peers.pop_front();
            }
        }
        let Some(slot) = self.slots.get_mut(&id) else { return };
        match slot.standing {
            SlotStage::Orphan => self.release(now, id),
            _ => slot.standing = SlotStage::Over { at: now, closed },
        }
    }

    /// The handle of a connection is gone: it is closed, and forgotten when that is done.
    pub(crate) fn forget(&mut self, now: Instant, id: ConnectionId) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        match slot.standing {
            SlotStage::Over { .. } => self.release(now, id),
            // The client was asked to close, and its time is up: its place is needed.
            _ if self.machine.connection(id).is_some_and(|c| c.state() == tfrc_dccp::State::CloseReq) => {
                self.release(now, id);
            }
            _ => {
                slot.standing = SlotStage::Orphan;
                self.close(now, id);
            }
        }
    }

    /// Closes a connection once its queue is empty. An end that the peer has asked for is left to
    /// the application, or to the machine's patience.
    pub(crate) fn close(&mut self, now: Instant, id: ConnectionId) {
        let state = self.machine.connection(id).map(tfrc_dccp::Connection::state);
        if state.is_some_and(|state| state != tfrc_dccp::State::CloseReceived) {
            self.machine.close(now, id);
        }
    }

    fn release(&mut self, now: Instant, id: ConnectionId) {
        self.slots.remove(&id);
        self.machine.release(now, id);
    }
}

impl Slot {
    /// A change of the allowed rate; when as many are kept as are to be, the oldest is forgotten.
    fn note(&mut self, change: RateChange) {
        if self.rate_changes.len() >= self.rate_changes_kept {
            self.rate_changes.pop_front();
        }
        self.rate_changes.push_back(change);
    }

    /// The changes of the allowed rate since the last call. Who looks once is taken to look again.
    pub(crate) fn take_rate_changes(&mut self) -> Vec<RateChange> {
        self.rate_changes_kept = RATE_CHANGES;
        self.rate_changes.drain(..).collect()
    }
}

#[cfg(test)]
mod tests;
