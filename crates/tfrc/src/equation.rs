//! The TCP throughput equation (RFC 5348 §3.1) and its inverse.

use core::fmt;

use tfrc_units::{Duration, Probability, Rate};

/// Which form of the equation, with how many packets an acknowledgement covers, and which retransmission timeout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equation {
    /// How the timeout term is built.
    pub form: EquationForm,
    /// b, packets acknowledged by one TCP acknowledgement; 1 is recommended (RFC 5348 §3.1). At least 1.
    pub packets_per_ack: u8,
    /// What stands for TCP's retransmission timeout.
    pub rto: RtoPolicy,
}

/// How the equation treats the probability that a loss ends in a timeout, 3·√(3bp/8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EquationForm {
    /// As RFC 5348 §3.1 gives it: not capped, so it passes 1 for p above 8/(27b) and holds the rate lower there.
    Tfrc,
    /// Capped at 1, as in the source of the equation (Padhye et al., SIGCOMM 1998) and in ns-2.
    TimeoutTermCapped,
    /// Without timeouts: s / (R·√(2bp/3)). Overestimates TCP above p of about 5 %.
    SquareRoot,
}

/// The t_RTO of the equation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RtoPolicy {
    /// 4·R, what RFC 5348 §3.1 says one should do.
    FourRtt,
    /// 4·R, but at least this long; RFC 5348 §3.1 allows one second here.
    FourRttAtLeast(Duration),
    /// Always this long.
    Fixed(Duration),
}

impl RtoPolicy {
    /// t_RTO for the round-trip time `rtt`.
    #[must_use]
    pub fn timeout(self, rtt: Duration) -> Duration {
        match self {
            Self::FourRtt => rtt * 4,
            Self::FourRttAtLeast(least) => (rtt * 4).max(least),
            Self::Fixed(timeout) => timeout,
        }
    }
}

/// The form of RFC 5348: not capped, b = 1, t_RTO = 4R.
impl Default for Equation {
    fn default() -> Self {
        Self { form: EquationForm::Tfrc, packets_per_ack: 1, rto: RtoPolicy::FourRtt }
    }
}

/// Why no loss event rate gives the rate asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum InverseError {
    /// Segment size or round-trip time is zero: the equation says nothing.
    Degenerate,
    /// Even p = 1 allows more than this: the field is the rate at p = 1.
    RateTooLow(Rate),
    /// No positive p allows as much as this.
    RateTooHigh,
}

impl fmt::Display for InverseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Degenerate => f.write_str("segment size and round-trip time must be above zero"),
            Self::RateTooLow(least) => {
                write!(f, "the equation allows {least} even when every packet is a loss event")
            }
            Self::RateTooHigh => f.write_str("no loss event rate above zero allows this rate"),
        }
    }
}

impl core::error::Error for InverseError {}

impl Equation {
    /// X_Bps: the rate that TCP would reach with segments of `segment` bytes (headers excluded), round-trip time `rtt`
    /// and loss event rate `p` (RFC 5348 §3.1). Infinite at p = 0 or rtt = 0, where the equation sets no limit.
    #[must_use]
    pub fn rate(&self, segment: f64, rtt: Duration, p: Probability) -> Rate {
        Rate::from_bytes_per_sec(segment / self.seconds_per_segment(rtt, p.get()))
    }

    /// The loss event rate at which [`Equation::rate`] gives `rate`, to the last bit of the mantissa or so; RFC 5348
    /// §6.3.1 asks for 5 %.
    ///
    /// # Errors
    /// [`InverseError`] if the rate lies outside what p in (0, 1] can give.
    pub fn loss_event_rate(
        &self,
        segment: f64,
        rtt: Duration,
        rate: Rate,
    ) -> Result<Probability, InverseError> {
        if segment <= 0.0 || segment.is_nan() || rtt.is_zero() {
            return Err(InverseError::Degenerate);
        }
        let wanted = segment / rate.bytes_per_sec();
        if wanted > self.seconds_per_segment(rtt, 1.0) {
            return Err(InverseError::RateTooLow(self.rate(segment, rtt, Probability::ONE)));
        }
        if wanted <= self.seconds_per_segment(rtt, f64::MIN_POSITIVE) {
            return Err(InverseError::RateTooHigh);
        }
        // Positive floats are ordered like their bit patterns, so bisecting the patterns needs at most 62 steps for the
        // whole range of p and ends on two neighbours.
        let (mut low, mut high) = (f64::MIN_POSITIVE.to_bits(), 1.0f64.to_bits());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.seconds_per_segment(rtt, f64::from_bits(middle)) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        let (below, above) = (f64::from_bits(low), f64::from_bits(high));
        let error = |p: f64| (self.seconds_per_segment(rtt, p) - wanted).abs();
        Ok(Probability::saturating(if error(below) < error(above) { below } else { above }))
    }

