//! The TCP that a flow is to be friendly to, as the equation has it away from timeouts.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};
use tfrc_units::Duration;
#[cfg(feature = "schema")]
use tfrc_units::schema::JsonSchema;

/// (C·(3 + β)/(4·(1 − β)))^(1/4) with C = 0.4 and β = 0.7 (RFC 9438 §5.1).
const CUBIC: f64 = 1.053_828_931_372_250_2;

/// The TCP whose rate the equation gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[non_exhaustive]
pub enum Friend {
    /// Reno, the TCP of RFC 5348 §3.1: s / (R·√(2bp/3)).
    #[default]
    Reno,
    /// CUBIC: the greater of that rate and of s·1.054 / (R^¼·p^¾), as a CUBIC sender uses the
    /// greater of both windows (RFC 9438 §4.3, §5.1). Higher than Reno's where p < 0.55·R³, with R
    /// in seconds; timeouts count as in Reno's equation.
    Cubic,
}

impl Friend {
    /// The name that settings and command lines use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
        }
    }

    /// The friend of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Reno, Self::Cubic].into_iter().find(|friend| friend.name() == name)
    }

    /// Seconds for each segment without timeouts; `reno` is Reno's. Increasing in p.
    pub(crate) fn seconds_per_segment(self, reno: f64, rtt: Duration, p: f64) -> f64 {
        match self {
            Self::Reno => reno,
            Self::Cubic => {
                let root = libm::sqrt(p);
                let rtt = libm::sqrt(libm::sqrt(rtt.as_secs_f64()));
                reno.min(rtt * root * libm::sqrt(root) / CUBIC)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equation::{Equation, EquationForm};
    use proptest::prelude::*;
    use tfrc_units::{Probability, Rate};

    /// Packets a second, without timeouts.
    fn rate(friend: Friend, rtt_ms: u64, p: f64) -> f64 {
        let equation = Equation { friend, form: EquationForm::SquareRoot, ..Equation::default() };
        equation.rate(1.0, Duration::from_millis(rtt_ms), Probability::saturating(p)).bytes_per_sec()
    }

    #[test]
    fn names_are_read_back() {
        for friend in [Friend::Reno, Friend::Cubic] {
            assert_eq!(Friend::from_name(friend.name()), Some(friend));
        }
        assert_eq!(Friend::from_name("bbr"), None);
    }

    /// RFC 9438 §5.1 by hand: the average window in segments, 1.0538·(R/p)^¾, for R of 0.1 and
    /// 0.01 s; the rate times the round-trip time.
    #[test]
    fn windows_of_rfc_9438() {
        for (rtt_ms, p, window) in
            [(100, 1e-4, 187.4), (100, 1e-6, 5926.0), (10, 1e-7, 5926.0), (10, 1e-8, 33_325.0)]
        {
            let got = rate(Friend::Cubic, rtt_ms, p) * Duration::from_millis(rtt_ms).as_secs_f64();
            assert!((got / window - 1.0).abs() < 1e-3, "{rtt_ms} ms, {p}: {got} against {window}");
        }
    }

    /// The greater of both; they meet at p = 0.55·R³ with R in seconds.
    #[test]
    fn the_greater_of_both() {
        let meeting = |rtt: f64| libm::pow(CUBIC * CUBIC * 2.0 / 3.0, 2.0) * libm::pow(rtt, 3.0);
        assert!((meeting(1.0) / 0.548 - 1.0).abs() < 1e-3);
        for (rtt_ms, rtt) in [(10, 0.01), (100, 0.1), (500, 0.5)] {
            let at = meeting(rtt);
            let (above, below) = (at * 1.01, at / 1.01);
            assert_eq!(rate(Friend::Cubic, rtt_ms, above), rate(Friend::Reno, rtt_ms, above));
            assert!(rate(Friend::Cubic, rtt_ms, below) > rate(Friend::Reno, rtt_ms, below));
        }
    }

    proptest! {
        /// The inverse gives p back, and the rate falls with p.
        #[test]
        fn the_inverse(rtt_ms in 1u64..2000, exponent in -8.0f64..0.0) {
            let equation = Equation { friend: Friend::Cubic, ..Equation::default() };
            let (rtt, p) = (Duration::from_millis(rtt_ms), libm::pow(10.0, exponent));
            let of = |p: f64| equation.rate(1460.0, rtt, Probability::saturating(p));
            let back = equation.loss_event_rate(1460.0, rtt, of(p)).map(Probability::get);
            prop_assert!(back.is_ok_and(|back| (back / p - 1.0).abs() < 1e-9), "{back:?} against {p}");
            let more: Rate = of((p * 1.001).min(1.0));
            prop_assert!(more <= of(p));
        }
    }
}
