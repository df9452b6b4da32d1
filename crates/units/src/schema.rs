//! Quantities in files: serde reads them by the grammar of [`text`], and a JSON
//! Schema describes them.

extern crate alloc;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::ToString;
use core::fmt;
use core::marker::PhantomData;

pub use schemars::JsonSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Unexpected, Visitor};
pub use serde::{Deserialize, Serialize};

use crate::text::{self, TextErrorKind};
use crate::{Duration, Probability, Rate};

/// Reads a quantity from text, or from a number, which is taken as its digits.
///
/// # Errors
/// `invalid_value` with `expected`: of the text if that is out of range, else of a sentence about
/// it.
pub fn from_text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &'static str,
    read: impl Fn(&str) -> Result<T, TextErrorKind>,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(Quantity { expected, read, read_to: PhantomData })
}

/// The schema of a quantity with a unit: text, or zero.
#[must_use]
pub fn schema(expected: &str) -> Schema {
    json_schema!({ "description": expected, "type": ["string", "number"], "minimum": 0, "maximum": 0 })
}

/// The schema of a number, or of a distribution of numbers.
#[must_use]
pub fn number_schema(expected: &str) -> Schema {
    json_schema!({ "description": expected, "type": ["string", "number"] })
}

/// The schema of a probability: a number below 1, or text.
fn share_schema(expected: &str) -> Schema {
    json_schema!({
        "description": expected, "type": ["string", "number"], "minimum": 0, "exclusiveMaximum": 1
    })
}

/// Times in records: whole nanoseconds, without loss. For `#[serde(with = "…")]`.
pub mod nanoseconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::{Duration, Instant};

    /// A time that is a whole number of nanoseconds.
    pub trait Nanoseconds: Copy {
        /// The nanoseconds.
        fn to_nanos(self) -> u64;
        /// The time of these nanoseconds.
        fn of_nanos(nanos: u64) -> Self;
    }

    impl Nanoseconds for Duration {
        fn to_nanos(self) -> u64 {
            self.as_nanos()
        }

        fn of_nanos(nanos: u64) -> Self {
            Self::from_nanos(nanos)
        }
    }

    impl Nanoseconds for Instant {
        fn to_nanos(self) -> u64 {
            self.as_nanos()
        }

        fn of_nanos(nanos: u64) -> Self {
            Self::from_nanos(nanos)
        }
    }

    /// Writes the nanoseconds.
    ///
    /// # Errors
    /// The serializer's own.
    pub fn serialize<S: Serializer, T: Nanoseconds>(time: &T, serializer: S) -> Result<S::Ok, S::Error> {
        time.to_nanos().serialize(serializer)
    }

    /// Reads the nanoseconds.
    ///
    /// # Errors
    /// Whatever is not a whole number from 0 to 2⁶⁴ − 1.
    pub fn deserialize<'de, D: Deserializer<'de>, T: Nanoseconds>(deserializer: D) -> Result<T, D::Error> {
        u64::deserialize(deserializer).map(T::of_nanos)
    }
}

struct Quantity<T, F> {
    expected: &'static str,
    read: F,
    read_to: PhantomData<T>,
}

impl<T, F: Fn(&str) -> Result<T, TextErrorKind>> Visitor<'_> for Quantity<T, F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, written: &str) -> Result<T, E> {
        (self.read)(written).map_err(|kind| match kind {
            TextErrorKind::TooSmall | TextErrorKind::TooLarge => {
                E::invalid_value(Unexpected::Str(written), &self)
            }
            kind => E::invalid_value(Unexpected::Other(&format!("`{written}` {kind}")), &self),
        })
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

macro_rules! quantity {
    ($type:ident, $read:path, $expected:path, $schema:path) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer, $expected, |written| $read(written).map_err(|error| error.kind))
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema($expected)
            }
        }
    };
}

quantity!(Duration, text::time, text::TIME, schema);
quantity!(Probability, text::probability, text::SHARE, share_schema);
quantity!(Rate, text::rate, text::RATE, schema);
