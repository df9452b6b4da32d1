//! The data sender (RFC 5348 §4): how fast, and when the next packet.

mod limited;
mod limits;
mod nofeedback;
mod pacing;
mod rate;
mod rtt;
mod segment;
#[cfg(test)]
mod tests;

use tfrc_units::{Duration, Instant, Probability, Rate};

use crate::config::{Config, RateCap, Settings};
use crate::decision::{RateChange, RateReason, SendDecision, Wake, WakeReason};
use crate::ring::Ring;
pub(crate) use limited::Coverage;
use limited::DataLimited;
use limits::ReceiveLimits;
use nofeedback::Activity;
use pacing::Pacing;
use rate::{AllowedRate, Path, Reported};
use rtt::RoundTrip;
use segment::Segment;

/// The nofeedback timer before there is a round-trip time (RFC 5348 §4.2).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(2);

/// What the receiver's report says, with the send time that the sender remembers (RFC 5348 §3.2.2, §4.3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Feedback {
    /// t_recvdata: when the newest packet that the receiver had was sent, by the sender's clock.
    pub newest_sent_at: Instant,
    /// t_delay: how long the receiver held that packet before it reported.
    pub elapsed: Duration,
    /// X_recv.
    pub receive_rate: Rate,
    /// p.
    pub loss_event_rate: Probability,
    /// Whether a loss event is new in this report.
    pub losses: LossReport,
}

/// What a report says of loss events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReport {
    /// None since the last report, as far as the sender can tell. A risen p counts as a new loss event all the same.
    NoNewLoss,
    /// At least one new loss event.
    NewLossEvent,
}

/// The sending half. Ask [`Sender::next_send`], tell [`Sender::on_sent`], feed [`Sender::on_feedback`] and
/// [`Sender::handle_timeout`], and read events after each input. Work and memory per call are constant.
///
/// `now` must not go back; if it does, the latest time seen counts.
#[derive(Debug, Clone)]
pub struct Sender {
    settings: Settings,
    allowed: AllowedRate,
    rtt: RoundTrip,
    pacing: Pacing,
    limited: DataLimited,
    segment: Segment,
    /// The nofeedback timer; it runs from the first packet on.
    timer: Option<Instant>,
    activity: Activity,
    feedback_packets: u64,
    latest_feedback: Option<Feedback>,
    loss_events: u64,
    latest: Instant,
    events: Ring<RateChange, 4>,
}

