//! gTFRC: a rate that the network has promised to the flow (draft-lochin-ietf-tsvwg-gtfrc-02).

use tfrc_units::Rate;

use crate::config::ConfigError;

/// gTFRC (draft-lochin-ietf-tsvwg-gtfrc-02): a rate that the network has promised, G = max(g, X).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Guarantee {
    /// g = 0: plain TFRC.
    None,
    /// From the first round-trip time sample on.
    FromFirstRtt(Target),
    /// From the first report with a loss event on, with slow start as usual: as the draft's figures
    /// show.
    FromFirstLossReport(Target),
}

/// Promised rate, and the rule for a promise that is not kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// g, in bytes of data per second; above zero.
    pub rate: Rate,
    /// The rule for a promise that is not kept.
    pub broken: BrokenPromise,
}

/// An under-provisioned network (§3.4.2 of the draft): much of the promised traffic is lost.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum BrokenPromise {
    /// Keep sending g: the provider's problem, as the draft prefers.
    Ignore,
    /// Send X while X < g/y. The field is y, above 1.
    GiveWayBelow(f64),
}

impl Guarantee {
    /// The promise, if there is one.
    #[must_use]
    pub const fn target(self) -> Option<Target> {
        match self {
            Self::None => None,
            Self::FromFirstRtt(target) | Self::FromFirstLossReport(target) => Some(target),
        }
    }

    pub(crate) fn validate(self) -> Result<(), ConfigError> {
        let Some(target) = self.target() else { return Ok(()) };
        let threshold_ok = match target.broken {
            BrokenPromise::Ignore => true,
            BrokenPromise::GiveWayBelow(y) => y > 1.0 && y.is_finite(),
        };
        if target.rate.is_zero() || target.rate.is_infinite() || !threshold_ok {
            return Err(ConfigError::Guarantee);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn ranges_of_a_guarantee() {
        let check = |rate: f64, broken| {
            let target = Target { rate: Rate::from_bytes_per_sec(rate), broken };
            Settings { guarantee: Guarantee::FromFirstRtt(target), ..Settings::default() }.validate().err()
        };
        assert_eq!(check(1e5, BrokenPromise::Ignore), None);
        assert_eq!(check(1e5, BrokenPromise::GiveWayBelow(1.01)), None);
        for (rate, broken) in [
            (0.0, BrokenPromise::Ignore),
            (f64::INFINITY, BrokenPromise::Ignore),
            (1e5, BrokenPromise::GiveWayBelow(1.0)),
            (1e5, BrokenPromise::GiveWayBelow(f64::NAN)),
        ] {
            assert_eq!(check(rate, broken), Some(ConfigError::Guarantee));
        }
    }
}
