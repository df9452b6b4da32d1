//! The data sender (RFC 5348 §4): how fast, and when the next packet.

mod delay_bound;
mod drop_rate;
mod guarantee;
mod limited;
mod limits;
mod nofeedback;
mod pacing;
mod packet_size;
#[cfg(test)]
mod profile_tests;
mod rate;
mod rtt;
mod segment;
mod target;
#[cfg(test)]
pub(crate) mod tests;

use tfrc_units::{Duration, Instant, Probability, Rate};

use crate::clock::HostClock;
use crate::config::{ClockGrain, Config, NominalSegment, PacketSize, RateCap, Settings};
use crate::count::PacketCount;
use crate::decision::{Limit, RateChange, RateReason, SendDecision, Wake, WakeReason};
use crate::equation::HighLoss;
use crate::guard::{AfterStop, Guard, Heard, ResumeError, Stopped};
use crate::rare::{Rare, Shared, own, rare, shared};
use crate::recent::LeastRoundTrip;
use crate::ring::Ring;
use crate::study::{SenderStudy, Stamp, Supply};
use delay_bound::{DelayBound, DelayReport};
use drop_rate::DropRate;
use guarantee::LowerBound;
pub(crate) use limited::Coverage;
use limited::DataLimited;
use limits::ReceiveLimits;
use nofeedback::Activity;
use pacing::Pacing;
use packet_size::PacketInterval;
use rate::{AllowedRate, PathState, Reported, Rules};
pub(crate) use rtt::Sample;
use rtt::{Origin, RoundTrip};
use segment::{MeanChange, MeanSegment};

/// The nofeedback timer before there is a round-trip time (RFC 5348 §4.2).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The receiver's report, with the send time that the sender remembers (RFC 5348 §3.2.2, §4.3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Feedback {
    /// t_recvdata: when the newest packet that the receiver had was sent, by the sender's clock.
    pub newest_sent_at: Instant,
    /// t_delay: how long the receiver held that packet before it reported. No more of it is taken
    /// off than leaves half of the least round trip so far, holds included: a receiver that follows
    /// RFC 5348 §6.2 holds a packet for a round-trip time at most.
    pub elapsed: Duration,
    /// X_recv.
    pub receive_rate: Rate,
    /// p.
    pub loss_event_rate: Probability,
    /// New loss events in this report: none, or at least one.
    pub losses: LossReport,
    /// Number of packets lost, as far as the report shows. Read by the circuit breaker and the stop
    /// rule.
    pub count: PacketCount,
}

/// New loss events in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReport {
    /// None since the last report, as far as the sender knows. A risen p counts as a new loss
    /// event all the same.
    NoNewLoss,
    /// At least one new loss event.
    NewLossEvent,
}

/// The sending half. Ask [`Sender::next_send`], call [`Sender::on_sent`], feed
/// [`Sender::on_feedback`] and [`Sender::handle_timeout`], and read events after each input. Work
/// and memory per call are constant.
///
/// `now` must not go back; if it does, the latest time seen counts. Its clock may have any grain
/// ([`ClockGrain`]): R is at least one grain.
// In the order of use: what each packet touches comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Sender {
    /// One for all clones, as far as they do not change it.
    settings: Shared<Settings>,
    latest: Instant,
    /// The nofeedback timer; it runs from the first packet on.
    timer: Option<Instant>,
    guard: Guard,
    delay: Option<Rare<DelayBound>>,
    interval: PacketInterval,
    pacing: Pacing,
    activity: Activity,
    clock: HostClock,
    limited: DataLimited,
    segment: MeanSegment,
    rtt: RoundTrip,
    study: SenderStudy,
    allowed: AllowedRate,
    promise: LowerBound,
    least_round_trip: LeastRoundTrip,
    drop_rate: DropRate,
    feedback_packets: u64,
    latest_feedback: Option<Feedback>,
    loss_events: u64,
    /// The least rate that [`Sender::target_rate`] answers with.
    floor: Rate,
    events: Ring<RateChange, 4>,
}

