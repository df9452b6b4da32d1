//! Datagrams on their way from the application to the wire: the send queue, and the time of the
//! next one.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tfrc::SendDecision;
use tfrc::config::{ConfigError, RateCap};
use tfrc_units::{Duration, Instant, saturating};

use super::event::Notice;
use super::{Connection, Ending, State};

/// The treatment of datagrams that the allowed rate cannot carry at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LatePolicy {
    /// They wait, and so does the application: a full queue refuses datagrams. For files.
    #[default]
    Wait,
    /// A datagram that has waited longer than this when its turn comes is dropped, and a full queue
    /// drops its oldest datagram: the application never waits. For live media, which is worth
    /// nothing when late.
    DropAfter(Duration),
}

/// The worth of the boundaries between the datagrams that an application hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Boundaries {
    /// The application has none: the datagrams are pieces of a stream of bytes, and one that is
    /// longer than the path carries is cut when its turn comes.
    Free,
    /// A datagram goes as it is or not at all.
    #[default]
    Kept,
}

/// The reason why a datagram left the send queue without being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The connection ended, or the application asked to end it at once.
    Ended,
    /// It had waited longer than [`LatePolicy::DropAfter`] allows.
    Late,
    /// The queue was full, and a newer datagram took its place ([`LatePolicy::DropAfter`]).
    Overflow,
    /// The path has become too narrow for it since it was handed over.
    TooLong,
}

/// The reason why a datagram was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// It does not fit into a packet.
    #[error("a datagram of {length} bytes is too long: at most {limit} fit into a packet")]
    TooLong {
        /// Its length.
        length: usize,
        /// The longest possible.
        limit: usize,
    },
    /// The queue is full; [`Event::Writable`](crate::Event::Writable) says when it has room.
    #[error("the send queue is full")]
    Full,
    /// The connection is closing or closed.
    #[error("the connection takes no datagram: it is closing or closed")]
    Closed,
}

/// Datagrams that wait for the rate control, with the times at which they were handed over.
#[derive(Debug, Clone)]
pub(super) struct SendQueue {
    policy: LatePolicy,
    waiting: VecDeque<(Instant, Vec<u8>)>,
    /// Present once a datagram was dropped.
    untold: Option<Box<[Dropped; REASONS.len()]>>,
}

/// Datagrams dropped for one reason since it was last reported.
#[derive(Debug, Clone, Copy, Default)]
struct Dropped {
    packets: u64,
    bytes: u64,
}

const REASONS: [DropReason; 4] =
    [DropReason::Late, DropReason::Overflow, DropReason::TooLong, DropReason::Ended];

