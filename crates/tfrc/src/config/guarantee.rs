//! gTFRC: a rate that the network has promised to the flow (draft-lochin-ietf-tsvwg-gtfrc-02).

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};
use tfrc_units::Rate;

use crate::config::ConfigError;

/// gTFRC (draft-lochin-ietf-tsvwg-gtfrc-02): a rate that the network has promised, G = max(g, X).
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Promise {
    /// g, in bytes of data per second; above zero. serde writes bits per second.
    #[cfg_attr(feature = "serde", serde(rename = "rate_bps", with = "bits_per_second"))]
    pub rate: Rate,
    /// The time from which it counts.
    #[cfg_attr(feature = "serde", serde(default))]
    pub start: PromiseStart,
    /// y, above 1: below g/y much of the promised traffic is lost, and the flow sends X (§3.4.2 of
    /// the draft). `None`: it keeps sending g, as the draft prefers.
    #[cfg_attr(feature = "serde", serde(default))]
    pub give_way_below: Option<f64>,
}

/// The time from which a promise is a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(tfrc_units::schema::JsonSchema))]
#[non_exhaustive]
pub enum PromiseStart {
    /// The first sample of the round-trip time.
    #[default]
    FirstRtt,
    /// The first report with a loss event, with slow start as usual: as the draft's figures show.
    FirstLossReport,
}

impl Promise {
    /// A promise of `rate` from the first round-trip time sample on.
    #[must_use]
    pub const fn of(rate: Rate) -> Self {
        Self { rate, start: PromiseStart::FirstRtt, give_way_below: None }
    }

    pub(crate) fn validate(self) -> Result<(), ConfigError> {
        let threshold_ok = self.give_way_below.is_none_or(|y| y > 1.0 && y.is_finite());
        if self.rate.is_zero() || self.rate.is_infinite() || !threshold_ok {
            return Err(ConfigError::Guarantee);
        }
        Ok(())
    }
}

/// Rates in records: bits per second.
#[cfg(feature = "serde")]
mod bits_per_second {
    use serde::{Deserialize, Deserializer, Serializer};
    use tfrc_units::Rate;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(super) fn serialize<S: Serializer>(rate: &Rate, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(rate.bits_per_sec())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        f64::deserialize(deserializer).map(Rate::from_bits_per_sec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn ranges_of_a_guarantee() {
        let check = |rate: f64, give_way_below| {
            let promise = Promise { give_way_below, ..Promise::of(Rate::from_bytes_per_sec(rate)) };
            Settings { guarantee: Some(promise), ..Settings::default() }.validate().err()
        };
        assert_eq!(check(1e5, None), None);
        assert_eq!(check(1e5, Some(1.01)), None);
        for (rate, y) in [(0.0, None), (f64::INFINITY, None), (1e5, Some(1.0)), (1e5, Some(f64::NAN))] {
            assert_eq!(check(rate, y), Some(ConfigError::Guarantee));
        }
    }
}
