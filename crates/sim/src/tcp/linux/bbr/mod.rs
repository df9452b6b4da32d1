//! BBR, version 1, as mainline Linux has it: a model of the path's rate and round trip, and a pace
//! and a window from them.
//!
//! Sources: N. Cardwell et al., ACM Queue 14(5), 2016, and
//! draft-cardwell-iccrg-bbr-congestion-control-00; the constants are those of the kernel.
//! Differences from it: docs/models/tcp-linux.md.

mod aggregation;
mod max_filter;
mod policer;

use tfrc_units::hash::finalise;
use tfrc_units::{Duration, Instant, saturating, u64_from_f64};

use self::aggregation::Aggregation;
use self::max_filter::MaxFilter;
use self::policer::{Change, Counts, Policer, Step};
use super::delivery::{Delivery, RateSample, Supply};
use super::pacing::Pace;

/// 2/ln 2, which doubles the rate each round.
const HIGH_GAIN: f64 = 2.885;
/// Empties within a round the queue that [`HIGH_GAIN`] has made.
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
/// Gain of the window while cruising.
const WINDOW_GAIN: f64 = 2.0;
/// Phases of a cycle, each of a round trip at least.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Rounds of the filter of the rate: a cycle and two.
const RATE_ROUNDS: u64 = 10;
/// Time for which the least round-trip time stands, and the least stay in `ProbeRtt` after it.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// The least window, which is also that of `ProbeRtt`.
const LEAST_WINDOW: u32 = 4;
/// The pipe is full when the rate has not grown by a quarter for three rounds.
const GROWTH: f64 = 1.25;
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// The pace is a hundredth below the estimate, so that the queue drains.
const MARGIN: f64 = 0.99;
/// Below this rate segments go one by one, in bit/s; above at least two together.
const SINGLY: f64 = 1.2e6;
/// A group of segments that go together takes about a millisecond: 2^10 of it a second.
const GROUPS: f64 = 1024.0;
/// The most bytes of a group.
const LARGEST_GROUP: f64 = 65_000.0;
/// The first estimate of the round trip where there is none.
const UNKNOWN_RTT: Duration = Duration::from_millis(1);

#[derive(Debug, Clone)]
pub(super) struct Bbr {
    mode: Mode,
    rate: MaxFilter,
    round: u64,
    /// A round ends when a segment is delivered that was sent after this many deliveries.
    round_end: u64,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    full: Full,
    policer: Policer,
    aggregation: Aggregation,
    recovering: Recovering,
    /// The window before a recovery or `ProbeRtt`.
    saved: u32,
    /// Segments a second.
    pace: f64,
    /// The gain in it.
    gain: f64,
    /// The pace is from a measured round trip.
    rtt_seen: RttSeen,
    initial_window: u32,
    /// Bits of a segment's data.
    segment_bits: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Startup,
    Drain,
    /// The phase of the cycle, and its start.
    ProbeBandwidth(usize, Instant),
    ProbeRtt(Low),
}

/// Progress of `ProbeRtt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Low {
    /// More than four segments are in flight.
    Waiting,
    /// Until this time, and until a round has passed.
    Until(Instant, RoundPassed),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoundPassed {
    No,
    Yes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RttSeen {
    No,
    Yes,
}

/// Search for the end of the growth of the rate.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Full {
    No { rate: f64, rounds: u32 },
    Yes,
}

/// Loss recovery as the last acknowledgement met it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recovering {
    No,
    /// A first round: a segment goes for each that was delivered.
    Conserving,
    Yes,
}

/// State of the sender's loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    None,
    /// After losses that acknowledgements showed.
    Recovery,
    /// After a timeout.
    Timeout,
}

/// An acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    pub(super) now: Instant,
    pub(super) sample: Option<RateSample>,
    /// Segments newly delivered, and found to be lost.
    pub(super) delivered: u32,
    pub(super) lost: u32,
    /// Segments in the network before it and after it.
    pub(super) in_flight_before: u32,
    pub(super) in_flight: u32,
    pub(super) rtt: Option<Duration>,
    pub(super) srtt: Option<Duration>,
    pub(super) repair: Repair,
}

impl Bbr {
    pub(super) fn new(initial_window: u32, segment: u32) -> Self {
        let counts = Counts { at: Instant::ZERO, delivered: 0, lost: 0 };
        let mut bbr = Self {
            mode: Mode::Startup,
            rate: MaxFilter::default(),
            round: 0,
            round_end: 0,
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            full: Full::No { rate: 0.0, rounds: 0 },
            policer: Policer::new(counts),
            aggregation: Aggregation::new(Instant::ZERO),
            recovering: Recovering::No,
            saved: 0,
            pace: 0.0,
            gain: HIGH_GAIN,
            rtt_seen: RttSeen::No,
            initial_window,
            segment_bits: f64::from(segment) * 8.0,
        };
        bbr.pace = bbr.first_pace(UNKNOWN_RTT);
        bbr
    }

