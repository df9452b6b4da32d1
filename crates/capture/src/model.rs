//! The rate that RFC 5348 allowed a sender, by the reports that went to it, next to what it sent,
//! and the rate that the profile `balanced` would have allowed.

use std::collections::{BTreeMap, VecDeque};

use tfrc::equation::Equation;
use tfrc::guard::CircuitBreaker;
use tfrc::study::Profile;
use tfrc::{Feedback, Limit, LossReport, PacketCount, Sender, Settings};
use tfrc_units::{Duration, Instant, Probability, Rate, saturating};

use crate::bounded::{Samples, Series};
use crate::document::{Rates, Stretch};

/// Stretches that are kept.
pub(crate) const STRETCHES: usize = 400;
/// Reports on their way to the sender.
const ON_THE_WAY: usize = 64;
/// The least nofeedback timer. RFC 5348 §4.3 step 3 has none: four round trips of less than a
/// millisecond are shorter than hosts keep timers and receivers space reports, and the timer would
/// halve X between reports. `tfrc send` has this floor, Linux 6.1 one of 100 ms.
const NO_FEEDBACK_FLOOR: Duration = Duration::from_millis(20);

/// A report, and when its effect reaches the tap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effect {
    pub(crate) at: Instant,
    pub(crate) rtt: Duration,
    pub(crate) p: Probability,
    /// p by RFC 5348 from the arrivals, where the tap sees them.
    pub(crate) by_arrivals: Option<f64>,
    pub(crate) receive_rate: Rate,
    /// Queueing delay, seconds.
    pub(crate) queueing: Option<f64>,
}

/// Shares of the allowed rate, and the terms that limited it, of all stretches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdicts {
    shares: Samples,
    limits: BTreeMap<String, u64>,
}

impl Verdicts {
    /// A stretch with this share of the allowed rate ends; returns the term that limited it.
    pub(crate) fn on_share(&mut self, share: f64, limit: Limit) -> &'static str {
        let limit = limit_text(if share < 0.9 { Limit::Application } else { limit });
        self.shares.push(share);
        *self.limits.entry(limit.to_owned()).or_default() += 1;
        limit
    }
}

/// The rates by both profiles.
pub(crate) fn rates(rfc5348: &Verdicts, balanced: &Verdicts, above: u64, series: Vec<Stretch>) -> Rates {
    Rates {
        share_median: rfc5348.shares.median(),
        share_most: rfc5348.shares.most(),
        above,
        stretches: rfc5348.shares.count(),
        limits: rfc5348.limits.clone(),
        balanced_share_median: balanced.shares.median(),
        balanced_limits: balanced.limits.clone(),
        series,
    }
}

/// A sender by one profile, and the terms that limited its rate.
#[derive(Debug, Clone)]
struct Judge {
    sender: Sender,
    verdicts: Verdicts,
}

impl Judge {
    fn new(profile: Profile) -> Self {
        let settings = Settings {
            circuit_breaker: CircuitBreaker::Off,
            no_feedback_floor: NO_FEEDBACK_FLOOR,
            ..Settings::for_profile(profile)
        };
        let config = settings.validate().unwrap_or_default();
        Self { sender: Sender::new(&config), verdicts: Verdicts::default() }
    }

    /// The allowed rate, in bytes/s; `None` while there is no bound.
    fn allowed(&self) -> Option<Rate> {
        Some(self.sender.allowed_rate()).filter(|allowed| !allowed.is_zero() && !allowed.is_infinite())
    }

    fn on_share(&mut self, share: f64) -> &'static str {
        self.verdicts.on_share(share, self.sender.rate_reason().into())
    }
}

/// Senders by RFC 5348 and by `balanced` that hear what the real one hears.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    rfc5348: Judge,
    balanced: Judge,
    coming: VecDeque<Effect>,
    /// Begin of the current stretch and the data since then, from the first report on.
    since: Option<Instant>,
    bytes: u64,
    last: Option<Effect>,
    above: u64,
    series: Series<Stretch>,
}

impl Model {
    pub(crate) fn new() -> Self {
        Self {
            rfc5348: Judge::new(Profile::Rfc5348),
            balanced: Judge::new(Profile::Balanced),
            coming: VecDeque::new(),
            since: None,
            bytes: 0,
            last: None,
            above: 0,
            series: Series::new(STRETCHES),
        }
    }

    fn senders(&mut self) -> [&mut Sender; 2] {
        [&mut self.rfc5348.sender, &mut self.balanced.sender]
    }

    /// A data packet passes the tap.
    pub(crate) fn on_sent(&mut self, at: Instant, size: usize) {
        self.advance(at);
        for sender in self.senders() {
            sender.on_sent(at, saturating::<u32>(size));
        }
        self.bytes += size as u64;
    }

    /// A report passes the tap.
    pub(crate) fn on_report(&mut self, at: Instant, effect: Effect) {
        self.advance(at);
        if self.coming.len() == ON_THE_WAY {
            self.coming.pop_front();
        }
        self.coming.push_back(effect);
        self.advance(at);
    }

