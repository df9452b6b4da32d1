//! State of the sender that only a study's choices need: the round, the want of data, a ramp.

use tfrc_units::{Duration, Instant, Rate};

use super::shape::QueueShape;
use super::{AfterExpiration, Choices, FriendChoice, ReceiveLimit, Stamp, Supply};
use crate::equation::Friend;
use crate::rare::{Rare, rare};
use crate::study::ns2::ramp::Ramp;

/// State that [`crate::Sender`] keeps for choices other than RFC 5348's.
#[derive(Debug, Clone)]
pub(crate) struct SenderStudy {
    receive_limit: ReceiveLimit,
    ask: AfterExpiration,
    /// Reports taken in and expirations of the nofeedback timer.
    rounds: u32,
    /// The nofeedback timer has expired since the last report.
    unanswered: bool,
    /// When the sender last had nothing to send though it might have.
    short_of_data: Option<Instant>,
    ramp: Ramp,
    /// The growth of the queue, where it chooses the friend.
    shape: Option<Rare<QueueShape>>,
    /// [`SenderStudy::on_sent`] has to see packets.
    watches_packets: bool,
}

impl SenderStudy {
    pub(crate) fn new(choices: &Choices) -> Self {
        Self {
            receive_limit: choices.receive_limit,
            ask: choices.no_feedback.ask,
            rounds: 0,
            unanswered: false,
            short_of_data: None,
            ramp: Ramp::new(choices.rate_step),
            shape: match choices.friend_choice {
                FriendChoice::Told => None,
                FriendChoice::ByShape => Some(rare(QueueShape::new(choices.equation.friend))),
            },
            watches_packets: matches!(choices.receive_limit, ReceiveLimit::Ns2),
        }
    }

    /// The sender's facts on a packet that goes now.
    pub(crate) fn stamp(&self, now: Instant) -> Stamp {
        Stamp {
            sent_at: Some(now),
            round: self.rounds,
            wants_report: self.unanswered && self.ask == AfterExpiration::ReportAtOnce,
        }
    }

    /// Returns true if [`SenderStudy::on_sent`] has to see packets.
    #[inline]
    pub(crate) const fn watches_packets(&self) -> bool {
        self.watches_packets
    }

    /// Returns true if the limit of the receive rate depends on the want of data.
    pub(crate) fn watches_supply(&self) -> bool {
        self.receive_limit == ReceiveLimit::Ns2
    }

    /// A packet leaves. Returns true if the rate of the spacing has changed.
    pub(crate) fn on_sent(&mut self, now: Instant, supply: Supply) -> bool {
        if self.watches_supply() {
            self.note(now, supply);
        }
        let climbs = self.ramp.rate().is_some();
        if climbs {
            self.ramp.on_sent();
        }
        climbs
    }

    /// The nofeedback timer has expired.
    pub(crate) fn on_expiration(&mut self, now: Instant, supply: Supply) {
        self.rounds = self.rounds.saturating_add(1);
        self.unanswered = true;
        self.note(now, supply);
        self.ramp.cancel();
    }

    /// A report has come.
    pub(crate) const fn on_feedback(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
        self.unanswered = false;
    }

    /// A sample of the round-trip time; the equation's friend from now on, where its shape chooses.
    pub(crate) fn on_rtt_sample(&mut self, now: Instant, sample: Duration) -> Option<Friend> {
        self.shape.as_mut().map(|shape| shape.on_sample(now, sample))
    }

    /// The supply of the last 1.5 round-trip times.
    pub(crate) fn supply_lately(&mut self, now: Instant, supply: Supply, rtt: Duration) -> Supply {
        self.note(now, supply);
        let recent = |then: Instant| now.saturating_since(then) < rtt.mul_f64(1.5);
        if self.short_of_data.is_some_and(recent) { Supply::Short } else { Supply::Enough }
    }

    fn note(&mut self, now: Instant, supply: Supply) {
        if supply == Supply::Short {
            self.short_of_data = Some(now);
        }
    }

    /// A report in slow start has changed X.
    pub(crate) fn on_rate_in_slow_start(&mut self, from: Rate, to: Rate, rtt: Duration, segment: f64) {
        self.ramp.start(from, to, rtt, segment);
        self.watches_packets = self.watches_supply() || self.ramp.rate().is_some();
    }

    /// X has changed in another way.
    pub(crate) const fn on_rate(&mut self) {
        self.ramp.cancel();
    }

    /// The rate on its way to X, if it takes one.
    pub(crate) fn rate_on_its_way(&self) -> Option<Rate> {
        self.ramp.rate()
    }
}
