//! The TCP throughput equation (RFC 5348 §3.1) and its inverse.

mod friend;
mod pftk;
mod rto;
mod ticks;

use core::fmt;
#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema, Serialize};

use tfrc_units::{Duration, Probability, Rate};

pub use friend::Friend;
pub use pftk::ReceiveWindow;
pub use rto::{RtoEstimate, RtoPolicy};

/// From this drop rate on, [`HighLoss::Moderate`] lowers the rate (RFC 4828 §4.1).
const MODERATE_FROM: f64 = 0.4;

/// The form of the equation, its packets per acknowledgement, and its retransmission timeout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equation {
    /// How the timeout term is built.
    pub form: EquationForm,
    /// The TCP whose rate it gives away from timeouts.
    pub friend: Friend,
    /// Change of its rate at the highest losses.
    pub high_loss: HighLoss,
    /// b, packets acknowledged by one TCP acknowledgement; 1 is recommended (RFC 5348 §3.1). At
    /// least 1.
    pub packets_per_ack: u8,
    /// The policy that gives t_RTO, TCP's retransmission timeout.
    pub rto: RtoPolicy,
    /// The rate is multiplied by this (Rhee and Xu 2007, §VII); 1 for none. Above zero.
    pub scale: f64,
}

/// How the equation treats the probability that a loss ends in a timeout, 3·√(3bp/8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum EquationForm {
    /// As RFC 5348 §3.1 gives it: not capped, so it passes 1 for p above 8/(27b) and holds the rate
    /// lower there.
    Tfrc,
    /// Capped at 1, as in the source of the equation (Padhye et al., SIGCOMM 1998).
    TimeoutTermCapped,
    /// Without timeouts: s / (R·√(2bp/3)). Overestimates TCP above p of about 5 %.
    SquareRoot,
    /// The full model from which the others come, for comparison only: it cannot be inverted here,
    /// so no [`Settings`](crate::Settings) take it.
    #[cfg_attr(feature = "schema", serde(skip))]
    FullPftk(ReceiveWindow),
}

/// The rate of any form at packet drop rates of 0.4 and more.
///
/// RFC 4828 §4.1 asks for a more moderate rate at such losses, because the equation stands for
/// the most aggressive TCP (with SACK, timestamps and ECN), but gives no formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum HighLoss {
    /// As the equation gives it.
    AsEquation,
    /// Times (1 − d)/0.6 above a packet drop rate d of 0.4: the share of the packets that get
    /// through, relative to that at 0.4, zero at 1. The formula is ours. A sender whose reports
    /// count packets takes d from the counts, any other takes p for d, which for plain TFRC is
    /// lower ([`Equation::at_drop_rate`]).
    Moderate,
}

/// The form of RFC 5348: not capped, b = 1, t_RTO = 4R.
impl Default for Equation {
    fn default() -> Self {
        Self {
            form: EquationForm::Tfrc,
            friend: Friend::Reno,
            high_loss: HighLoss::AsEquation,
            packets_per_ack: 1,
            rto: RtoPolicy::FourRtt,
            scale: 1.0,
        }
    }
}

/// Why no loss event rate gives the requested rate.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum InverseError {
    /// Segment size or round-trip time is zero: the equation is undefined.
    Degenerate,
    /// Even p = 1 allows more than this: the field is the rate at p = 1.
    RateTooLow(Rate),
    /// No positive p allows as much as this.
    RateTooHigh,
    /// This form of the equation is forward only.
    ForwardOnly,
}

impl fmt::Display for InverseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Degenerate => f.write_str("segment size and round-trip time must be above zero"),
            Self::RateTooLow(least) => {
                write!(f, "the equation allows {least} even when every packet is a loss event")
            }
            Self::RateTooHigh => f.write_str("no loss event rate above zero allows this rate"),
            Self::ForwardOnly => f.write_str("the full PFTK model gives rates, not loss event rates"),
        }
    }
}

impl core::error::Error for InverseError {}