    fn advance(&mut self, now: Instant) {
        while let Some(effect) = self.coming.front().copied().filter(|effect| effect.at <= now) {
            self.coming.pop_front();
            self.apply(effect);
        }
        self.senders().into_iter().for_each(|sender| sender.handle_timeout(now));
    }

    fn apply(&mut self, effect: Effect) {
        self.senders().into_iter().for_each(|sender| sender.handle_timeout(effect.at));
        self.end_stretch(&effect);
        let feedback = Feedback {
            newest_sent_at: Instant::from_nanos(effect.at.as_nanos().saturating_sub(effect.rtt.as_nanos())),
            elapsed: Duration::ZERO,
            receive_rate: effect.receive_rate,
            loss_event_rate: effect.p,
            losses: LossReport::NoNewLoss,
            count: PacketCount::Unknown,
        };
        for sender in self.senders() {
            sender.on_feedback(effect.at, feedback);
        }
        self.last = Some(effect);
    }

    /// Ends the stretch if it lasted a round-trip time; the first begins with the first report.
    fn end_stretch(&mut self, effect: &Effect) {
        let (Some(since), Some(last)) = (self.since, self.last) else {
            (self.since, self.bytes) = (Some(effect.at), 0);
            return;
        };
        let time = effect.at.saturating_since(since);
        if time < effect.rtt || time.is_zero() {
            return;
        }
        let sent = self.bytes as f64 / time.as_secs_f64();
        (self.since, self.bytes) = (Some(effect.at), 0);
        let (Some(allowed), Some(balanced)) = (self.rfc5348.allowed(), self.balanced.allowed()) else {
            return;
        };
        let segment = self.rfc5348.sender.segment_size();
        // A rate is quantised by a packet in a stretch.
        let packet = segment / time.as_secs_f64();
        self.above += u64::from(sent > allowed.bytes_per_sec() + packet);
        let limit = self.rfc5348.on_share(sent / allowed.bytes_per_sec());
        let balanced_limit = self.balanced.on_share(sent / balanced.bytes_per_sec());
        let equation = |p: Probability| {
            (p > Probability::ZERO).then(|| Equation::default().rate(segment, last.rtt, p).bits_per_sec())
        };
        self.series.push(Stretch {
            time_s: effect.at.as_secs_f64(),
            sent_bps: sent * 8.0,
            allowed_bps: allowed.bits_per_sec(),
            equation_bps: equation(last.p),
            equation_by_arrivals_bps: last.by_arrivals.map(Probability::saturating).and_then(equation),
            twice_receive_rate_bps: (!last.receive_rate.is_zero())
                .then(|| last.receive_rate.bits_per_sec() * 2.0),
            balanced_bps: balanced.bits_per_sec(),
            r_s: last.rtt.as_secs_f64(),
            queueing_s: effect.queueing,
            window_bytes: None,
            lost: None,
            limit: limit.to_owned(),
            balanced_limit: balanced_limit.to_owned(),
        });
    }

    /// The rates so far.
    pub(crate) fn rates(&self) -> Rates {
        rates(&self.rfc5348.verdicts, &self.balanced.verdicts, self.above, self.series.items().to_vec())
    }
}

/// A limit in words.
const fn limit_text(limit: Limit) -> &'static str {
    match limit {
        Limit::SlowStart => "slow start",
        Limit::Equation => "throughput equation",
        Limit::ReceiveRate => "twice the receive rate",
        Limit::NoFeedback => "nofeedback timer",
        Limit::Floor => "a packet in 64 s",
        Limit::Application => "application",
        _ => "another rule",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loopback interface: R is 40 µs, reports are 2 ms apart, four packets to a report. A sender
    /// without losses that is limited by its data keeps the initial window in each round-trip time
    /// (RFC 5348 §4.3 step 4).
    #[test]
    fn reports_rarer_than_round_trips_do_not_let_the_timer_expire() {
        let rtt = Duration::from_micros(40);
        let mut model = Model::new();
        for n in 1..2000_u64 {
            let at = Instant::from_nanos(n * 500_000);
            model.on_sent(at, 1316);
            if n.is_multiple_of(4) {
                let receive_rate = Rate::from_bytes_per_sec(4.0 * 1316.0 / 2e-3);
                let p = Probability::ZERO;
                let at = at + rtt;
                let queueing = None;
                model.on_report(at, Effect { at, rtt, p, by_arrivals: None, receive_rate, queueing });
            }
        }
        let rates = model.rates();
        let initial_bps = 4380.0 * 8.0 / rtt.as_secs_f64();
        let last = rates.series.last().expect("stretches");
        assert!(last.allowed_bps >= 0.8 * initial_bps, "{last:?}");
        assert_eq!(rates.limits.get("nofeedback timer"), None, "{:?}", rates.limits);
    }
}