    /// The denominator of the equation: time per segment, in seconds. Strictly increasing in p.
    fn seconds_per_segment(&self, rtt: Duration, p: f64) -> f64 {
        let b = f64::from(self.packets_per_ack);
        let congestion_avoidance = rtt.as_secs_f64() * libm::sqrt(2.0 * b * p / 3.0);
        let timeout_chance = 3.0 * libm::sqrt(3.0 * b * p / 8.0);
        let timeout_chance = match self.form {
            EquationForm::Tfrc => timeout_chance,
            EquationForm::TimeoutTermCapped => timeout_chance.min(1.0),
            EquationForm::SquareRoot => return congestion_avoidance,
        };
        congestion_avoidance
            + self.rto.timeout(rtt).as_secs_f64() * (timeout_chance * p * (1.0 + 32.0 * p * p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RTT: Duration = Duration::from_millis(100);

    fn packets_per_rtt(equation: Equation, p: f64) -> f64 {
        equation.rate(1.0, Duration::from_secs(1), Probability::saturating(p)).bytes_per_sec()
    }

    /// RFC 5348 §8.1: with t_RTO = 4R and b = 1 the rate is s/(R·f(p)); figures computed apart from this code.
    #[test]
    fn values_of_the_default_form() {
        for (p, expected) in [
            (1e-6, 1224.73),
            (1e-4, 122.364),
            (0.001, 38.3844),
            (0.01, 11.2332),
            (0.1, 1.7701),
            (0.5, 0.04174),
        ] {
            let got = packets_per_rtt(Equation::default(), p);
            assert!((got / expected - 1.0).abs() < 1e-4, "p={p}: {got} against {expected}");
        }
    }

    #[test]
    fn the_cap_only_matters_above_8_27ths() {
        let capped = Equation { form: EquationForm::TimeoutTermCapped, ..Equation::default() };
        assert_eq!(packets_per_rtt(capped, 0.29), packets_per_rtt(Equation::default(), 0.29));
        for (p, expected) in [(0.3, 0.19595), (0.5, 0.05383), (1.0, 0.00753)] {
            assert!((packets_per_rtt(capped, p) / expected - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn rto_policies() {
        assert_eq!(RtoPolicy::FourRtt.timeout(RTT), Duration::from_millis(400));
        let one_second = RtoPolicy::FourRttAtLeast(Duration::from_secs(1));
        assert_eq!(one_second.timeout(RTT), Duration::from_secs(1));
        assert_eq!(one_second.timeout(Duration::from_millis(500)), Duration::from_secs(2));
        assert_eq!(RtoPolicy::Fixed(RTT).timeout(Duration::from_secs(9)), RTT);
    }

    #[test]
    fn known_inverses() {
        let equation = Equation::default();
        let inverse = |packets: f64| {
            let rate = Rate::from_bytes_per_sec(packets);
            equation.loss_event_rate(1.0, Duration::from_secs(1), rate).map(Probability::get)
        };
        for (packets, p) in [(4.0, 0.045455), (2.0, 0.090779), (1.0, 0.145870), (0.5, 0.206429)] {
            assert!(inverse(packets).is_ok_and(|got| (got / p - 1.0).abs() < 1e-5));
        }
        assert!(matches!(inverse(0.001), Err(InverseError::RateTooLow(_))));
        assert_eq!(inverse(f64::INFINITY), Err(InverseError::RateTooHigh));
        assert_eq!(
            equation.loss_event_rate(0.0, RTT, Rate::from_bytes_per_sec(1.0)),
            Err(InverseError::Degenerate)
        );
    }

    proptest! {
        #[test]
        fn inverse_is_exact(exponent in -40i32..0, mantissa in 1.0f64..2.0, rtt_us in 1u64..10_000_000, b in 1u8..4) {
            let p = Probability::saturating(mantissa * libm::exp2(f64::from(exponent)) / 2.0);
            let rtt = Duration::from_micros(rtt_us);
            for form in [EquationForm::Tfrc, EquationForm::TimeoutTermCapped, EquationForm::SquareRoot] {
                let equation = Equation { form, packets_per_ack: b, rto: RtoPolicy::FourRtt };
                let rate = equation.rate(1460.0, rtt, p);
                let back = equation.loss_event_rate(1460.0, rtt, rate).expect("the rate came from the equation");
                prop_assert!((back.get() / p.get() - 1.0).abs() < 1e-12);
            }
        }
    }
}