impl Equation {
    /// X_Bps: the rate that TCP would reach with segments of `segment` bytes (headers excluded),
    /// round-trip time `rtt` and loss event rate `p` (RFC 5348 §3.1). Infinite at p = 0 or rtt = 0,
    /// where the equation sets no limit.
    #[must_use]
    pub fn rate(&self, segment: f64, rtt: Duration, p: Probability) -> Rate {
        self.rate_with_timeout(segment, rtt, self.rto.timeout(rtt), p)
    }

    /// Computes X_Bps as [`Equation::rate`], with a t_RTO from elsewhere, such as an
    /// [`RtoEstimate`].
    #[must_use]
    pub fn rate_with_timeout(&self, segment: f64, rtt: Duration, timeout: Duration, p: Probability) -> Rate {
        Rate::from_bytes_per_sec(self.scale * segment / self.seconds_per_segment(rtt, timeout, p.get()))
    }

    /// The equation for a sender that knows the packet drop rate: from 0.4 on
    /// [`HighLoss::Moderate`] uses it instead of p (RFC 4828 §4.1).
    #[must_use]
    pub fn at_drop_rate(self, drop_rate: Probability) -> Self {
        match self.high_loss {
            HighLoss::Moderate => {
                let scale = self.scale * moderation(drop_rate.get());
                Self { high_loss: HighLoss::AsEquation, scale, ..self }
            }
            HighLoss::AsEquation => self,
        }
    }

    /// The loss event rate at which [`Equation::rate`] gives `rate`, to about the last bit of the
    /// mantissa; RFC 5348 §6.3.1 asks for 5 %.
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
        if let EquationForm::FullPftk(_) = self.form {
            return Err(InverseError::ForwardOnly);
        }
        let timeout = self.rto.timeout(rtt);
        let wanted = self.scale * segment / rate.bytes_per_sec();
        if wanted > self.seconds_per_segment(rtt, timeout, 1.0) {
            return Err(InverseError::RateTooLow(self.rate(segment, rtt, Probability::ONE)));
        }
        if wanted <= self.seconds_per_segment(rtt, timeout, f64::MIN_POSITIVE) {
            return Err(InverseError::RateTooHigh);
        }
        // Positive floats are ordered like their bit patterns, so bisecting the patterns needs at
        // most 62 steps for the whole range of p and ends on two neighbours.
        let (mut low, mut high) = (f64::MIN_POSITIVE.to_bits(), 1.0f64.to_bits());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.seconds_per_segment(rtt, timeout, f64::from_bits(middle)) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        let (below, above) = (f64::from_bits(low), f64::from_bits(high));
        let error = |p: f64| (self.seconds_per_segment(rtt, timeout, p) - wanted).abs();
        Ok(Probability::saturating(if error(below) < error(above) { below } else { above }))
    }

    /// The denominator of the equation: time per segment, in seconds. Strictly increasing in p.
    fn seconds_per_segment(&self, rtt: Duration, timeout: Duration, p: f64) -> f64 {
        let seconds = self.seconds_of_form(rtt, timeout, p);
        match self.high_loss {
            HighLoss::AsEquation => seconds,
            HighLoss::Moderate => seconds / moderation(p),
        }
    }

    fn seconds_of_form(&self, rtt: Duration, timeout: Duration, p: f64) -> f64 {
        let b = f64::from(self.packets_per_ack);
        if let EquationForm::FullPftk(window) = self.form {
            return pftk::seconds_per_packet(rtt, timeout, p, b, window);
        }
        let reno = rtt.as_secs_f64() * libm::sqrt(2.0 * b * p / 3.0);
        let congestion_avoidance = self.friend.seconds_per_segment(reno, rtt, p);
        let mut timeout_chance = 3.0 * libm::sqrt(3.0 * b * p / 8.0);
        match self.form {
            EquationForm::SquareRoot => return congestion_avoidance,
            EquationForm::TimeoutTermCapped => timeout_chance = timeout_chance.min(1.0),
            EquationForm::Tfrc | EquationForm::FullPftk(_) => {}
        }
        congestion_avoidance + timeout.as_secs_f64() * (timeout_chance * p * (1.0 + 32.0 * p * p))
    }
}