impl SendQueue {
    pub(super) const fn new(policy: LatePolicy) -> Self {
        Self { policy, waiting: VecDeque::new(), untold: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The length of the oldest datagram.
    pub(super) fn front(&self) -> Option<usize> {
        self.waiting.front().map(|(_, datagram)| datagram.len())
    }

    fn front_is_late(&self, now: Instant) -> bool {
        let LatePolicy::DropAfter(deadline) = self.policy else { return false };
        self.waiting.front().is_some_and(|(since, _)| now.saturating_since(*since) > deadline)
    }

    /// Leaves the first bytes of the oldest datagram in its place, and the rest behind them.
    fn cut_front(&mut self, length: usize) {
        if let Some((since, mut datagram)) = self.waiting.pop_front() {
            let rest = datagram.split_off(length.min(datagram.len()));
            self.waiting.push_front((since, rest));
            self.waiting.push_front((since, datagram));
        }
    }

    fn note(&mut self, reason: DropReason, bytes: u64) {
        let untold = self.untold.get_or_insert_default();
        let place = REASONS.iter().zip(untold.iter_mut()).find(|(known, _)| **known == reason);
        if let Some((_, dropped)) = place {
            dropped.packets += 1;
            dropped.bytes += bytes;
        }
    }

    /// The datagrams dropped since the last call for a reason not yet reported.
    pub(super) fn take_dropped(&mut self) -> Option<(DropReason, u64, u64)> {
        let untold = self.untold.as_deref_mut()?;
        let (reason, dropped) = REASONS.iter().zip(untold).find(|(_, dropped)| dropped.packets > 0)?;
        let Dropped { packets, bytes } = core::mem::take(dropped);
        Some((*reason, packets, bytes))
    }
}

impl Connection {
    /// Hands over a datagram. It waits in the send queue until the rate control lets it go; then
    /// [`Connection::poll_transmit`] sends it, and [`Connection::poll_timeout`] knows when that is.
    /// Before that it waits for the connection to be established.
    ///
    /// # Errors
    /// [`SendError`]; the datagram is not taken then.
    pub fn send(&mut self, now: Instant, datagram: &[u8]) -> Result<(), SendError> {
        self.send_in(now, datagram, &mut Vec::new())
    }

    /// As [`Connection::send`], in the buffer of a datagram that was sent, if there is one.
    pub(crate) fn send_in(
        &mut self,
        now: Instant,
        datagram: &[u8],
        spare: &mut Vec<Vec<u8>>,
    ) -> Result<(), SendError> {
        let now = self.advance(now);
        self.drop_late(now);
        self.check_send(datagram.len())?;
        let mut bytes = spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(datagram);
        self.enqueue(now, bytes);
        Ok(())
    }

    /// As [`Connection::send`], taking the datagram as it is: no byte of it is copied until its
    /// packet is built.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub fn send_owned(&mut self, now: Instant, datagram: Vec<u8>) -> Result<(), SendError> {
        let now = self.advance(now);
        self.drop_late(now);
        self.check_send(datagram.len())?;
        self.enqueue(now, datagram);
        Ok(())
    }

    /// Returns true if a datagram of this length would be taken now.
    ///
    /// # Errors
    /// The error of [`Connection::send`].
    pub fn check_send(&self, length: usize) -> Result<(), SendError> {
        let limit = self.max_datagram();
        // RFC 4340 §14.2.
        if length > limit && (self.config.boundaries == Boundaries::Kept || limit == 0) {
            Err(SendError::TooLong { length, limit })
        } else if !self.takes_datagrams() {
            Err(SendError::Closed)
        } else if self.outgoing.policy == LatePolicy::Wait && self.queue_is_full() {
            Err(SendError::Full)
        } else {
            Ok(())
        }
    }

    /// Chooses what becomes of late datagrams from now on, waiting ones included.
    pub const fn set_late_policy(&mut self, policy: LatePolicy) {
        self.outgoing.policy = policy;
    }

    /// Replaces the application's limit on the sending rate, which
    /// [`Settings::cap`](tfrc::Settings::cap) set first.
    ///
    /// # Errors
    /// [`ConfigError::Cap`] for a cap of zero; then the one before stays.
    pub fn set_cap(&mut self, cap: RateCap) -> Result<(), ConfigError> {
        self.sender.set_cap(cap)
    }

    /// Datagrams that wait to be sent, late ones among them.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.outgoing.waiting.len()
    }

    /// The time of the next datagram: of the oldest in the queue, or of one handed over now. For
    /// applications that build each datagram at the last moment; others use
    /// [`Connection::poll_timeout`]. `None` before the connection is established and once it
    /// closes.
    #[must_use]
    pub fn next_send(&self, now: Instant) -> Option<SendDecision> {
        matches!(self.state, State::PartOpen | State::Open).then(|| self.sender.next_send(now))
    }

    const fn takes_datagrams(&self) -> bool {
        matches!(self.state, State::Request | State::Respond | State::PartOpen | State::Open)
            && matches!(self.ending, Ending::None)
    }

