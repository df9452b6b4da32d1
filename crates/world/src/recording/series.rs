//! States looked at now and then.

use serde::{Deserialize, Serialize};

/// A state at every look; a look without a value holds none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Samples(Vec<Option<f64>>);

impl Samples {
    /// Adds the value at the next look.
    pub fn push(&mut self, value: Option<f64>) {
        self.0.push(value);
    }

    /// The value of each look.
    #[must_use]
    pub fn values(&self) -> &[Option<f64>] {
        &self.0
    }
}