impl Sender {
    /// A sender that has sent nothing yet.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let settings = *config.settings();
        let segment = Segment::new(settings.segment);
        Self {
            allowed: AllowedRate::new(settings.equation, settings.initial_rate, segment.bytes()),
            rtt: RoundTrip::new(settings.rtt_weight, settings.spacing),
            pacing: Pacing::new(settings.credit, settings.timer_granularity),
            limited: DataLimited::default(),
            segment,
            timer: None,
            activity: Activity::Idle,
            feedback_packets: 0,
            latest_feedback: None,
            loss_events: 0,
            latest: Instant::ZERO,
            events: Ring::new(),
            settings,
        }
    }

    /// A round-trip time from a handshake or an earlier connection, before any feedback: the initial rate follows (§4.2).
    /// Without effect once there is a sample.
    pub fn on_rtt_sample(&mut self, now: Instant, rtt: Duration) {
        let now = self.advance(now);
        if self.rtt.mean().is_none() {
            self.with_rate_change(now, |sender| sender.first_sample(now, rtt));
        }
    }

    /// When the next packet may go. Never `Blocked`: the floor of one packet in 64 s always stands.
    #[must_use]
    pub fn next_send(&self, now: Instant) -> SendDecision {
        let at = self.pacing.next_send(self.sending_rate(), self.rtt.mean());
        if at <= now.max(self.latest) { SendDecision::Now } else { SendDecision::At(at) }
    }

    /// A packet with `size` bytes of data has gone (§4.6, §8.2.1). The first one starts the nofeedback timer (§4.2).
    pub fn on_sent(&mut self, now: Instant, size: u32) {
        let now = self.advance(now);
        let rtt = self.rtt.mean();
        self.pacing.on_sent(now, size, self.sending_rate(), rtt);
        self.segment.on_sent(size);
        self.activity = Activity::Active;
        if self.timer.is_none() {
            // X_recv_set = {Infinity} holds for two round-trip times from here on (§4.3).
            self.allowed.limits = ReceiveLimits::new(now);
            let timeout = if rtt.is_some() { self.timeout() } else { INITIAL_TIMEOUT };
            self.timer = Some(now + timeout.max(self.settings.no_feedback_floor));
        }
        if self.coverage(now) == Coverage::NotDataLimited {
            self.limited.on_not_limited(now);
        }
    }

    /// Whether at this moment, having sent, the sender is held back by the allowed rate (§8.2.1).
    pub(crate) fn coverage(&self, now: Instant) -> Coverage {
        // Held back by its own cap, the sender sends less than it is allowed to, however busy it is.
        let capped = matches!(self.settings.cap, RateCap::AtMost(cap) if cap < self.instantaneous_rate());
        if !capped && matches!(self.next_send(now), SendDecision::At(_)) {
            Coverage::NotDataLimited
        } else {
            Coverage::DataLimited
        }
    }

    /// A feedback packet has come (§4.3). The caller has checked that it acknowledges a packet really sent.
    pub fn on_feedback(&mut self, now: Instant, feedback: Feedback) {
        let now = self.advance(now);
        self.with_rate_change(now, |sender| sender.take_feedback(now, feedback, None));
    }

    /// The same from somebody who has kept a record of every packet, and so knows whether the sender was data-limited all
    /// through the interval that the feedback covers.
    pub(crate) fn on_feedback_covering(&mut self, now: Instant, feedback: Feedback, coverage: Coverage) {
        let now = self.advance(now);
        self.with_rate_change(now, |sender| sender.take_feedback(now, feedback, Some(coverage)));
    }

    /// Lets time pass: the nofeedback timer may expire (§4.4). Early, late and repeated calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.advance(now);
        if self.timer.is_none_or(|at| now < at) {
            return;
        }
        self.with_rate_change(now, |sender| {
            let segment = sender.segment.bytes();
            match sender.path() {
                None => sender.allowed.on_no_feedback_without_rtt(segment, sender.activity),
                Some(path) => sender.allowed.on_no_feedback(now, path, sender.activity),
            }
        });
        // Step 2: with the new X.
        let timeout = self.timeout();
        self.restart_timer(now, timeout);
    }

    /// When [`Sender::handle_timeout`] wants to be called next. (The time of the next packet is [`Sender::next_send`]'s.)
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Wake> {
        self.timer.map(|at| Wake { at, reason: WakeReason::NoFeedback })
    }

    /// The oldest change of the allowed rate not yet told. Up to four are kept.
    pub fn poll_event(&mut self) -> Option<RateChange> {
        self.events.pop_front()
    }

    /// X, the allowed sending rate in bytes of data per second.
    #[must_use]
    pub const fn allowed_rate(&self) -> Rate {
        self.allowed.x
    }

    /// The rate at which packets really leave while there is data: X_inst (§4.5), at most the application's cap.
    #[must_use]
    pub fn sending_rate(&self) -> Rate {
        match self.settings.cap {
            RateCap::Unlimited => self.instantaneous_rate(),
            RateCap::AtMost(cap) => self.instantaneous_rate().min(cap),
        }
    }

    /// What set the allowed rate last.
    #[must_use]
    pub const fn rate_reason(&self) -> RateReason {
        self.allowed.reason
    }

    /// R, once there is a sample.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.mean()
    }

    /// p as last reported.
    #[must_use]
    pub const fn loss_event_rate(&self) -> Probability {
        self.allowed.p
    }

    /// s in bytes.
    #[must_use]
    pub fn segment_size(&self) -> f64 {
        self.segment.bytes()
    }

    /// Feedback packets taken in.
    #[must_use]
    pub const fn feedback_packets(&self) -> u64 {
        self.feedback_packets
    }

    /// The feedback taken in last.
    #[must_use]
    pub const fn latest_feedback(&self) -> Option<Feedback> {
        self.latest_feedback
    }

    /// Feedback packets that told of a new loss event.
    #[must_use]
    pub const fn loss_events(&self) -> u64 {
        self.loss_events
    }

    fn take_feedback(&mut self, now: Instant, feedback: Feedback, known: Option<Coverage>) {
        self.feedback_packets += 1;
        self.latest_feedback = Some(feedback);
        // Step 1. A hold time longer than the whole round trip is impossible; it gives no sample.
        let sample = now.saturating_since(feedback.newest_sent_at).saturating_sub(feedback.elapsed);
        let new_loss_event = feedback.losses == LossReport::NewLossEvent;
        if new_loss_event || feedback.loss_event_rate > self.allowed.p {
            self.segment.on_loss_event();
            self.loss_events += 1;
        }
        if self.rtt.mean().is_none() {
            // §4.2: the first sample gives the initial rate instead of step 4.
            self.first_sample(now, sample);
            self.allowed.p = feedback.loss_event_rate;
            let timeout = self.timeout();
            self.restart_timer(now, timeout);
            return;
        }
        // Step 2.
        self.rtt.on_sample(sample);
        let Some(path) = self.path() else { return };
        // Step 3, before step 4: with the old X.
        let timeout = self.timeout();
        // Step 4.
        let seen = self.limited.on_feedback(now, feedback.newest_sent_at, path.rtt);
        let coverage = known.unwrap_or(seen);
        let reported = Reported {
            receive_rate: feedback.receive_rate,
            p: feedback.loss_event_rate,
            new_loss_event,
            coverage,
        };
        self.allowed.on_feedback(now, path, reported);
        // Step 5 is `instantaneous_rate`; step 6.
        self.restart_timer(now, timeout);
    }

    fn first_sample(&mut self, now: Instant, rtt: Duration) {
        self.rtt.on_sample(rtt);
        if let Some(path) = self.path() {
            self.allowed.start(now, path);
        }
    }

    /// X_inst (§4.5), at least one packet in 64 s.
    fn instantaneous_rate(&self) -> Rate {
        self.rtt.instantaneous(self.allowed.x).max(AllowedRate::floor(self.segment.bytes()))
    }

    fn path(&self) -> Option<Path> {
        Some(Path { rtt: self.rtt.mean()?, segment: self.segment.bytes() })
    }

    /// max(4R, 2s/X) (§4.3 step 3).
    fn timeout(&self) -> Duration {
        let two_packets = self.allowed.x.time_for(2.0 * self.segment.bytes());
        (self.rtt.mean().unwrap_or(Duration::ZERO) * 4).max(two_packets)
    }

    fn restart_timer(&mut self, now: Instant, timeout: Duration) {
        self.timer = Some(now + timeout.max(self.settings.no_feedback_floor));
        self.activity = Activity::Idle;
    }

    fn with_rate_change(&mut self, now: Instant, change: impl FnOnce(&mut Self)) {
        let from = self.allowed.x;
        change(self);
        if self.allowed.x != from {
            self.events.push(RateChange {
                at: now,
                from,
                to: self.allowed.x,
                reason: self.allowed.reason,
                rtt: self.rtt.mean(),
            });
        }
    }

    fn advance(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.latest
    }
}