    /// The time until which the oldest datagram waits for the rate control.
    pub(super) fn datagram_due(&self) -> Option<Instant> {
        if self.outgoing.is_empty() {
            return None;
        }
        match self.next_send(self.now)? {
            SendDecision::At(at) => Some(at),
            SendDecision::Now | SendDecision::Stopped(_) => None,
        }
    }

    /// The length of the datagram to send now; older ones that can no longer be sent are dropped.
    pub(super) fn ready_datagram(&mut self, now: Instant) -> Option<usize> {
        if self.outgoing.is_empty() || self.next_send(now) != Some(SendDecision::Now) {
            return None;
        }
        self.drop_late(now);
        let limit = self.max_datagram();
        while self.outgoing.front()? > limit {
            if self.config.boundaries == Boundaries::Free && limit > 0 {
                self.outgoing.cut_front(limit);
            } else {
                self.drop_oldest(DropReason::TooLong);
            }
        }
        self.outgoing.front()
    }

    /// Takes a datagram back that the system has not sent, if it can still go; otherwise it is
    /// dropped, and counted.
    pub(super) fn put_back(&mut self, now: Instant, datagram: &[u8], goes_again: bool) {
        if goes_again && matches!(self.state, State::PartOpen | State::Open) {
            self.outgoing.waiting.push_front((now, Vec::from(datagram)));
        } else {
            self.count_drop(DropReason::TooLong, datagram.len());
        }
    }

    /// Takes the oldest datagram out of the queue.
    pub(super) fn take_datagram(&mut self) -> Option<Vec<u8>> {
        let was_full = self.queue_is_full();
        let (_, datagram) = self.outgoing.waiting.pop_front()?;
        if was_full {
            self.tell(Notice::Writable);
        }
        if self.outgoing.is_empty() {
            self.tell(Notice::Flushed);
        }
        Some(datagram)
    }

    /// Drops all that waits; returns how many datagrams that were.
    pub(super) fn discard_queue(&mut self) -> u64 {
        let mut discarded = 0;
        while self.drop_oldest(DropReason::Ended) {
            discarded += 1;
        }
        discarded
    }

    /// Closes once everything handed over was sent, if the application wants the end. After a stop
    /// nothing is sent any more: then the rest is discarded.
    pub(super) fn close_when_flushed(&mut self, now: Instant) {
        if self.ending != Ending::AfterQueue {
            return;
        }
        if matches!(self.next_send(now), Some(SendDecision::Stopped(_))) {
            self.discard_queue();
        }
        if self.outgoing.is_empty() {
            self.ending = Ending::None;
            self.start_closing(now, State::Closing);
        }
    }

    fn queue_is_full(&self) -> bool {
        self.queued() >= self.config.send_queue.max(1)
    }

    fn enqueue(&mut self, now: Instant, datagram: Vec<u8>) {
        if self.queue_is_full()
            && let Some((_, oldest)) = self.outgoing.waiting.pop_front()
        {
            self.count_drop(DropReason::Overflow, oldest.len());
        }
        if self.outgoing.waiting.capacity() == 0 {
            // Mostly no more than one waits.
            self.outgoing.waiting.reserve_exact(1);
        }
        self.outgoing.waiting.push_back((now, datagram));
    }

    fn drop_late(&mut self, now: Instant) {
        while self.outgoing.front_is_late(now) {
            self.drop_oldest(DropReason::Late);
        }
    }

    /// Returns false if there was none.
    fn drop_oldest(&mut self, reason: DropReason) -> bool {
        let Some(datagram) = self.take_datagram() else { return false };
        self.count_drop(reason, datagram.len());
        true
    }

    fn count_drop(&mut self, reason: DropReason, bytes: usize) {
        let bytes = saturating::<u64>(bytes);
        self.outgoing.note(reason, bytes);
        match reason {
            DropReason::Late | DropReason::Overflow => self.stats.late_packets += 1,
            DropReason::TooLong | DropReason::Ended => {
                self.stats.unsent_packets += 1;
                self.stats.unsent_bytes += bytes;
            }
        }
    }
}