impl Sender {
    /// A sender that has sent nothing yet.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let settings = *config.settings();
        let choices = settings.algorithm.choices();
        let segment = MeanSegment::new(settings.segment);
        let pacing = Pacing::new(settings.credit, settings.timer_granularity, choices.reschedule)
            .in_pairs(choices.pairs);
        let mut sender = Self {
            allowed: AllowedRate::new(Rules::of(&settings), segment.bytes()),
            promise: LowerBound::new(settings.guarantee),
            delay: DelayBound::new(settings.max_queue_delay, pacing).map(rare),
            guard: Guard::new(&settings),
            clock: HostClock::new(settings.clock_grain),
            least_round_trip: LeastRoundTrip::NOTHING,
            rtt: RoundTrip::new(choices.rtt_weight, choices.spacing, choices.equation.rto),
            drop_rate: DropRate::default(),
            pacing,
            interval: PacketInterval::new(&settings.packet_size),
            limited: DataLimited::default(),
            segment,
            timer: None,
            activity: Activity::Idle,
            feedback_packets: 0,
            study: SenderStudy::new(choices),
            latest_feedback: None,
            loss_events: 0,
            floor: Rate::ZERO,
            latest: Instant::ZERO,
            events: Ring::new(),
            settings: shared(settings),
        };
        sender.settle();
        sender
    }

    /// Reads from each cache line or so, for a host of thousands of senders that wants this one
    /// near before it is asked. The value says nothing.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn touch(&self) -> u64 {
        let times = self.pacing.next_send().as_nanos() ^ self.latest.as_nanos();
        let rates = self.pacing.rate().bytes_per_sec().to_bits() ^ self.segment.bytes().to_bits();
        let parts = [
            self.timer.is_some(),
            self.study.watches_packets(),
            self.guard.watches(),
            self.delay.is_some(),
            self.rtt.mean().is_some(),
            self.latest_feedback.is_some(),
        ];
        let parts = parts.iter().fold(0, |sum, part| sum ^ u64::from(*part));
        let allowed = self.allowed.x.bytes_per_sec().to_bits();
        times ^ rates ^ parts ^ allowed ^ self.clock.touch() ^ self.limited.touch() ^ self.loss_events
    }

    /// The maximum segment size of the path is `mss` bytes from now on: the nominal segment of
    /// TFRC-SP follows (RFC 4828 §3). Without effect with other packet sizes.
    pub fn set_path_mss(&mut self, mss: u32) {
        if matches!(self.settings.packet_size, PacketSize::TfrcSp(_))
            && let PacketSize::TfrcSp(settings) = &mut own(&mut self.settings).packet_size
        {
            settings.nominal = NominalSegment::PathMss(if mss == 0 { 1 } else { mss });
        }
    }

    /// A round-trip time from a handshake or an earlier connection, before any feedback: the
    /// initial rate follows (§4.2). Zero is shorter than the clock can show, and counts as one
    /// grain. Without effect once there is a sample. The first sample from feedback takes its place
    /// (§4.3 step 2).
    pub fn on_rtt_sample(&mut self, now: Instant, rtt: Duration) {
        let now = self.advance(now);
        if self.rtt.mean().is_none() {
            if rtt.is_zero() {
                self.clock.stand_still();
            }
            let grain = if rtt.is_zero() { self.clock.grain() } else { Duration::ZERO };
            self.with_rate_change(now, |sender| sender.first_sample(now, rtt, grain, Origin::Elsewhere));
            self.settle();
        }
    }

    /// When the next packet may go (§4.6, §8.3). `Stopped` only after a circuit breaker or the stop
    /// rule has struck (never with the default settings), until [`Sender::resume`]: the floor of
    /// one packet in 64 s always stands.
    #[must_use]
    #[inline]
    pub fn next_send(&self, now: Instant) -> SendDecision {
        let now = now.max(self.latest);
        let at = match self.guard.stopped() {
            Some(stopped) if stopped.after == AfterStop::Terminate => {
                return SendDecision::Stopped(stopped.trip);
            }
            Some(stopped) => self.due().max(stopped.resume_at),
            None => self.due(),
        };
        if at <= now { SendDecision::Now } else { SendDecision::At(at) }
    }

    /// A packet with `size` bytes of data has gone (§4.6, §8.2.1). The first one starts the
    /// nofeedback timer (§4.2).
    #[inline]
    pub fn on_sent(&mut self, now: Instant, size: u32) {
        let now = self.advance(now);
        self.depart(now, size);
    }

    /// As [`Sender::on_sent`], for a packet that may have gone before the latest time seen.
    pub(crate) fn on_departed(&mut self, now: Instant, size: u32) {
        self.advance(now);
        self.depart(now, size);
    }

    fn depart(&mut self, now: Instant, size: u32) {
        if self.study.watches_packets() {
            let supply = self.supply(now);
            if self.study.on_sent(now, supply) {
                self.settle();
            }
        }
        if self.guard.watches() {
            self.with_rate_change(now, |sender| {
                sender.guard.on_sent(now, size, sender.pacing.rate().time_for(sender.segment.bytes()));
            });
        }
        self.pacing.on_sent(now, size);
        self.interval.on_sent(now);
        if self.delay.is_some() {
            self.leave_in_bound(now, size);
        }
        let mean = self.segment.on_sent(size);
        self.activity = Activity::Active;
        if self.timer.is_none() {
            self.start(now);
        }
        // The floor has the segment size in it.
        if let MeanChange::Moved { from } = mean {
            if self.rtt.mean().is_none() {
                self.with_rate_change(now, |sender| sender.allowed.resize(from, sender.segment.bytes()));
            }
            self.settle();
        }
        if self.coverage(now) == Coverage::NotDataLimited {
            self.limited.on_not_limited(now);
        }
    }

    /// The first packet goes.
    fn start(&mut self, now: Instant) {
        // X_recv_set = {Infinity} holds for two round-trip times from here on (§4.3).
        self.allowed.limits = ReceiveLimits::new(now);
        let timeout = if self.rtt.mean().is_none() && self.allowed.rules.initial.follows_segment() {
            INITIAL_TIMEOUT
        } else {
            self.timeout()
        };
        self.timer = Some(now + timeout.max(self.settings.no_feedback_floor));
    }

    /// Returns [`Coverage::NotDataLimited`] if at this moment, having sent, the sender is held back
    /// by the allowed rate (§8.2.1).
    #[inline]
    pub(crate) fn coverage(&self, now: Instant) -> Coverage {
        // Held back by its own cap or by the Min Interval, the sender sends less than it is allowed
        // to, however busy it is.
        let capped = matches!(self.settings.cap, RateCap::AtMost(cap) if cap < self.instantaneous_rate());
        if !capped && self.pacing.next_send() > now {
            Coverage::NotDataLimited
        } else {
            Coverage::DataLimited
        }
    }

    /// A feedback packet has come then (§4.3). The caller has checked that it acknowledges a packet
    /// really sent. It may have waited at this host, and be older than the latest call: that time
    /// is no part of the round-trip time.
    pub fn on_feedback(&mut self, at: Instant, feedback: Feedback) {
        let now = self.advance(self.latest.max(at));
        // §4.3 step 1.
        let whole = at.saturating_since(feedback.newest_sent_at);
        self.clock.step(whole);
        let sample = Sample::Measured(self.least_round_trip.sample(now, whole, feedback.elapsed));
        self.with_rate_change(now, |sender| sender.hear(now, feedback, Some(sample), None));
        self.settle();
    }

    /// Takes in feedback as [`Sender::on_feedback`], from a receiver that does not say how long it
    /// held the packet: `elapsed` is not read, and there is no sample of the round-trip time.
    pub fn on_untimed_feedback(&mut self, now: Instant, feedback: Feedback) {
        let now = self.advance(now);
        self.with_rate_change(now, |sender| sender.hear(now, feedback, None, None));
        self.settle();
    }

    /// Takes in feedback as [`Sender::on_feedback`], from a caller who has kept a record of every
    /// packet, and so knows the sample of the round-trip time, if the report has one, and if the
    /// sender was data-limited all through the interval that the feedback covers.
    pub(crate) fn on_feedback_covering(
        &mut self,
        now: Instant,
        feedback: Feedback,
        sample: Option<Sample>,
        coverage: Coverage,
    ) {
        let now = self.advance(now);
        self.with_rate_change(now, |sender| sender.hear(now, feedback, sample, Some(coverage)));
        self.settle();
    }

    /// Lets time pass: the nofeedback timer may expire (§4.4), a circuit breaker strike. Early,
    /// late and repeated calls do no harm.
    #[inline]
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.advance(now);
        if self.guard.watches() {
            self.watch(now);
        }
        if self.timer.is_none_or(|at| now < at) {
            return;
        }
        self.expire(now);
    }

    fn watch(&mut self, now: Instant) {
        self.with_rate_change(now, |sender| sender.guard.handle_timeout(now));
    }

    /// The nofeedback timer has expired (§4.4).
    fn expire(&mut self, now: Instant) {
        let supply = self.supply(now);
        self.study.on_expiration(now, supply);
        self.with_rate_change(now, |sender| {
            let segment = sender.segment.bytes();
            match sender.path() {
                None => sender.allowed.on_no_feedback_without_rtt(segment, sender.activity),
                Some(path) => sender.allowed.on_no_feedback(now, path, sender.activity, supply),
            }
        });
        self.release(now);
        // §4.4 step 2: with the new X.
        let timeout = self.timeout();
        self.restart_timer(now, timeout);
        self.settle();
    }

    /// When [`Sender::handle_timeout`] wants to be called next. (The time of the next packet is
    /// [`Sender::next_send`]'s.)
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Wake> {
        let no_feedback = self.timer.map(|at| Wake { at, reason: WakeReason::NoFeedback });
        let guard = self.guard.poll_timeout().map(|at| Wake { at, reason: WakeReason::Guard });
        match (no_feedback, guard) {
            (Some(a), Some(b)) if b.at < a.at => Some(b),
            (a, b) => a.or(b),
        }
    }

    /// The stop by a circuit breaker or the stop rule that is in force, with its earliest end.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        self.guard.stopped()
    }

    /// Sends again after a stop, because the application has reason to expect a better path (RFC
    /// 8083 §4.5).
    ///
    /// # Errors
    /// [`ResumeError`] before [`Stopped::resume_at`], or if there was no stop.
    pub fn resume(&mut self, now: Instant) -> Result<(), ResumeError> {
        let now = self.advance(now);
        let mut outcome = Ok(());
        self.with_rate_change(now, |sender| outcome = sender.guard.resume(now));
        outcome
    }

    /// The oldest change of the allowed rate not yet polled. Up to four are kept.
    pub fn poll_event(&mut self) -> Option<RateChange> {
        self.events.pop_front()
    }

    /// The allowed sending rate in bytes of data per second: X, or G = max(g, X) while a guarantee
    /// is in force; zero after a stop.
    #[must_use]
    pub fn allowed_rate(&self) -> Rate {
        if self.guard.stopped().is_some() { Rate::ZERO } else { self.granted() }
    }

    /// X, what the algorithm alone allows: [`Sender::allowed_rate`] without a guarantee.
    #[must_use]
    pub fn computed_rate(&self) -> Rate {
        self.allowed.x.min(self.delay_limit())
    }

    /// The rate at which packets really leave while there is data: X_inst (§4.5), at most the
    /// application's cap and what the Min Interval of TFRC-SP lets pass; zero after a stop.
    #[must_use]
    pub fn sending_rate(&self) -> Rate {
        if self.guard.stopped().is_some() {
            return Rate::ZERO;
        }
        let paced = self.pacing.rate().min(self.interval.limit(self.segment.bytes()));
        paced.min(self.delay.as_ref().map_or(Rate::INFINITY, |delay| self.lifted(delay.limit())))
    }

    /// The rule that set the allowed rate last.
    #[must_use]
    pub fn rate_reason(&self) -> RateReason {
        if let Some(stopped) = self.guard.stopped() {
            RateReason::Stopped(stopped.trip)
        } else if self.promise.least(self.allowed.x) > self.computed_rate() {
            RateReason::Guarantee
        } else if self.delay_limit() < self.allowed.x {
            RateReason::QueueDelay
        } else {
            self.allowed.reason
        }
    }

    /// Reason for the rate at `now`, which is best a moment between two packets. The application is
    /// it if its cap is below what is allowed, or if a packet could have gone before `now` and has
    /// not.
    #[must_use]
    pub fn limit(&self, now: Instant) -> Limit {
        let reason = self.rate_reason();
        let allowed = self.instantaneous_rate().min(self.lifted(self.delay_limit()));
        let capped = matches!(self.settings.cap, RateCap::AtMost(cap) if cap < allowed);
        let idle = self.timer.is_some() && self.due() + self.settings.timer_granularity < now;
        match reason {
            RateReason::Stopped(_) => reason.into(),
            _ if capped || idle => Limit::Application,
            RateReason::Guarantee => Limit::Guarantee,
            _ if self.delay.as_ref().is_some_and(|delay| delay.competes()) => Limit::Competition,
            _ => reason.into(),
        }
    }

    /// The time up to `now` for which the flow has competed with others that keep the queue longer
    /// than [`Settings::max_queue_delay`], which does not limit it then; zero without a bound.
    #[must_use]
    pub fn competed(&self, now: Instant) -> Duration {
        self.delay.as_ref().map_or(Duration::ZERO, |delay| delay.competed(now))
    }

    /// The configuration that the sender was made with, with the cap and the path's segment size of
    /// now.
    #[must_use]
    pub fn config(&self) -> Config {
        let settings: &Settings = &self.settings;
        Config::sound(*settings)
    }

    /// R, once there is a sample.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.mean()
    }

    /// The grain of the clock of the host, stated ([`ClockGrain`]) or measured; zero while nothing
    /// shows one.
    #[must_use]
    pub fn clock_grain(&self) -> Duration {
        self.clock.grain()
    }

    /// The clock of the host, for the Advisor around this sender.
    #[inline]
    pub(crate) const fn clock_mut(&mut self) -> &mut HostClock {
        &mut self.clock
    }

    /// States the grain of the host's clock, or leaves it to be measured from now on.
    pub fn set_clock_grain(&mut self, grain: ClockGrain) {
        own(&mut self.settings).clock_grain = grain;
        self.clock = HostClock::new(grain);
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

    /// Facts for a study's receiver on a packet that goes now; a real network carries none of them.
    #[must_use]
    pub fn stamp(&self, now: Instant) -> Stamp {
        self.study.stamp(now)
    }

    /// The feedback taken in last.
    #[must_use]
    pub const fn latest_feedback(&self) -> Option<Feedback> {
        self.latest_feedback
    }

    /// Feedback packets that reported a new loss event.
    #[must_use]
    pub const fn loss_events(&self) -> u64 {
        self.loss_events
    }

    fn hear(&mut self, now: Instant, feedback: Feedback, sample: Option<Sample>, known: Option<Coverage>) {
        self.take_feedback(now, feedback, sample, known);
        if let Some(PathState { rtt, segment, .. }) = self.path() {
            let Feedback { newest_sent_at, loss_event_rate: p, receive_rate, count, .. } = feedback;
            self.guard.on_feedback(now, Heard { newest_sent_at, p, receive_rate, count, rtt, segment });
        }
    }

    fn take_feedback(
        &mut self,
        now: Instant,
        feedback: Feedback,
        sample: Option<Sample>,
        known: Option<Coverage>,
    ) {
        let (sample, grain) = match sample {
            Some(Sample::Measured(sample)) => {
                if sample.is_zero() {
                    self.clock.stand_still();
                }
                let waits = self.coverage(now) == Coverage::NotDataLimited;
                let missing = if waits { self.clock.shortfall(sample) } else { Duration::ZERO };
                (Some(sample + missing), self.clock.grain())
            }
            Some(Sample::Stated(sample)) => (Some(sample), Duration::ZERO),
            None => (None, Duration::ZERO),
        };
        self.feedback_packets += 1;
        self.study.on_feedback();
        self.latest_feedback = Some(feedback);
        if self.allowed.rules.equation.high_loss == HighLoss::Moderate {
            self.drop_rate.on_feedback(feedback.count, feedback.loss_event_rate);
        }
        let new_loss_event = feedback.losses == LossReport::NewLossEvent;
        let lost = new_loss_event || feedback.loss_event_rate > self.allowed.p;
        if lost {
            self.segment.on_loss_event();
            self.loss_events += 1;
            self.promise.on_loss_report();
        }
        if self.rtt.mean().is_none() {
            // §4.2: the first sample gives the initial rate instead of step 4.
            if let Some(sample) = sample {
                self.first_sample(now, sample, grain, Origin::Feedback);
            }
            self.allowed.p = feedback.loss_event_rate;
            let timeout = self.timeout();
            self.restart_timer(now, timeout);
            self.bound_delay(now, &feedback, sample, lost);
            return;
        }
        // §4.3 step 2.
        let rtt = self.rtt.mean();
        if let Some(sample) = sample {
            self.rtt.on_sample(sample, grain, Origin::Feedback);
            if let Some(friend) = self.study.on_rtt_sample(now, sample.max(grain)) {
                own(&mut self.allowed.rules).equation.friend = friend;
            }
        }
        let Some(path) = self.path() else { return };
        // §4.3 step 3, before step 4: with the old X.
        let timeout = self.timeout();
        // §4.3 step 4.
        let seen = self.limited.on_feedback(now, feedback.newest_sent_at, path.rtt);
        let coverage = known.unwrap_or(seen);
        let reported = Reported {
            receive_rate: feedback.receive_rate,
            p: feedback.loss_event_rate,
            new_loss_event,
            coverage,
            supply: self.supply_lately(now, path),
        };
        let from = self.allowed.x;
        self.allowed.on_feedback(now, path, reported);
        if self.feedback_packets == 1 && rtt.is_some_and(|rtt| rtt < path.rtt) {
            // §4.2: the initial rate was that of a handshake over a shorter way.
            self.allowed.x = self.allowed.x.min(self.allowed.initial_rate(path));
        }
        self.follow(now, from, path);
        self.bound_delay(now, &feedback, sample, lost);
        // §4.3 step 5 is `instantaneous_rate`; §4.3 step 6.
        self.restart_timer(now, timeout);
    }

    /// The bound on the queueing delay, where there is one, takes in a report.
    fn bound_delay(&mut self, now: Instant, feedback: &Feedback, sample: Option<Duration>, lost: bool) {
        let Some(path) = self.path() else { return };
        let initial_rate = self.allowed.initial_rate(path);
        let grain = self.clock.grain();
        if let Some(delay) = &mut self.delay {
            let Feedback { newest_sent_at, receive_rate, .. } = *feedback;
            let rtt = path.rtt;
            delay.on_report(
                now,
                DelayReport { sample, grain, rtt, receive_rate, newest_sent_at, initial_rate, lost },
            );
        }
    }

    /// A packet leaves while there is a bound on the queueing delay.
    fn leave_in_bound(&mut self, now: Instant, size: u32) {
        let mut changed = false;
        self.with_rate_change(now, |sender| {
            changed = sender.delay.as_mut().is_some_and(|delay| delay.on_sent(now, size));
        });
        if changed {
            self.settle();
        }
    }

    fn delay_limit(&self) -> Rate {
        self.delay.as_ref().map_or(Rate::INFINITY, |delay| delay.limit())
    }

    fn first_sample(&mut self, now: Instant, rtt: Duration, grain: Duration, origin: Origin) {
        self.rtt.on_sample(rtt, grain, origin);
        if let Some(path) = self.path() {
            self.promise.on_first_rtt();
            self.allowed.start(now, path);
            self.study.on_rate();
            self.release(now);
        }
    }

    /// A report in slow start or the nofeedback timer lets the next packet go, where the settings
    /// say so.
    fn release(&mut self, now: Instant) {
        if !self.settings.algorithm.choices().reschedule.moves_waiting() {
            self.pacing.release(now);
            self.interval.release();
        }
    }

    /// The spacing follows a report's rate: over a ramp in slow start where the settings say so.
    fn follow(&mut self, now: Instant, from: Rate, path: PathState) {
        if self.allowed.p.is_zero() {
            self.study.on_rate_in_slow_start(from, self.allowed.x, path.rtt, path.segment);
            self.release(now);
        } else {
            self.study.on_rate();
        }
    }

    /// G, whether sending has stopped or not.
    fn granted(&self) -> Rate {
        self.lifted(self.computed_rate())
    }

    /// This rate, at least the one promised.
    fn lifted(&self, rate: Rate) -> Rate {
        rate.max(self.promise.least(self.allowed.x))
    }

    /// The spacing follows the rest: every input ends here, so that asking is cheap.
    fn settle(&mut self) {
        self.pacing.set_pace(self.spacing(), self.rtt.mean());
        let limit = self.lifted(self.delay_limit());
        // The spacing of the bound has X too, so that no burst at X is longer than it allows.
        let (rate, rtt) = (self.spacing(), self.rtt.mean());
        if let Some(delay) = &mut self.delay {
            delay.set_pace(rate, limit, rtt);
        }
    }

    /// The send time of the next packet.
    #[inline]
    fn due(&self) -> Instant {
        let due = self.due_unbounded();
        self.delay.as_ref().map_or(due, |delay| due.max(delay.next_send()))
    }

    /// The send time of the next packet if the queueing delay had no bound.
    #[inline]
    fn due_unbounded(&self) -> Instant {
        self.pacing.next_send().max(self.interval.next_send())
    }

    /// The rate of the spacing, whether sending has stopped or not.
    fn spacing(&self) -> Rate {
        match self.settings.cap {
            RateCap::Unlimited => self.instantaneous_rate(),
            RateCap::AtMost(cap) => self.instantaneous_rate().min(cap),
        }
    }

    /// X_inst (§4.5), at least the floor and the rate promised.
    fn instantaneous_rate(&self) -> Rate {
        let inst = self.study.rate_on_its_way().unwrap_or_else(|| self.rtt.instantaneous(self.allowed.x));
        inst.max(self.allowed.rules.floor(self.segment.bytes(), self.rtt.mean()))
            .max(self.promise.least(self.allowed.x))
    }

    /// The supply of data: short if a packet could have gone before `now` and has not. A host that
    /// is late with its packets by more than its timer granularity looks so too.
    fn supply(&self, now: Instant) -> Supply {
        if self.timer.is_some() && self.due_unbounded() + self.settings.timer_granularity < now {
            Supply::Short
        } else {
            Supply::Enough
        }
    }

    /// The supply of the last 1.5 round-trip times, where a study asks for it.
    fn supply_lately(&mut self, now: Instant, path: PathState) -> Supply {
        if !self.study.watches_supply() {
            return Supply::Enough;
        }
        // With the new R and the old X.
        self.settle();
        let supply = self.supply(now);
        self.study.supply_lately(now, supply, path.rtt)
    }

    fn path(&self) -> Option<PathState> {
        let (segment, packet_size) = (self.segment.bytes(), self.settings.packet_size);
        let rtt = self.rtt.mean()?;
        Some(PathState {
            rtt,
            segment,
            packet_size,
            rto: self.rtt.timeout(rtt),
            drop_rate: self.drop_rate.get(),
        })
    }

    /// max(4R, 2s/X) (§4.3 step 3), or 2R for 4R. Two packets take exactly twice the time of one,
    /// so that the timer expires with the second packet, not a nanosecond after it.
    fn timeout(&self) -> Duration {
        // By X without a bound on the queueing delay, so that X itself does not depend on it.
        let two_packets = self.lifted(self.allowed.x).time_for(self.segment.bytes()) * 2;
        self.allowed.rules.no_feedback.wait(self.rtt.mean().unwrap_or(Duration::ZERO)).max(two_packets)
    }

    fn restart_timer(&mut self, now: Instant, timeout: Duration) {
        self.timer = Some(now + timeout.max(self.settings.no_feedback_floor));
        self.activity = Activity::Idle;
    }

    fn with_rate_change(&mut self, now: Instant, change: impl FnOnce(&mut Self)) {
        let from = self.allowed_rate();
        change(self);
        if self.allowed_rate() != from {
            self.events.push(RateChange {
                at: now,
                from,
                to: self.allowed_rate(),
                reason: self.rate_reason(),
                rtt: self.rtt.mean(),
            });
        }
    }

    #[inline]
    fn advance(&mut self, now: Instant) -> Instant {
        self.clock.read(now);
        self.latest = self.latest.max(now);
        self.latest
    }
}