/// The factor of [`HighLoss::Moderate`].
fn moderation(drop_rate: f64) -> f64 {
    if drop_rate > MODERATE_FROM { (1.0 - drop_rate) / (1.0 - MODERATE_FROM) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RTT: Duration = Duration::from_millis(100);

    fn packets_per_rtt(equation: Equation, p: f64) -> f64 {
        equation.rate(1.0, Duration::from_secs(1), Probability::saturating(p)).bytes_per_sec()
    }

    /// RFC 5348 §8.1: with t_RTO = 4R and b = 1 the rate is s/(R·f(p)); figures computed
    /// independently of this code.
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

    /// RFC 4828 §4.1: the same below p = 0.4, less above; by hand 0.04174·0.5/0.6 at 0.5.
    #[test]
    fn moderate_from_0_4_on() {
        let moderate = Equation { high_loss: HighLoss::Moderate, ..Equation::default() };
        for p in [0.01, 0.3, 0.4] {
            assert_eq!(packets_per_rtt(moderate, p), packets_per_rtt(Equation::default(), p));
        }
        assert!((packets_per_rtt(moderate, 0.5) / 0.034_782 - 1.0).abs() < 1e-3);
        assert_eq!(packets_per_rtt(moderate, 1.0), 0.0);
        let at = |p| packets_per_rtt(moderate, p);
        assert!((at(0.4) / at(0.400_000_001) - 1.0).abs() < 1e-7, "no step");
    }

    /// RFC 4828 §4.1: plain TFRC loses half of its packets at p = 0.25, below 0.4.
    #[test]
    fn moderate_by_the_drop_rate() {
        let moderate = Equation { high_loss: HighLoss::Moderate, ..Equation::default() };
        let at = |drop_rate| packets_per_rtt(moderate.at_drop_rate(Probability::saturating(drop_rate)), 0.25);
        let plain = packets_per_rtt(Equation::default(), 0.25);
        assert_eq!((at(0.0), at(0.4), at(1.0)), (plain, plain, 0.0));
        assert!((at(0.5) / plain - 5.0 / 6.0).abs() < 1e-12);
        assert_eq!(Equation::default().at_drop_rate(Probability::ONE), Equation::default());
    }

    /// The cap of the timeout term works together with the moderation, by p and by the drop rate.
    #[test]
    fn moderation_keeps_the_form() {
        for form in [EquationForm::Tfrc, EquationForm::TimeoutTermCapped] {
            let plain = Equation { form, ..Equation::default() };
            let moderate = Equation { high_loss: HighLoss::Moderate, ..plain };
            let of = |equation| packets_per_rtt(equation, 0.5);
            let by_drops = moderate.at_drop_rate(Probability::saturating(0.5));
            assert!((of(moderate) / of(plain) - 5.0 / 6.0).abs() < 1e-12, "{form:?}");
            assert!((of(by_drops) / of(plain) - 5.0 / 6.0).abs() < 1e-12, "{form:?}");
        }
    }

    /// The moderate form against the simulated TCP with timestamps in RFC 3714's Table 1 (t_RTO =
    /// 2R, p = 0.5 … 0.9): nearer to it than the plain form at the highest losses, where the plain
    /// one is three to eleven times too fast.
    #[test]
    fn moderate_against_simulated_tcp() {
        let two_rtt = RtoPolicy::Fixed(Duration::from_secs(2));
        let of =
            |high_loss, p| packets_per_rtt(Equation { high_loss, rto: two_rtt, ..Equation::default() }, p);
        for (p, simulated, plain, moderate) in [
            (0.7, 0.018, 1.4..1.6, 0.7..0.8),
            (0.8, 0.0052, 3.2..3.5, 1.0..1.2),
            (0.9, 0.0011, 10.0..11.0, 1.7..1.9),
        ] {
            assert!(plain.contains(&(of(HighLoss::AsEquation, p) / simulated)), "{p}");
            assert!(moderate.contains(&(of(HighLoss::Moderate, p) / simulated)), "{p}");
        }
    }

    /// RFC 3714's Table 1, column of its equation (1), t_RTO = 2R, as printed (some digits cut,
    /// some rounded). Its text caps the timeout term; of the rows where that matters 0.35 to 0.45,
    /// 0.55 and 0.6 are nevertheless without the cap.
    #[test]
    fn rfc_3714_table_1() {
        let rto = RtoPolicy::Fixed(Duration::from_secs(2));
        let (plain, capped) = (EquationForm::Tfrc, EquationForm::TimeoutTermCapped);
        for (form, p, printed, unit) in [
            (capped, 0.1, 2.42, 0.01),
            (capped, 0.2, 0.89, 0.01),
            (capped, 0.25, 0.55, 0.01),
            (plain, 0.35, 0.23, 0.01),
            (plain, 0.4, 0.16, 0.01),
            (plain, 0.45, 0.11, 0.01),
            (capped, 0.5, 0.10, 0.01),
            (plain, 0.55, 0.060, 0.001),
            (plain, 0.6, 0.045, 0.001),
            (capped, 0.65, 0.051, 0.001),
            (capped, 0.7, 0.041, 0.001),
            (capped, 0.75, 0.034, 0.001),
            (capped, 0.8, 0.028, 0.001),
            (capped, 0.9, 0.020, 0.001),
        ] {
            let got = packets_per_rtt(Equation { form, rto, ..Equation::default() }, p);
            assert!((-0.5 * unit..unit).contains(&(got - printed)), "{p}: {got} against {printed}");
        }
    }

    /// Rhee and Xu 2007, §VII: a scale factor; the inverse knows of it.
    #[test]
    fn the_scale_factor() {
        let scaled = Equation { scale: 1.5, ..Equation::default() };
        assert!(
            (packets_per_rtt(scaled, 0.01) / packets_per_rtt(Equation::default(), 0.01) - 1.5).abs() < 1e-12
        );
        let rate = scaled.rate(1460.0, RTT, Probability::saturating(0.01));
        let back = scaled.loss_event_rate(1460.0, RTT, rate).map(Probability::get);
        assert!(back.is_ok_and(|p| (p - 0.01).abs() < 1e-14));
    }

    /// The full model: infinite at p = 0 as the others, near the approximation at small p, and
    /// without an inverse.
    #[test]
    fn the_full_model_is_forward_only() {
        let full = Equation { form: EquationForm::FullPftk(ReceiveWindow::Unlimited), ..Equation::default() };
        assert!(full.rate(1460.0, RTT, Probability::ZERO).is_infinite());
        assert!(
            (packets_per_rtt(full, 1e-4) / packets_per_rtt(Equation::default(), 1e-4) - 1.0).abs() < 0.05
        );
        assert_eq!(
            full.loss_event_rate(1460.0, RTT, Rate::from_bytes_per_sec(1e4)),
            Err(InverseError::ForwardOnly)
        );
    }

    #[test]
    fn a_timeout_from_elsewhere() {
        let fixed = Equation { rto: RtoPolicy::Fixed(Duration::from_secs(1)), ..Equation::default() };
        let p = Probability::saturating(0.1);
        let given = Equation::default().rate_with_timeout(1460.0, RTT, Duration::from_secs(1), p);
        assert_eq!(given, fixed.rate(1460.0, RTT, p));
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
            for (form, high_loss) in [
                (EquationForm::Tfrc, HighLoss::AsEquation),
                (EquationForm::TimeoutTermCapped, HighLoss::AsEquation),
                (EquationForm::SquareRoot, HighLoss::AsEquation),
                (EquationForm::Tfrc, HighLoss::Moderate),
                (EquationForm::TimeoutTermCapped, HighLoss::Moderate),
            ] {
                let equation = Equation { form, high_loss, packets_per_ack: b, ..Equation::default() };
                let rate = equation.rate(1460.0, rtt, p);
                let back = equation.loss_event_rate(1460.0, rtt, rate).expect("the rate came from the equation");
                prop_assert!((back.get() / p.get() - 1.0).abs() < 1e-12);
            }
        }
    }
}
