//! The packet size with which a flow of small packets is compared, and how its losses count.

#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema};
use tfrc_units::{Duration, Probability, Rate};

use crate::equation::Equation;
use crate::study::{ShortIntervals, SizeCorrection};

/// Treatment of packets smaller than TCP's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PacketSize {
    /// The flow is compared with a TCP of its own packet size (RFC 5348 §4.1).
    #[default]
    Own,
    /// TFRC-SP (RFC 4828 §3): a TCP of large packets is the measure, headers are paid for, losses
    /// in short intervals all count.
    TfrcSp(TfrcSp),
    /// A reference size in the equation and a corrected loss measurement (Widmer, Boutremans and Le
    /// Boudec 2004; Vasallo 2000). Headers are not charged.
    Reference {
        /// S, the packet size of the flow to compare with, in bytes. At least 1.
        segment: u32,
        /// Conversion of the losses of small packets into the losses packets of this size would
        /// see.
        correction: SizeCorrection,
    },
}

/// The parameters of TFRC-SP; the default is RFC 4828's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TfrcSp {
    /// s of the equation (RFC 4828 §3, §4.5).
    pub nominal: NominalSegment,
    /// H, bytes of network and transport headers on a packet: 40; CCID 4 takes 36 or 32
    /// (RFC 5622 §5), 44 or 40 over UDP.
    pub header: u32,
    /// Minimum time between packets.
    pub min_interval: MinInterval,
    /// How losses in short loss intervals count.
    pub short_intervals: ShortIntervals,
}

impl Default for TfrcSp {
    fn default() -> Self {
        Self {
            nominal: NominalSegment::Default,
            header: 40,
            min_interval: MinInterval::Each(Duration::from_millis(10)),
            short_intervals: ShortIntervals::TwoRoundTrips,
        }
    }
}

/// The nominal segment size of TFRC-SP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NominalSegment {
    /// 1460 bytes: the path MTU is not known.
    Default,
    /// The maximum segment size that follows from a known path MTU, where it is below 1460 bytes:
    /// RFC 4828 §3 recommends it, and requires it below 536. At least 1.
    PathMss(u32),
}

impl NominalSegment {
    /// s in bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::PathMss(mss) if mss < 1460 => mss,
            Self::Default | Self::PathMss(_) => 1460,
        }
    }
}

/// The Min Interval of TFRC-SP: 100 packets a second at most (RFC 4828 §4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum MinInterval {
    /// None: the limit is the application's.
    Unlimited,
    /// Never more than three packets in any three times this long: for hosts of coarse timers
    /// (RFC 5622 §5).
    #[cfg_attr(feature = "schema", serde(skip))]
    ThreePackets(Duration),
    /// The time between any two packets, such as 10ms (RFC 4828 §3).
    #[cfg_attr(feature = "schema", serde(untagged))]
    Each(Duration),
}

impl PacketSize {
    /// s of the equation for a flow whose packets carry `own` bytes on average.
    #[must_use]
    pub fn equation_segment(&self, own: f64) -> f64 {
        match self {
            Self::Own => own,
            Self::TfrcSp(sp) => f64::from(sp.nominal.bytes()),
            Self::Reference { segment, .. } => f64::from(*segment),
        }
    }

    /// The part of the allowed rate that is left for data: s_true/(s_true + H) in TFRC-SP
    /// (RFC 4828 §3), else 1.
    #[must_use]
    pub fn data_share(&self, own: f64) -> f64 {
        match self {
            Self::TfrcSp(sp) => own / (own + f64::from(sp.header)),
            Self::Own | Self::Reference { .. } => 1.0,
        }
    }

    /// The rate of the equation at which `rate` of data is allowed: the inverse of
    /// [`PacketSize::data_share`].
    pub(crate) fn with_headers(&self, own: f64, rate: Rate) -> Rate {
        match self {
            Self::TfrcSp(sp) if sp.short_intervals.leaves_headers_out() => rate,
            _ => rate / self.data_share(own),
        }
    }

    /// X_Bps, bytes of data per second: what the equation gives at loss event rate `p` with this
    /// size, less the headers.
    #[must_use]
    pub fn rate(&self, equation: &Equation, own: f64, rtt: Duration, p: Probability) -> Rate {
        self.rate_with_timeout(equation, own, rtt, equation.rto.timeout(rtt), p)
    }

    /// Computes X_Bps as [`PacketSize::rate`], with a retransmission timeout given, for policies
    /// that estimate it.
    #[must_use]
    pub fn rate_with_timeout(
        &self,
        equation: &Equation,
        own: f64,
        rtt: Duration,
        timeout: Duration,
        p: Probability,
    ) -> Rate {
        let x = equation.rate_with_timeout(self.equation_segment(own), rtt, timeout, p);
        match self {
            Self::TfrcSp(_) => x * self.data_share(own),
            Self::Own | Self::Reference { .. } => x,
        }
    }

    pub(crate) const fn is_sound(&self) -> bool {
        match self {
            Self::Own => true,
            Self::TfrcSp(sp) => sp.nominal.bytes() >= 1,
            Self::Reference { segment, .. } => *segment >= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const P: f64 = 0.1;

    fn share(own: f64) -> f64 {
        PacketSize::TfrcSp(TfrcSp::default()).data_share(own)
    }

    /// RFC 4828 §4.2: 128 kbit/s leave 96 at 120 bytes, 64 at 40, 3.12 at a single byte.
    #[test]
    fn headers_are_paid_for() {
        assert_eq!(128.0 * share(120.0), 96.0);
        assert_eq!(128.0 * share(40.0), 64.0);
        assert!((128.0 * share(1.0) - 3.12).abs() < 0.005);
        assert_eq!(PacketSize::Own.data_share(1.0), 1.0);
        let ccid4 = PacketSize::TfrcSp(TfrcSp { header: 36, ..TfrcSp::default() });
        assert_eq!(ccid4.data_share(12.0), 0.25);
    }

    /// RFC 4828 §3: 1460, or the MSS if that is known and smaller.
    #[test]
    fn the_nominal_segment() {
        let sizes = [NominalSegment::Default, NominalSegment::PathMss(9000), NominalSegment::PathMss(1460)];
        assert!(sizes.iter().all(|n| n.bytes() == 1460));
        assert_eq!(NominalSegment::PathMss(1459).bytes(), 1459);
        assert_eq!(NominalSegment::PathMss(500).bytes(), 500);
    }

    #[test]
    fn the_equation_goes_by_the_size_compared_with() {
        let (equation, p) = (Equation::default(), Probability::saturating(P));
        let large = equation.rate(1460.0, RTT, p);
        let reference = PacketSize::Reference { segment: 1460, correction: SizeCorrection::LipScaling };
        assert_eq!(PacketSize::Own.rate(&equation, 100.0, RTT, p), equation.rate(100.0, RTT, p));
        assert_eq!(reference.rate(&equation, 100.0, RTT, p), large);
        let sp = PacketSize::TfrcSp(TfrcSp::default());
        assert_eq!(sp.rate(&equation, 160.0, RTT, p), large * 0.8);
    }
}
