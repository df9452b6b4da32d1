//! Facts of the sender that a simulator can put on a packet and that no protocol carries: studies
//! separate loss events by them.

use tfrc_units::Instant;

use super::LossEventTiming;

/// The sender's facts on a packet: take it from [`Sender::stamp`](crate::Sender::stamp), hand it to
/// the receiver in [`Arrival`](crate::Arrival). Over a real network it is [`Stamp::NONE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub(crate) sent_at: Option<Instant>,
    pub(crate) round: u32,
    pub(crate) wants_report: bool,
}

impl Stamp {
    /// Nothing is known but what the protocol carries.
    pub const NONE: Self = Self { sent_at: None, round: 0, wants_report: false };

    /// A packet sent at `sent_at` by the sender's clock, which need not agree with the receiver's.
    #[must_use]
    pub const fn sent_at(sent_at: Instant) -> Self {
        Self { sent_at: Some(sent_at), ..Self::NONE }
    }

    /// This stamp in a round of the sender: one more at each report and at each expiration of its
    /// nofeedback timer.
    #[must_use]
    pub const fn in_round(self, round: u32) -> Self {
        Self { round, ..self }
    }
}

/// The time of a packet that separates loss events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// When the packet arrived, or when it was sent, as the timing says.
    pub(crate) at: Instant,
    /// The sender's round; 0 where no rule uses it.
    pub(crate) round: u32,
}

impl Moment {
    /// An arrival, with nothing known of the sender.
    pub(crate) const fn arrival(at: Instant) -> Self {
        Self { at, round: 0 }
    }

    /// Another time in the round of this one.
    pub(crate) const fn moved_to(self, at: Instant) -> Self {
        Self { at, ..self }
    }
}

/// Reading of the times of packets by a [`LossEventTiming`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct SenderClock {
    timing: LossEventTiming,
    /// The sender's time of the packet before, and when that came.
    latest: Option<(Instant, Instant)>,
}

impl SenderClock {
    pub(crate) const fn new(timing: LossEventTiming) -> Self {
        Self { timing, latest: None }
    }

    /// Returns true if loss events are separated by the times of sending.
    pub(crate) const fn is_in_use(&self) -> bool {
        matches!(self.timing, LossEventTiming::SenderTime | LossEventTiming::SenderTimeAndRound)
    }

    /// The time of a packet that arrives. One without a send time is taken to have come as fast as
    /// the last that had one.
    pub(crate) fn moment(&mut self, now: Instant, stamp: &Stamp) -> Moment {
        if !self.is_in_use() {
            return Moment::arrival(now);
        }
        let since = |(sent, arrived): (Instant, Instant)| sent + now.saturating_since(arrived);
        let at = stamp.sent_at.or_else(|| self.latest.map(since)).unwrap_or(now);
        self.latest = Some((at, now));
        Moment { at, round: stamp.round }
    }
}

impl LossEventTiming {
    /// Returns true if a loss at `loss` is of the event that began at `event` because the sender
    /// has not taken in a report since.
    pub(crate) const fn is_in_round_of(self, loss: Moment, event: Moment) -> bool {
        matches!(self, Self::SenderTimeAndRound) && loss.round <= event.round
    }

    /// Returns true if a hole lies in one loss event, however long it is.
    pub(crate) const fn is_hole_one_event(self) -> bool {
        matches!(self, Self::SenderTimeAndRound)
    }
}
