//! Times, marks and reports as C has them.

use tfrc::FeedbackReason;
use tfrc::config::RateCap;
use tfrc_units::{Duration, Instant, Probability, Rate};

/// A time that does not come, or a duration that is not known.
pub const NEVER: u64 = u64::MAX;

/// The ECN codepoint of a packet's IP header (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    NotEct = 0,
    /// ECT(1).
    Ect1 = 1,
    /// ECT(0).
    Ect0 = 2,
    /// Congestion was experienced: counts like a loss.
    Ce = 3,
}

/// The TCP to be friendly to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Friend {
    /// Reno, the TCP of RFC 5348.
    Reno = 0,
    /// CUBIC (RFC 9438).
    Cubic = 1,
}

/// The receiver's report (RFC 5348 §3.2.2), to be carried to the sender in packets of your own.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Report {
    /// The highest number received.
    pub newest_number: u64,
    /// How long ago that packet arrived, ns.
    pub elapsed: u64,
    /// X_recv, bit/s; zero in the first report.
    pub receive_rate_bps: f64,
    /// p, 0 to 1.
    pub loss_event_rate: f64,
    /// Loss events found since the beginning.
    pub loss_events: u64,
    /// Data packets up to `newest_number`.
    pub packets: u64,
    /// Those of them that came with a mark or have not come.
    pub lost: u64,
}

pub(crate) const fn instant(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

/// A duration that may be unknown.
pub(crate) fn known(ns: u64) -> Option<Duration> {
    (ns != NEVER).then(|| Duration::from_nanos(ns))
}

/// A time that may never come.
pub(crate) fn time(at: Option<Instant>) -> u64 {
    at.map_or(NEVER, Instant::as_nanos)
}

/// A rate from C: finite, not below zero.
pub(crate) fn rate(bps: f64) -> Option<Rate> {
    (bps.is_finite() && bps >= 0.0).then(|| Rate::from_bits_per_sec(bps))
}

/// A limit from C: a rate, or infinity for none.
pub(crate) fn cap(bps: f64) -> Option<RateCap> {
    if bps == f64::INFINITY { Some(RateCap::Unlimited) } else { rate(bps).map(RateCap::AtMost) }
}

/// A friend from its number; there are no others.
pub(crate) const fn friend(number: u8) -> Option<tfrc::equation::Friend> {
    match number {
        0 => Some(tfrc::equation::Friend::Reno),
        1 => Some(tfrc::equation::Friend::Cubic),
        _ => None,
    }
}

/// A codepoint from the two low bits of an integer; larger ones are none.
pub(crate) fn ecn(bits: u8) -> Option<tfrc_units::Ecn> {
    (bits <= 3).then(|| tfrc_units::Ecn::from_bits(bits))
}

impl From<tfrc::Report> for Report {
    fn from(report: tfrc::Report) -> Self {
        Self {
            newest_number: report.newest_seq,
            elapsed: report.elapsed.as_nanos(),
            receive_rate_bps: report.receive_rate.bits_per_sec(),
            loss_event_rate: report.loss_event_rate.get(),
            loss_events: report.loss_events,
            packets: report.packets,
            lost: report.lost,
        }
    }
}

impl Report {
    /// As the core has it; `None` if a rate is none.
    pub(crate) fn checked(&self) -> Option<tfrc::Report> {
        Some(tfrc::Report {
            newest_seq: self.newest_number,
            elapsed: Duration::from_nanos(self.elapsed),
            receive_rate: rate(self.receive_rate_bps)?,
            loss_event_rate: Probability::new(self.loss_event_rate).ok()?,
            loss_events: self.loss_events,
            packets: self.packets,
            lost: self.lost,
            // The sender asks what was lost, not why the report was made.
            reason: FeedbackReason::Regular,
        })
    }
}
