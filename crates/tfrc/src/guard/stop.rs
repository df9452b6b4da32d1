//! The stop rule of RFC 3714 §5: a flow that cannot send less than some rate stops while TCP, at
//! the same loss rate, would send less. The loss rate is that of packets, as the RFC has it
//! (`fraction.rs`).

#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema};
use tfrc_units::{Duration, Instant, Probability, Rate, f64_from_u64};

use crate::config::ConfigError;
use crate::equation::{Equation, RtoPolicy};
use crate::guard::fraction::Sums;
use crate::guard::{Heard, Stopped, Trip};

/// The TCP to compare with: 1460 bytes of data and 40 of headers (RFC 3714 §5).
const TCP_PACKET: f64 = 1500.0;

/// The least t_RTO of that TCP (RFC 3714 §5.1, §5.2).
const LEAST_RTO: Duration = Duration::from_millis(100);

/// Stop rule of RFC 3714, for an application with a least rate.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum StopRule {
    /// No least rate.
    Off,
    /// The application cannot send less than this.
    Below(MinimumRate),
}

/// A least rate, and how long and how far it may be missed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MinimumRate {
    /// N, data in bytes per second.
    pub rate: Rate,
    /// M, packets per second.
    pub packets_per_second: f64,
    /// Headers of a packet in bytes; 40 in RFC 3714.
    pub header: u32,
    /// How long the loss rate is measured before it counts as persistent; §5.3 suggests at least 5
    /// s.
    pub period: Duration,
    /// Factor by which the loss rate must exceed the threshold to exceed it significantly: 1.1 is a
    /// tenth more. Ours, the RFC names none. At least 1.
    pub margin: f64,
    /// The restart after a stop.
    pub after: AfterStop,
}

/// Restart after a stop: automatic after a pause, or by the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum AfterStop {
    /// A pause after which sending goes on, so long that the mean over measurement and pause is
    /// what TCP would have sent (§5.3).
    Suspend,
    /// None until the application calls [`resume`](crate::Sender::resume).
    Terminate,
}

impl MinimumRate {
    /// `rate` bytes of data a second in `packets_per_second` packets, with the RFC's 40 bytes of
    /// headers and 5 s, a margin of a tenth, and a pause.
    #[must_use]
    pub const fn new(rate: Rate, packets_per_second: f64) -> Self {
        Self {
            rate,
            packets_per_second,
            header: 40,
            period: Duration::from_secs(5),
            margin: 1.1,
            after: AfterStop::Suspend,
        }
    }

    /// B = N + 40·M, on the wire.
    #[must_use]
    pub fn on_the_wire(&self) -> Rate {
        Rate::from_bytes_per_sec(self.rate.bytes_per_sec() + f64::from(self.header) * self.packets_per_second)
    }

    /// The loss rate up to which a TCP would send as much, its t_RTO being 2R, at least 0.1 s (RFC
    /// 3714 §5.1, RFC 4828 §5): 1 if it always would.
    #[must_use]
    pub fn threshold(&self, rtt: Duration) -> Probability {
        tcp(rtt).loss_event_rate(TCP_PACKET, rtt, self.on_the_wire()).unwrap_or(Probability::ONE)
    }
}

/// RFC 3714's TCP, in bytes on the wire for segments of [`TCP_PACKET`]. Its minimum RTO is 0.1 s
/// (RFC 3714 §5).
fn tcp(rtt: Duration) -> Equation {
    Equation { rto: RtoPolicy::Fixed((rtt * 2).max(LEAST_RTO)), ..Equation::default() }
}

impl StopRule {
    pub(crate) const fn minimum(self) -> Option<MinimumRate> {
        match self {
            Self::Off => None,
            Self::Below(minimum) => Some(minimum),
        }
    }

    pub(crate) fn validate(self) -> Result<(), ConfigError> {
        let Some(minimum) = self.minimum() else { return Ok(()) };
        let ok = !minimum.on_the_wire().is_zero()
            && !minimum.on_the_wire().is_infinite()
            && minimum.packets_per_second >= 0.0
            && !minimum.period.is_zero()
            && minimum.margin >= 1.0
            && minimum.margin.is_finite();
        if ok { Ok(()) } else { Err(ConfigError::StopRule) }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Stop {
    minimum: MinimumRate,
    window: Option<Window>,
}

/// One measurement of the loss rate.
#[derive(Debug, Clone, Copy)]
struct Window {
    began: Instant,
    losses: Sums,
    bytes: f64,
}

impl Stop {
    pub(crate) const fn new(minimum: MinimumRate) -> Self {
        Self { minimum, window: None }
    }

    pub(crate) const fn afresh(&self) -> Self {
        Self::new(self.minimum)
    }

    pub(crate) fn on_sent(&mut self, now: Instant, size: u32) {
        let window = self.window.get_or_insert(Window { began: now, losses: Sums::default(), bytes: 0.0 });
        window.bytes += f64_from_u64(u64::from(size) + u64::from(self.minimum.header));
    }

    pub(crate) fn on_feedback(&mut self, now: Instant, heard: Heard, losses: Sums) -> Option<Stopped> {
        let window = self.window.as_mut()?;
        window.losses.add(losses);
        let lasted = now.saturating_since(window.began);
        if lasted < self.minimum.period {
            return None;
        }
        let complete = *window;
        self.window = None;
        let p = complete.losses.fraction();
        if p <= self.minimum.margin * self.minimum.threshold(heard.rtt).get() {
            return None;
        }
        let least = self.minimum.on_the_wire() * lasted;
        let allowed = tcp(heard.rtt).rate(TCP_PACKET, heard.rtt, Probability::saturating(p));
        let pause = allowed.time_for(complete.bytes.max(least)).saturating_sub(lasted);
        Some(Stopped { trip: Trip::DropRate, at: now, resume_at: now + pause, after: self.minimum.after })
    }
}