    fn first_pace(&self, rtt: Duration) -> f64 {
        HIGH_GAIN * f64::from(self.initial_window) / rtt.as_secs_f64().max(1e-6)
    }

    /// A round trip of the opening: of a SYN.
    pub(super) fn opened(&mut self, now: Instant, rtt: Duration) {
        (self.min_rtt, self.min_rtt_at, self.rtt_seen) = (Some(rtt), now, RttSeen::Yes);
        self.pace = self.first_pace(rtt);
    }

    pub(super) fn pace(&self) -> Pace {
        Pace { rate: self.pace, together: self.together() }
    }

    /// Segments that go together.
    fn together(&self) -> u32 {
        let bits = self.pace * self.segment_bits;
        let bytes = (bits / 8.0 / GROUPS).min(LARGEST_GROUP);
        let least = if bits < SINGLY { 1 } else { 2 };
        saturating::<u32>(u64_from_f64(bytes * 8.0 / self.segment_bits)).max(least).min(127)
    }

    /// The rate to go by, segments a second.
    fn bandwidth(&self) -> f64 {
        self.policer.rate().unwrap_or(self.rate.get())
    }

    /// The window after an acknowledgement; the pace changes too. `departure` is when the next
    /// segment goes.
    pub(super) fn on_ack(
        &mut self,
        heard: &Heard,
        delivery: &mut Delivery,
        departure: Instant,
        cwnd: u32,
    ) -> u32 {
        let mut cwnd = cwnd;
        let round_began = self.update_rate(heard, delivery);
        if round_began && self.recovering == Recovering::Conserving {
            self.recovering = Recovering::Yes;
        }
        if heard.sample.is_some() && heard.delivered > 0 {
            if round_began {
                self.aggregation.round();
            }
            let rate = self.bandwidth();
            self.aggregation.update(heard.now, heard.delivered, rate, cwnd);
        }
        let wait = departure.saturating_since(heard.now);
        self.update_cycle(heard, delivery, wait);
        let short = heard.sample.is_some_and(|sample| sample.supply == Supply::Short);
        self.look_for_full(round_began && !short);
        self.drain(heard, wait);
        self.update_min_rtt(heard, delivery, round_began, &mut cwnd);
        let (pace_gain, window_gain) = self.gains();
        self.set_pace(heard, pace_gain);
        self.gain = pace_gain;
        self.window(heard, delivery, cwnd, window_gain)
    }

    /// Says whether a round has begun.
    fn update_rate(&mut self, heard: &Heard, delivery: &Delivery) -> bool {
        let Some(sample) = heard.sample else { return false };
        let began = sample.prior_delivered >= self.round_end;
        if began {
            self.round_end = delivery.delivered();
            self.round += 1;
        }
        let step = Step {
            counts: counts(delivery.at(), delivery),
            rounds: u32::from(began),
            losses: heard.lost,
            supply: sample.supply,
            segment_bits: self.segment_bits,
        };
        let cruising = u32::from(matches!(self.mode, Mode::ProbeBandwidth(..)));
        if self.policer.step(step, cruising) == Change::Expired {
            self.cruise(heard.now);
        }
        // A rate of a short supply counts where it is higher all the same.
        if sample.supply == Supply::Enough || sample.rate >= self.rate.get() {
            self.rate.update(RATE_ROUNDS, self.round, sample.rate);
        }
        began
    }

    /// Begins a cycle at any of its phases but the one below the rate. The kernel draws the phase;
    /// here it is a hash of the time.
    fn cruise(&mut self, now: Instant) {
        let drawn = finalise(now.as_nanos()) % 7;
        let phase = usize::try_from(drawn).map_or(0, |drawn| (CYCLE.len() - drawn) % CYCLE.len());
        self.mode = Mode::ProbeBandwidth(phase, now);
    }

    /// Segments in flight when the next goes, after `wait`: what the path will have delivered by
    /// then is out, and while the pace is raised the next group is in.
    fn in_flight_at_departure(&self, in_flight: u32, wait: Duration) -> u32 {
        let joined = if self.gain > 1.0 { self.together() } else { 0 };
        let delivered = saturating::<u32>(u64_from_f64(self.bandwidth() * wait.as_secs_f64()));
        in_flight.saturating_add(joined).saturating_sub(delivered)
    }

