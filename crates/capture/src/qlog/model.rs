//! The rates that RFC 5348 and `balanced` would have allowed this end, fed with what its peer
//! acknowledged, next to what it sent.

use tfrc::advisor::{Ack, Hold, Losses};
use tfrc::equation::Equation;
use tfrc::guard::CircuitBreaker;
use tfrc::study::Profile;
use tfrc::{Advisor, Settings};
use tfrc_units::{Duration, Ecn, Instant, Probability};

use crate::bounded::Series;
use crate::document::{Rates, Stretch};
use crate::model::{STRETCHES, Verdicts};

/// Packets remembered until their fate is known: 390 Mbit/s of 1200 bytes at 100 ms.
pub(super) const REMEMBERED: usize = 4096;
/// The longest time for which a receiver holds an acknowledgement back: `max_ack_delay` of RFC 9000
/// §18.2, whose default is 25 ms.
const ACK_DELAY: Duration = Duration::from_millis(25);

#[derive(Debug)]
struct Judge {
    advisor: Box<Advisor<REMEMBERED>>,
    verdicts: Verdicts,
}

impl Judge {
    fn new(profile: Profile) -> Self {
        let settings = Settings { circuit_breaker: CircuitBreaker::Off, ..Settings::for_profile(profile) };
        let config = settings.validate().unwrap_or_default();
        let mut advisor = Box::new(Advisor::with_capacity(&config, ACK_DELAY));
        advisor.set_losses(Losses::ByTransport);
        Self { advisor, verdicts: Verdicts::default() }
    }
}

/// State of the transport when a stretch ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) window: Option<u64>,
    /// Smoothed round-trip time by the transport.
    pub(super) rtt: Option<Duration>,
    /// Seconds above the least round trip.
    pub(super) queueing: Option<f64>,
}

/// Senders by both profiles that hear what the real one hears.
#[derive(Debug)]
pub(super) struct Model {
    rfc5348: Judge,
    balanced: Judge,
    since: Option<Instant>,
    bytes: u64,
    lost: u64,
    above: u64,
    series: Series<Stretch>,
}

impl Model {
    pub(super) fn new() -> Self {
        Self {
            rfc5348: Judge::new(Profile::Rfc5348),
            balanced: Judge::new(Profile::Balanced),
            since: None,
            bytes: 0,
            lost: 0,
            above: 0,
            series: Series::new(STRETCHES),
        }
    }

    fn advisors(&mut self) -> [&mut Advisor<REMEMBERED>; 2] {
        [&mut self.rfc5348.advisor, &mut self.balanced.advisor]
    }

    pub(super) fn on_sent(&mut self, at: Instant, id: u64, size: u32) {
        for advisor in self.advisors() {
            advisor.handle_timeout(at);
            advisor.on_sent(at, id, size);
        }
        self.bytes += u64::from(size);
    }

    pub(super) fn on_acked(&mut self, id: u64, ecn: Ecn) {
        for advisor in self.advisors() {
            advisor.on_acked(Ack { id, arrived_at: None, ecn });
        }
    }

    pub(super) fn on_lost(&mut self, id: u64) {
        for advisor in self.advisors() {
            advisor.on_lost(id);
        }
        self.lost += 1;
    }

    /// All of an acknowledgement has been told.
    pub(super) fn on_report(&mut self, at: Instant, reading: Reading) {
        self.end_stretch(at, reading);
        let hold = reading.rtt.map_or(Hold::Unknown, Hold::RoundTrip);
        for advisor in self.advisors() {
            advisor.on_report(at, hold);
            advisor.handle_timeout(at);
        }
    }

    pub(super) fn loss_events(&self) -> u64 {
        self.rfc5348.advisor.loss_events()
    }

    pub(super) fn loss_event_rate(&self) -> Probability {
        self.rfc5348.advisor.loss_event_rate()
    }

    pub(super) fn rtt(&self) -> Option<Duration> {
        self.rfc5348.advisor.rtt()
    }

    /// Ends the stretch if it lasted a round-trip time; the first begins with the first report.
    fn end_stretch(&mut self, at: Instant, reading: Reading) {
        let Some(rtt) = self.rtt() else { return };
        let Some(since) = self.since else {
            (self.since, self.bytes, self.lost) = (Some(at), 0, 0);
            return;
        };
        let time = at.saturating_since(since);
        if time < rtt || time.is_zero() {
            return;
        }
        let sent = self.bytes as f64 / time.as_secs_f64();
        let lost = self.lost;
        (self.since, self.bytes, self.lost) = (Some(at), 0, 0);
        let allowed = self.rfc5348.advisor.allowed_rate();
        let balanced = self.balanced.advisor.allowed_rate();
        if [allowed, balanced].iter().any(|rate| rate.is_zero() || rate.is_infinite()) {
            return;
        }
        let segment = self.rfc5348.advisor.sender().segment_size();
        self.above += u64::from(sent > allowed.bytes_per_sec() + segment / time.as_secs_f64());
        let limit = |judge: &mut Judge, share: f64| {
            let reason = judge.advisor.sender().rate_reason();
            judge.verdicts.on_share(share, reason.into())
        };
        let by_rfc5348 = limit(&mut self.rfc5348, sent / allowed.bytes_per_sec());
        let by_balanced = limit(&mut self.balanced, sent / balanced.bytes_per_sec());
        let p = self.loss_event_rate();
        let received = self.rfc5348.advisor.sender().latest_feedback().map(|feedback| feedback.receive_rate);
        let received = received.filter(|rate| !rate.is_zero() && !rate.is_infinite());
        self.series.push(Stretch {
            time_s: at.as_secs_f64(),
            sent_bps: sent * 8.0,
            allowed_bps: allowed.bits_per_sec(),
            equation_bps: (p > Probability::ZERO)
                .then(|| Equation::default().rate(segment, rtt, p).bits_per_sec()),
            equation_by_arrivals_bps: None,
            twice_receive_rate_bps: received.map(|rate| rate.bits_per_sec() * 2.0),
            balanced_bps: balanced.bits_per_sec(),
            r_s: rtt.as_secs_f64(),
            queueing_s: reading.queueing,
            window_bytes: reading.window,
            lost: Some(lost),
            limit: by_rfc5348.to_owned(),
            balanced_limit: by_balanced.to_owned(),
        });
    }

    pub(super) fn rates(&self) -> Rates {
        crate::model::rates(
            &self.rfc5348.verdicts,
            &self.balanced.verdicts,
            self.above,
            self.series.items().to_vec(),
        )
    }
}
