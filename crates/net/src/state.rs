//! What the application's side and the driver share: the machine and, per connection, what waits and what is known.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use tfrc::{RateChange, SendDecision};
use tfrc_dccp::wire::{Integrity, Packet, PacketType};
use tfrc_dccp::{Closed, ConnectionId, Event, Received};
use tfrc_units::{Ecn, Instant};
use tokio::sync::Notify;

use crate::machine::Machine;
use crate::queue::{LatePolicy, SendQueue};

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
    /// Connections that may have something to hand over now.
    ready: Vec<ConnectionId>,
    /// When others may.
    waiting: Waiting,
    /// The driver has ended; nothing will happen any more.
    pub(crate) ended: bool,
    pub(crate) latest: Instant,
    /// Peers whose connections have ended lately, the latest last.
    ended_peers: VecDeque<Peer>,
    /// While somebody lingers: when one of them was heard last, or the beginning.
    pub(crate) heard: Option<Instant>,
    /// Datagrams that this system did not send, for another reason than their length.
    pub(crate) unsent: u64,
    send_queue: usize,
}

/// One connection, as its application sees it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) changed: Arc<Notify>,
    pub(crate) queue: SendQueue,
    pub(crate) standing: Standing,
    /// Datagrams handed over that this queue will never send, dropped by no policy; and their
    /// bytes.
    pub(crate) unsent: (u64, u64),
    /// Bytes of data that the machine has taken.
    pub(crate) taken_bytes: u64,
    pub(crate) rate_changes: VecDeque<RateChange>,
    /// How many of them are kept.
    pub(crate) rate_changes_kept: usize,
    /// It stands in the list of those that are ready.
    ready: bool,
    /// When the rate control lets the next datagram pass, if one waits for that.
    next: Option<Instant>,
    pub(crate) loss_measure: LossMeasure,
    /// Its handle is gone: it is forgotten as soon as it is over.
    pub(crate) orphan: bool,
    /// What the connection was when it ended; the machine may have forgotten it.
    pub(crate) last_status: Option<crate::Status>,
    /// Received datagrams saved from a connection that the machine has forgotten.
    pub(crate) leftover: VecDeque<Received>,
}

/// How far a connection is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    Connecting,
    Open,
    /// The application has asked for the end; it comes when the queue is empty.
    Finishing,
    /// The peer wants the end.
    PeerCloses,
    Over(Closed),
}

/// Loss events per data packet from the first loss event on, that is without slow start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LossMeasure {
    at_first: Option<(u64, u64)>,
    now: (u64, u64),
}

impl LossMeasure {
    /// So many loss events and data packets up to now. There may be fewer loss events than before: a packet taken for lost
    /// that comes after all repairs the history (RFC 5348 §5.1).
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
    pub(crate) fn new(machine: Machine, send_queue: usize) -> Self {
        Self {
            machine,
            slots: BTreeMap::new(),
            incoming: VecDeque::new(),
            ready: Vec::new(),
            waiting: Waiting::default(),
            ended: false,
            latest: Instant::ZERO,
            ended_peers: VecDeque::new(),
            heard: None,
            unsent: 0,
            send_queue,
        }
    }

    pub(crate) fn add_slot(&mut self, id: ConnectionId, standing: Standing) {
        let slot = Slot {
            changed: Arc::new(Notify::new()),
            queue: SendQueue::new(LatePolicy::Wait, self.send_queue),
            standing,
            unsent: (0, 0),
            taken_bytes: 0,
            rate_changes: VecDeque::new(),
            rate_changes_kept: FEW_RATE_CHANGES,
            ready: false,
            next: None,
            loss_measure: LossMeasure::default(),
            orphan: false,
            last_status: None,
            leftover: VecDeque::new(),
        };
        self.slots.insert(id, slot);
    }

    /// Takes what the machine has to tell, hands queued data to it where the rate allows, and gives each datagram to be sent
    /// to `send`. Returns when it must be called again at the latest.
    pub(crate) fn pump(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        mut send: impl FnMut(SocketAddr, Ecn, &[u8]),
    ) -> Option<Instant> {
        self.latest = self.latest.max(now);
        if self.machine.poll_timeout().is_some_and(|at| at <= now) {
            self.machine.timeout(now);
        }
        let mut drain = |machine: &mut Machine| {
            while let Some((to, ecn)) = machine.transmit(now, buffer) {
                send(to, ecn, buffer);
            }
        };
        drain(&mut self.machine);
        self.take_events(now);
        while let Some(id) = self.waiting.due(now, &self.slots) {
            self.touch(id);
        }
        let mut ready = Vec::new();
        while !self.ready.is_empty() {
            std::mem::swap(&mut ready, &mut self.ready);
            for id in ready.drain(..) {
                let next = self.feed(now, id, &mut drain);
                let Some(slot) = self.slots.get_mut(&id) else { continue };
                slot.ready = false;
                let known = std::mem::replace(&mut slot.next, next);
                if let Some(at) = next.filter(|_| next != known) {
                    self.waiting.add(at, id, &self.slots);
                }
            }
            self.take_events(now);
        }
        self.ready = ready;
        earliest(self.waiting.first(&self.slots), self.machine.poll_timeout())
    }

