//! The circuit breaker of RFC 8083, on TFRC's feedback instead of RTCP's.
//!
//! RTCP reports come every few seconds, TFRC's every round-trip time. So feedback is gathered into
//! reporting intervals of max(`interval`, R), the RFC's T_dr, and its rules are applied to those.
//! The fraction lost of an interval is that of `fraction.rs`, not TFRC's loss event rate. T_f, the
//! framing interval, is the longest gap between packets in an interval, and G is 1: a rate control
//! may change the rate with every packet.

#[cfg(feature = "schema")]
use tfrc_units::schema::{JsonSchema, Serialize};
use tfrc_units::{Duration, Instant, Probability, Rate, f64_from_u64, saturating, u64_from_f64};

use crate::config::{ConfigError, Guarantee};
use crate::equation::{Equation, EquationForm};
use crate::guard::fraction::Sums;
use crate::guard::{AfterStop, Heard, Stopped, Trip};
use crate::ring::Ring;

/// CB_INTERVAL is at most 15 intervals of one second.
const MOST_INTERVALS: usize = 16;

/// Circuit breaker of RFC 8083: on, off, or on with a guarantee only.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum CircuitBreaker {
    /// Always.
    Always(BreakerLimits),
    /// Never. With a guarantee the network must then police the flow.
    Off,
    /// If there is a guarantee: without one the rate control itself goes down to a packet in 64 s.
    WithGuarantee(BreakerLimits),
}

/// The constants of RFC 8083.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub struct BreakerLimits {
    /// T_d, the reporting interval: 5 s (RFC 3550 §6.2). At least one second.
    pub interval: Duration,
    /// k, silent reports until a media timeout: 5 (§4.2). At least 1.
    pub silent_reports: u8,
    /// Multiple of TCP's rate that is too much: 10 (§4.3). Above zero.
    pub factor: f64,
    /// TCP's equation, with t_RTO = 4R: the full form. RFC 8083 §4.3 recommends the square-root
    /// form for being simple, and allows the full one. The square-root form leaves out timeouts, so
    /// that at 30 % loss a flow of 22 packets in a round-trip time is still within ten times TCP's
    /// rate, and a voice flow always.
    pub form: EquationForm,
}

impl Default for BreakerLimits {
    fn default() -> Self {
        Self { interval: Duration::from_secs(5), silent_reports: 5, factor: 10.0, form: EquationForm::Tfrc }
    }
}

impl Default for CircuitBreaker {
    fn default() -> Self {
        Self::WithGuarantee(BreakerLimits::default())
    }
}

impl CircuitBreaker {
    /// The limits in force with `guarantee`; `None` if there is no circuit breaker then.
    #[must_use]
    pub fn limits(self, guarantee: Guarantee) -> Option<BreakerLimits> {
        match self {
            Self::Always(limits) => Some(limits),
            Self::WithGuarantee(limits) if guarantee != Guarantee::None => Some(limits),
            Self::WithGuarantee(_) | Self::Off => None,
        }
    }

    pub(crate) fn validate(self) -> Result<(), ConfigError> {
        let (Self::Always(limits) | Self::WithGuarantee(limits)) = self else { return Ok(()) };
        let ok = limits.interval >= Duration::from_secs(1)
            && limits.silent_reports >= 1
            && limits.factor > 0.0
            && limits.factor.is_finite();
        if ok { Ok(()) } else { Err(ConfigError::CircuitBreaker) }
    }
}

