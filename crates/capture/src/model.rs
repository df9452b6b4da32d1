//! The rate that RFC 5348 allowed a sender, by the reports that went to it, next to what it sent.

use std::collections::{BTreeMap, VecDeque};

use tfrc::equation::Equation;
use tfrc::guard::CircuitBreaker;
use tfrc::{Config, Feedback, Limit, LossReport, PacketCount, Sender, Settings};
use tfrc_units::{Duration, Instant, Probability, Rate, saturating};

use crate::bounded::{Samples, Series};
use crate::document::{Rates, Stretch};

/// Stretches that are kept.
const STRETCHES: usize = 400;
/// Reports on their way to the sender.
const ON_THE_WAY: usize = 64;

/// A report, and when its effect reaches the tap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effect {
    pub(crate) at: Instant,
    pub(crate) rtt: Duration,
    pub(crate) p: Probability,
    /// p by RFC 5348 from the arrivals, where the tap sees them.
    pub(crate) by_arrivals: Option<f64>,
    pub(crate) receive_rate: Rate,
}

/// A sender by RFC 5348 that hears what the real one hears.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    sender: Sender,
    coming: VecDeque<Effect>,
    /// Begin of the current stretch and the data since then, from the first report on.
    since: Option<Instant>,
    bytes: u64,
    last: Option<Effect>,
    shares: Samples,
    above: u64,
    limits: BTreeMap<String, u64>,
    series: Series<Stretch>,
}

impl Model {
    pub(crate) fn new() -> Self {
        let settings = Settings { circuit_breaker: CircuitBreaker::Off, ..Settings::default() };
        let config: Config = settings.validate().unwrap_or_default();
        Self {
            sender: Sender::new(&config),
            coming: VecDeque::new(),
            since: None,
            bytes: 0,
            last: None,
            shares: Samples::new(),
            above: 0,
            limits: BTreeMap::new(),
            series: Series::new(STRETCHES),
        }
    }

    /// A data packet passes the tap.
    pub(crate) fn on_sent(&mut self, at: Instant, size: usize) {
        self.advance(at);
        self.sender.on_sent(at, saturating::<u32>(size));
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
        self.sender.handle_timeout(now);
    }

    fn apply(&mut self, effect: Effect) {
        self.sender.handle_timeout(effect.at);
        self.end_stretch(&effect);
        self.sender.on_feedback(
            effect.at,
            Feedback {
                newest_sent_at: Instant::from_nanos(
                    effect.at.as_nanos().saturating_sub(effect.rtt.as_nanos()),
                ),
                elapsed: Duration::ZERO,
                receive_rate: effect.receive_rate,
                loss_event_rate: effect.p,
                losses: LossReport::NoNewLoss,
                count: PacketCount::Unknown,
            },
        );
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
        let allowed = self.sender.allowed_rate();
        let sent = self.bytes as f64 / time.as_secs_f64();
        (self.since, self.bytes) = (Some(effect.at), 0);
        if allowed.is_zero() || allowed.is_infinite() {
            return;
        }
        let share = sent / allowed.bytes_per_sec();
        let segment = self.sender.segment_size();
        // A rate is quantised by a packet in a stretch.
        let packet = segment / time.as_secs_f64();
        let is_above = sent > allowed.bytes_per_sec() + packet;
        let limit = match self.sender.rate_reason().into() {
            _ if share < 0.9 => Limit::Application,
            limit => limit,
        };
        self.shares.push(share);
        self.above += u64::from(is_above);
        *self.limits.entry(limit_text(limit).to_owned()).or_default() += 1;
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
            r_s: last.rtt.as_secs_f64(),
            limit: limit_text(limit).to_owned(),
        });
    }

    /// The rates so far.
    pub(crate) fn rates(&self) -> Rates {
        Rates {
            share_median: self.shares.median(),
            share_most: self.shares.most(),
            above: self.above,
            stretches: self.shares.count(),
            limits: self.limits.clone(),
            series: self.series.items().to_vec(),
        }
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