    /// A datagram has come.
    pub(crate) fn datagram(&mut self, at: Instant, from: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        match self.machine.datagram(at, from, ecn, bytes) {
            Some(id) => self.touch(id),
            None if self.heard.is_some() && self.is_repeated_close(from, bytes) => self.heard = Some(at),
            None => {}
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

    /// The next [`State::pump`] looks whether this connection has something to hand over.
    pub(crate) fn touch(&mut self, id: ConnectionId) {
        if let Some(slot) = self.slots.get_mut(&id)
            && !slot.ready
        {
            slot.ready = true;
            self.ready.push(id);
        }
    }

    /// Gives a connection what waits for it; the time at which more may go.
    fn feed(
        &mut self,
        now: Instant,
        id: ConnectionId,
        drain: &mut impl FnMut(&mut Machine),
    ) -> Option<Instant> {
        let slot = self.slots.get_mut(&id)?;
        let (was_full, was_empty) = (slot.queue.is_full(), slot.queue.is_empty());
        let mut next = None;
        while !slot.queue.is_empty() {
            match self.machine.connection(id)?.next_send(now) {
                SendDecision::Now => {
                    let Some(datagram) = slot.queue.pop(now) else { break };
                    let bytes = u64::try_from(datagram.len()).unwrap_or(u64::MAX);
                    // Its length was checked when it was queued; a path that has shrunk since does
                    // not take it.
                    match self.machine.send(now, id, datagram) {
                        Ok(()) => slot.taken_bytes += bytes,
                        Err(_) => slot.unsent = (slot.unsent.0 + 1, slot.unsent.1 + bytes),
                    }
                    drain(&mut self.machine);
                }
                SendDecision::At(at) => {
                    next = Some(at);
                    break;
                }
                // After a stop nothing goes out again: who wants to close does not wait for it.
                SendDecision::Blocked(tfrc::BlockReason::Stopped(_))
                    if slot.standing == Standing::Finishing =>
                {
                    slot.discard();
                }
                SendDecision::Blocked(_) => break,
            }
        }
        if slot.queue.is_empty() && slot.standing == Standing::Finishing {
            let connection = self.machine.connection(id)?;
            if connection.next_send(now) != SendDecision::Blocked(tfrc::BlockReason::Closed) {
                self.machine.close(now, id);
                drain(&mut self.machine);
            }
        }
        if (was_full && !slot.queue.is_full()) || (!was_empty && slot.queue.is_empty()) {
            slot.changed.notify_waiters();
        }
        next
    }

    fn take_events(&mut self, now: Instant) {
        while let Some((id, event)) = self.machine.poll_event() {
            if matches!(event, Event::Incoming { .. }) {
                self.add_slot(id, Standing::Open);
                self.incoming.push_back(id);
                continue;
            }
            let Some(slot) = self.slots.get_mut(&id) else { continue };
            match event {
                Event::Connected => slot.standing = Standing::Open,
                Event::CloseReceived => slot.standing = Standing::PeerCloses,
                Event::RateChanged(change) => slot.note(change),
                Event::Closed(closed) => {
                    slot.discard();
                    if let Some(connection) = self.machine.connection(id) {
                        slot.last_status = Some(crate::Status::of(connection, slot, now));
                    }
                    if let (Some(connection), Some(remote)) =
                        (self.machine.connection(id), self.machine.remote(id))
                    {
                        let (ours, theirs) = connection.ports();
                        self.ended_peers.push_back((remote, ours, theirs));
                        if self.ended_peers.len() > ENDED_PEERS {
                            self.ended_peers.pop_front();
                        }
                    }
                    slot.leftover.extend(std::iter::from_fn(|| self.machine.recv(id)));
                    slot.standing = Standing::Over(closed);
                }
                _ => {}
            }
            if let Some(connection) = self.machine.connection(id) {
                let packets = connection.peer_sent_data_packets();
                let events = connection.rate_receiver().map_or(0, tfrc::Receiver::loss_events);
                slot.loss_measure.update(events, packets);
            }
            slot.changed.notify_waiters();
            if !slot.ready {
                slot.ready = true;
                self.ready.push(id);
            }
            if slot.orphan && matches!(slot.standing, Standing::Over(_)) {
                self.slots.remove(&id);
                self.machine.release(now, id);
            }
        }
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

    /// Empties the send queue; what waited there counts as not sent.
    pub(crate) fn discard(&mut self) {
        let (packets, bytes) = self.queue.discard();
        self.unsent = (self.unsent.0 + packets, self.unsent.1 + bytes);
    }

    /// The changes of the allowed rate since the last call. Who looks once is taken to look again.
    pub(crate) fn take_rate_changes(&mut self) -> Vec<RateChange> {
        self.rate_changes_kept = RATE_CHANGES;
        self.rate_changes.drain(..).collect()
    }
}

/// Connections whose queue waits for the rate control. An entry that no longer says what its slot says is passed over, so that nothing is
/// allocated while times move.
#[derive(Debug, Default)]
struct Waiting {
    heap: BinaryHeap<Reverse<(Instant, ConnectionId)>>,
}

impl Waiting {
    fn add(&mut self, at: Instant, id: ConnectionId, slots: &BTreeMap<ConnectionId, Slot>) {
        if self.heap.len() > 8 + 2 * slots.len() {
            let mut entries = std::mem::take(&mut self.heap).into_vec();
            entries.retain(|Reverse(entry)| holds(*entry, slots));
            entries.sort_unstable();
            entries.dedup();
            self.heap = entries.into();
        }
        self.heap.push(Reverse((at, id)));
    }

    /// When the first one may go on.
    fn first(&mut self, slots: &BTreeMap<ConnectionId, Slot>) -> Option<Instant> {
        while let Some(Reverse(entry)) = self.heap.peek() {
            if holds(*entry, slots) {
                return Some(entry.0);
            }
            self.heap.pop();
        }
        None
    }

    /// One whose time has come.
    fn due(&mut self, now: Instant, slots: &BTreeMap<ConnectionId, Slot>) -> Option<ConnectionId> {
        if self.first(slots)? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, id))| id)
    }
}

fn holds((at, id): (Instant, ConnectionId), slots: &BTreeMap<ConnectionId, Slot>) -> bool {
    slots.get(&id).is_some_and(|slot| slot.next == Some(at))
}

fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests;
