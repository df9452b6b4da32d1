//! Profiles: choices that belong together and that no RFC makes.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};
use tfrc_units::Duration;
#[cfg(feature = "schema")]
use tfrc_units::schema::JsonSchema;

use super::{Choices, Pairs};
use crate::equation::{Friend, RtoPolicy};

/// The least part of Linux's retransmission timeout above the round-trip time.
const LEAST_MARGIN: Duration = Duration::from_millis(200);

/// A set of choices on top of a [`Revision`](super::Revision). `docs/fairness.md` has what each of
/// them is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[non_exhaustive]
pub enum Profile {
    /// None: the algorithm is that of its revision, RFC 5348 unless another is named.
    #[default]
    Rfc5348,
    /// For paths with the TCPs of today: `friend` is CUBIC, t_RTO that of Linux, and packets leave
    /// in pairs while a round-trip time has more than three. Not RFC 5348: next to a Reno it takes
    /// what a CUBIC would take.
    Balanced,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Rfc5348, Self::Balanced];

    /// The name that settings and command lines use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc5348 => "rfc5348",
            Self::Balanced => "balanced",
        }
    }

    /// The profile of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Makes the choices of the profile.
    pub fn choose(self, choices: &mut Choices) {
        match self {
            Self::Rfc5348 => {}
            Self::Balanced => {
                choices.equation.friend = Friend::Cubic;
                choices.equation.rto = RtoPolicy::Rfc6298 { granularity: LEAST_MARGIN, least: LEAST_MARGIN };
                choices.pairs = Pairs::Above(3.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Algorithm, Revision};

    #[test]
    fn names_are_read_back() {
        for profile in Profile::ALL {
            assert_eq!(Profile::from_name(profile.name()), Some(profile));
        }
        assert_eq!(Profile::from_name("fair"), None);
    }

    #[test]
    fn no_profile_changes_nothing() {
        for revision in Revision::ALL {
            let plain = Algorithm::of(revision);
            assert_eq!(plain.with(|choices| Profile::Rfc5348.choose(choices)), plain);
        }
        assert_eq!(Profile::default(), Profile::Rfc5348);
    }
}