/// Measurements of one reporting interval.
#[derive(Debug, Clone, Copy)]
struct Interval {
    began: Instant,
    packets: u64,
    bytes: u64,
    losses: Sums,
    /// Until the latest feedback.
    seconds: f64,
    longest_gap: Duration,
    arrivals: Arrivals,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrivals {
    None,
    Some,
}

impl Interval {
    fn new(began: Instant) -> Self {
        Self {
            began,
            packets: 0,
            bytes: 0,
            losses: Sums::default(),
            seconds: 0.0,
            longest_gap: Duration::ZERO,
            arrivals: Arrivals::None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Breaker {
    limits: BreakerLimits,
    current: Option<Interval>,
    last_sent: Option<Instant>,
    last_heard: Option<Instant>,
    newest_sent_at: Option<Instant>,
    /// When a feedback timeout strikes: set by the first packet after feedback or after two
    /// intervals without packets.
    unheard: Option<Unheard>,
    past: Ring<Interval, MOST_INTERVALS>,
    /// Intervals seen, also those no longer in `past`.
    seen: u64,
    /// The result of the congestion rule at the ends of the last intervals: the lowest bit is that
    /// of the newest.
    congested: u32,
    silent: u64,
    /// MEDIA_TIMEOUT; it only grows while the silence lasts.
    media_timeout: u64,
}

#[derive(Debug, Clone, Copy)]
struct Unheard {
    since: Instant,
    interval: Duration,
}

impl Unheard {
    fn deadline(self) -> Instant {
        self.since + self.interval * 3
    }
}

impl Breaker {
    pub(crate) fn new(limits: BreakerLimits) -> Self {
        Self {
            limits,
            current: None,
            last_sent: None,
            last_heard: None,
            newest_sent_at: None,
            unheard: None,
            past: Ring::new(),
            seen: 0,
            congested: 0,
            silent: 0,
            media_timeout: 0,
        }
    }

    pub(crate) fn afresh(&self) -> Self {
        Self { newest_sent_at: self.newest_sent_at, ..Self::new(self.limits) }
    }

    pub(crate) fn on_sent(&mut self, now: Instant, size: u32, spacing: Duration) {
        let gap = self.last_sent.map_or(Duration::ZERO, |then| now.saturating_since(then));
        self.last_sent = Some(now);
        let current = self.current.get_or_insert(Interval::new(now));
        current.packets += 1;
        current.bytes += u64::from(size);
        current.longest_gap = current.longest_gap.max(gap);
        // §4.1: three reporting intervals, or three packets' time for a flow slower than that.
        let interval = self.limits.interval.max(spacing);
        let unheard = match self.unheard {
            Some(unheard) if gap <= unheard.interval.max(interval) * 2 => unheard,
            _ => Unheard { since: now, interval },
        };
        self.unheard = Some(Unheard { interval: unheard.interval.max(interval), ..unheard });
    }

    /// The next time of [`Breaker::on_time`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.unheard.map(Unheard::deadline)
    }

    pub(crate) fn on_time(&mut self, now: Instant) -> Option<Stopped> {
        let unheard = self.unheard.filter(|unheard| now >= unheard.deadline())?;
        if self.last_sent.is_none_or(|then| now.saturating_since(then) > unheard.interval * 2) {
            // It has fallen silent itself: nothing to answer to, and the last packets may have been
            // lost by chance.
            self.unheard = None;
            return None;
        }
        Some(stopped(Trip::FeedbackTimeout, now, unheard.interval * 3))
    }

    /// A report, and what it adds to the sums of losses.
    pub(crate) fn on_feedback(&mut self, now: Instant, heard: Heard, losses: Sums) -> Option<Stopped> {
        self.unheard = None;
        let advanced = self.newest_sent_at.is_none_or(|newest| heard.newest_sent_at > newest);
        self.newest_sent_at = self.newest_sent_at.max(Some(heard.newest_sent_at));
        let current = self.current.as_mut()?;
        let since = self.last_heard.unwrap_or(current.began).max(current.began);
        let seconds = now.saturating_since(since).as_secs_f64();
        current.losses.add(losses);
        current.seconds += seconds;
        if advanced {
            current.arrivals = Arrivals::Some;
        }
        self.last_heard = Some(now);
        let reporting = self.limits.interval.max(heard.rtt);
        if now.saturating_since(current.began) < reporting {
            return None;
        }
        let complete = *current;
        self.current = None;
        self.seen += 1;
        self.past.push(complete);
        self.media(now, complete, reporting, heard.rtt)
            .or_else(|| self.congestion(now, complete, reporting, heard))
    }

    /// §4.2: MEDIA_TIMEOUT intervals in a row without arrivals.
    fn media(
        &mut self,
        now: Instant,
        complete: Interval,
        reporting: Duration,
        rtt: Duration,
    ) -> Option<Stopped> {
        if complete.arrivals == Arrivals::Some {
            self.silent = 0;
            self.media_timeout = 0;
            return None;
        }
        let slowest = complete.longest_gap.max(rtt).max(reporting);
        let timeout = ceil(f64::from(self.limits.silent_reports) * ratio(slowest, reporting));
        self.media_timeout = self.media_timeout.max(timeout);
        self.silent += 1;
        (self.silent >= self.media_timeout).then(|| stopped(Trip::MediaTimeout, now, reporting * self.silent))
    }

    /// §4.3, in two disjoint stretches of CB_INTERVAL intervals with one interval between them
    /// (ours: docs/models/circuit-breaker.md): no shorter burst of losses has a part in both.
    fn congestion(
        &mut self,
        now: Instant,
        complete: Interval,
        reporting: Duration,
        heard: Heard,
    ) -> Option<Stopped> {
        let needed = (complete.longest_gap * 10).max(heard.rtt * 10).max(reporting * 3);
        let most = Duration::from_secs(15).max(reporting * 3);
        let intervals = ceil(ratio(needed.min(most), reporting));
        let congested = self.is_congested(intervals, reporting, heard);
        self.congested = self.congested << 1 | u32::from(congested);
        let before = self.congested >> (intervals + 1) & 1 == 1;
        (congested && before).then(|| stopped(Trip::Congestion, now, reporting * (2 * intervals + 1)))
    }

    /// §4.3: over the last CB_INTERVAL intervals more than `factor` times TCP's rate at the mean
    /// fraction lost, each interval's weighted by its duration.
    fn is_congested(&self, intervals: u64, reporting: Duration, heard: Heard) -> bool {
        if self.seen < intervals {
            return false;
        }
        let (mut packets, mut bytes, mut weighted, mut seconds) = (0u64, 0u64, 0.0, 0.0);
        for past in self.past.iter().rev().take(saturating::<usize>(intervals)) {
            packets += past.packets;
            bytes += past.bytes;
            weighted += past.losses.fraction() * past.seconds;
            seconds += past.seconds;
        }
        // Too few packets say nothing of the loss.
        if f64_from_u64(packets) * reporting.as_secs_f64() < seconds {
            return false;
        }
        let tcp = Equation { form: self.limits.form, ..Equation::default() };
        let x = tcp.rate(heard.segment, heard.rtt, Probability::saturating(weighted / seconds));
        let sent = Rate::from_bytes_per_sec(f64_from_u64(bytes) / seconds);
        sent > x * self.limits.factor
    }
}

/// §4.5: not automatically, and not before as much time has passed as it took to strike.
fn stopped(trip: Trip, at: Instant, evidence: Duration) -> Stopped {
    Stopped { trip, at, resume_at: at + evidence, after: AfterStop::Terminate }
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn ceil(x: f64) -> u64 {
    u64_from_f64(libm::ceil(x))
}
