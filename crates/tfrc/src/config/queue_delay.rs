//! The bound on the queueing delay that a flow makes for itself and for those who share its path.

use tfrc_units::Duration;
#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema};

use crate::config::ConfigError;

/// Bound on the queueing delay, measured as a round-trip time above the least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum QueueDelay {
    /// No bound: a flow fills a drop-tail queue, as TCP does.
    #[default]
    Unlimited,
    /// The longest queueing delay, such as 80ms; at least 1 ms. While it is exceeded the flow sends
    /// less than arrives, until the queue is gone.
    #[cfg_attr(feature = "schema", serde(untagged))]
    AtMost(Duration),
}

impl QueueDelay {
    pub(crate) fn validate(self) -> Result<(), ConfigError> {
        match self {
            Self::AtMost(most) if most < Duration::from_millis(1) => Err(ConfigError::QueueDelay),
            Self::AtMost(_) | Self::Unlimited => Ok(()),
        }
    }
}