    fn update_cycle(&mut self, heard: &Heard, delivery: &Delivery, wait: Duration) {
        let Mode::ProbeBandwidth(phase, start) = self.mode else { return };
        let at = delivery.at();
        let passed = self.min_rtt.is_some_and(|min_rtt| at.saturating_since(start) > min_rtt);
        let gain = CYCLE.get(phase).copied().unwrap_or(1.0);
        let in_flight = self.in_flight_at_departure(heard.in_flight_before, wait);
        let ends = if self.policer.rate().is_some() || gain == 1.0 {
            passed
        } else if gain > 1.0 {
            passed && (heard.lost > 0 || in_flight >= self.inflight(self.rate.get(), gain))
        } else {
            passed || in_flight <= self.inflight(self.rate.get(), 1.0)
        };
        if ends {
            self.mode = Mode::ProbeBandwidth((phase + 1) % CYCLE.len(), at);
        }
    }

    fn look_for_full(&mut self, round_began: bool) {
        let Full::No { rate, rounds } = self.full else { return };
        if !round_began {
            return;
        }
        let now = self.rate.get();
        self.full = if now >= rate * GROWTH {
            Full::No { rate: now, rounds: 0 }
        } else if rounds + 1 >= ROUNDS_WITHOUT_GROWTH {
            Full::Yes
        } else {
            Full::No { rate, rounds: rounds + 1 }
        };
    }

    fn drain(&mut self, heard: &Heard, wait: Duration) {
        if self.mode == Mode::Startup && self.full == Full::Yes {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain
            && self.in_flight_at_departure(heard.in_flight, wait) <= self.inflight(self.rate.get(), 1.0)
        {
            self.cruise(heard.now);
        }
    }

    fn update_min_rtt(&mut self, heard: &Heard, delivery: &mut Delivery, round_began: bool, cwnd: &mut u32) {
        let now = heard.now;
        let expired = now.saturating_since(self.min_rtt_at) > MIN_RTT_WINDOW;
        if let Some(rtt) = heard.rtt
            && (expired || self.min_rtt.is_none_or(|least| rtt < least))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
        }
        if expired && !matches!(self.mode, Mode::ProbeRtt(_)) {
            self.save(*cwnd);
            self.mode = Mode::ProbeRtt(Low::Waiting);
        }
        let Mode::ProbeRtt(low) = &mut self.mode else { return };
        delivery.is_short(heard.in_flight);
        match low {
            Low::Waiting if heard.in_flight <= LEAST_WINDOW => {
                *low = Low::Until(now + PROBE_RTT_TIME, RoundPassed::No);
                self.round_end = delivery.delivered();
            }
            Low::Waiting => {}
            Low::Until(end, passed) => {
                if round_began {
                    *passed = RoundPassed::Yes;
                }
                if *passed == RoundPassed::Yes && now > *end {
                    self.min_rtt_at = now;
                    *cwnd = (*cwnd).max(self.saved);
                    match self.full {
                        Full::No { .. } => self.mode = Mode::Startup,
                        Full::Yes => self.cruise(now),
                    }
                }
            }
        }
    }

    /// Gains of the pace and of the window.
    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth(..) if self.policer.rate().is_some() => (1.0, WINDOW_GAIN),
            Mode::ProbeBandwidth(phase, _) => (CYCLE.get(phase).copied().unwrap_or(1.0), WINDOW_GAIN),
            Mode::ProbeRtt(_) => (1.0, 1.0),
        }
    }

    fn set_pace(&mut self, heard: &Heard, gain: f64) {
        if self.rtt_seen == RttSeen::No
            && let Some(srtt) = heard.srtt
        {
            self.rtt_seen = RttSeen::Yes;
            self.pace = self.first_pace(srtt);
        }
        let pace = self.bandwidth() * gain * MARGIN;
        if self.full == Full::Yes || pace > self.pace {
            self.pace = pace;
        }
    }

    /// Segments of the product of a rate and the least round trip, times a gain.
    fn product(&self, rate: f64, gain: f64) -> u32 {
        match self.min_rtt {
            None => self.initial_window,
            Some(rtt) => saturating::<u32>(u64_from_f64(libm::ceil(rate * rtt.as_secs_f64() * gain))),
        }
    }

    /// Room for groups of segments in both hosts, and in the first phase for the probe to show.
    fn with_room(&self, window: u32) -> u32 {
        let window = window.saturating_add(3 * self.together()).saturating_add(1) & !1;
        let probing = matches!(self.mode, Mode::ProbeBandwidth(0, _));
        window.saturating_add(if probing { 2 } else { 0 })
    }

    fn inflight(&self, rate: f64, gain: f64) -> u32 {
        self.with_room(self.product(rate, gain))
    }

    fn window(&mut self, heard: &Heard, delivery: &Delivery, cwnd: u32, gain: f64) -> u32 {
        let mut cwnd = cwnd;
        if heard.delivered > 0 {
            cwnd = self.window_of_model(heard, delivery, cwnd, gain);
        }
        match self.mode {
            Mode::ProbeRtt(_) => cwnd.min(LEAST_WINDOW),
            Mode::Drain | Mode::ProbeBandwidth(..) | Mode::Startup => cwnd,
        }
    }

    fn window_of_model(&mut self, heard: &Heard, delivery: &Delivery, cwnd: u32, gain: f64) -> u32 {
        let acked = heard.delivered;
        let mut cwnd = if heard.lost > 0 { cwnd.saturating_sub(heard.lost).max(1) } else { cwnd };
        match (heard.repair, self.recovering) {
            (Repair::Recovery, Recovering::No) => {
                self.recovering = Recovering::Conserving;
                self.round_end = delivery.delivered();
                cwnd = heard.in_flight.saturating_add(acked);
            }
            (Repair::None, Recovering::Conserving | Recovering::Yes) => {
                self.recovering = Recovering::No;
                cwnd = cwnd.max(self.saved);
            }
            _ => {}
        }
        if self.recovering == Recovering::Conserving {
            return cwnd.max(heard.in_flight.saturating_add(acked));
        }
        let rate = self.bandwidth();
        let mut target = self.product(rate, gain);
        if self.full == Full::Yes {
            target = target.saturating_add(self.aggregation.room(rate));
        }
        let target = self.with_room(target);
        let start = delivery.delivered() < u64::from(self.initial_window);
        if self.full == Full::Yes {
            cwnd = cwnd.saturating_add(acked).min(target);
        } else if cwnd < target || start {
            cwnd = cwnd.saturating_add(acked);
        }
        cwnd.max(LEAST_WINDOW)
    }

    /// A loss event or `ProbeRtt` begins at this window.
    pub(super) fn save(&mut self, cwnd: u32) {
        let undisturbed = self.recovering == Recovering::No && !matches!(self.mode, Mode::ProbeRtt(_));
        self.saved = if undisturbed { cwnd } else { self.saved.max(cwnd) };
    }

    /// A loss event was for nothing: the search for the end of the growth begins anew, and that for
    /// a policer.
    pub(super) fn undo(&mut self, delivery: &Delivery) {
        if self.full != Full::Yes {
            self.full = Full::No { rate: 0.0, rounds: 0 };
        }
        self.policer = Policer::new(counts(delivery.at(), delivery));
    }

    /// The retransmission timer has expired.
    pub(super) fn timed_out(&mut self, now: Instant, delivery: &Delivery) {
        self.recovering = Recovering::Yes;
        if let Full::No { rounds, .. } = self.full {
            self.full = Full::No { rate: 0.0, rounds };
        }
        let counts = counts(now, delivery);
        let (supply, segment_bits) = (Supply::Enough, self.segment_bits);
        let step = Step { counts, rounds: 1, losses: 1, supply, segment_bits };
        self.policer.step(step, 0);
    }
}

fn counts(at: Instant, delivery: &Delivery) -> Counts {
    Counts { at, delivered: delivery.delivered(), lost: delivery.lost() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_flight_is_counted_at_the_departure_of_the_next() {
        // 1000 segments of 1448 bytes a second: 11.6 Mbit/s, two at a time.
        let mut bbr = Bbr::new(10, 1448);
        bbr.rate.update(RATE_ROUNDS, 0, 1000.0);
        bbr.pace = 1000.0;
        let ms = Duration::from_millis;
        bbr.gain = 0.75;
        assert_eq!(bbr.in_flight_at_departure(50, ms(0)), 50);
        assert_eq!(bbr.in_flight_at_departure(50, ms(7)), 43);
        assert_eq!(bbr.in_flight_at_departure(5, ms(7)), 0);
        bbr.gain = 1.25;
        assert_eq!(bbr.in_flight_at_departure(50, ms(7)), 45);
    }

    #[test]
    fn a_rate_of_a_short_supply_counts_only_where_it_is_higher() {
        let mut bbr = Bbr::new(10, 1448);
        let mut delivery = Delivery::new();
        let mut heard = |rate, supply| {
            let sample = Some(RateSample { rate, prior_delivered: 0, supply });
            let heard = Heard {
                now: Instant::ZERO,
                sample,
                delivered: 0,
                lost: 0,
                in_flight_before: 0,
                in_flight: 0,
                rtt: None,
                srtt: None,
                repair: Repair::None,
            };
            // More rounds than the filter has.
            for _ in 0..=RATE_ROUNDS {
                bbr.on_ack(&heard, &mut delivery, Instant::ZERO, 10);
            }
            bbr.rate.get()
        };
        assert_eq!(heard(1000.0, Supply::Enough), 1000.0);
        assert_eq!(heard(400.0, Supply::Short), 1000.0);
        assert_eq!(heard(1200.0, Supply::Short), 1200.0);
        assert_eq!(heard(400.0, Supply::Enough), 400.0);
    }
}
