//! Values that are written as text: each type has its grammar for serde, and its JSON Schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use tfrc_sim::queue::Limit;
use tfrc_sim::traffic::Distribution;
use tfrc_units::text::{self, TextErrorKind};
use tfrc_units::{Dscp, Duration, Rate, schema};

use super::{RoundTrip, distribution, link_settings};

macro_rules! written {
    ($(#[$doc:meta])* $name:ident($type:ty), $expected:expr, $read:expr) => {
        written!($(#[$doc])* $name($type), $expected, $read, schema::schema);
    };
    ($(#[$doc:meta])* $name:ident($type:ty), $expected:expr, $read:expr, $schema:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub(super) struct $name(pub(super) $type);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let read = |written: &str| $read(written).map(Self);
                schema::from_text(deserializer, $expected, read)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema($expected)
            }
        }

        impl From<$name> for $type {
            fn from(written: $name) -> Self {
                written.0
            }
        }
    };
}

written!(
    /// A quantity with its unit, whatever it is.
    Text(String), "a quantity with its unit, such as \"15Mbit/s\", \"50ms\", \"100p\", \"50kB\" or \"1%\"",
    |written: &str| Ok(written.to_owned())
);
written!(
    /// A number of bytes.
    Bytes(u64), "a size, such as 1500B, 50kB, 2MB or 8GiB", bytes
);
written!(
    /// Bytes of a packet or of a part of one.
    PacketBytes(u32), "a size of at most 65535 bytes, such as 1460B", packet_bytes
);
written!(
    /// Bytes of a burst.
    Burst(u32), "a size of at most 4 GB, such as 10kB",
    |w| bytes(w).and_then(|bytes| u32::try_from(bytes).map_err(|_| TextErrorKind::TooLarge))
);
written!(
    /// The limit of a queue.
    QueueLimit(Limit), link_settings::LIMIT, link_settings::limit
);
written!(
    /// A mark of packets.
    Mark(Dscp), "af11 to af43, cs0 to cs7, ef, or a number from 0 to 63",
    |w: &str| w.parse().map_err(|_| TextErrorKind::NotUnderstood), schema::number_schema
);
written!(
    /// A time, or a distribution of times in seconds.
    Seconds(Distribution),
    "a time such as 0.5s, or `uniform LOW HIGH`, `exponential MEAN`, `pareto MEAN SHAPE` or \
    `pareto-ii MEAN SHAPE` of times; LOW is at most HIGH, SHAPE above 1",
    |w| distribution::read(w, seconds)
);
written!(
    /// A rate, or a distribution of rates in bytes per second.
    Rates(Distribution), "a rate such as 1Mbit/s, or a distribution such as `uniform 0bit/s 1Mbit/s`",
    |w| distribution::read(w, |w| text::rate(w).map(Rate::bytes_per_sec).map_err(|error| error.kind))
);
written!(
    /// A number, or a distribution of numbers.
    Plain(Distribution), "a number, or a distribution such as `exponential 5`",
    |w| distribution::read(w, |w| w.parse().map_err(|_| TextErrorKind::NoNumber)), schema::number_schema
);
written!(
    /// Round-trip times of the flows of an entry.
    RoundTrips(RoundTrip),
    "a time such as 50ms, a distribution such as `uniform 40ms 240ms`, or `evenly 40ms 240ms`", round_trips
);

/// A number of bytes.
fn bytes(written: &str) -> Result<u64, TextErrorKind> {
    text::size(written).map_err(|error| error.kind)
}

/// A time in seconds.
fn seconds(written: &str) -> Result<f64, TextErrorKind> {
    text::time(written).map(Duration::as_secs_f64).map_err(|error| error.kind)
}

/// Bytes of a packet: at most 65,535.
pub(super) fn packet_bytes(written: &str) -> Result<u32, TextErrorKind> {
    let bytes = u32::try_from(bytes(written)?).ok().filter(|bytes| *bytes <= 65_535);
    bytes.ok_or(TextErrorKind::TooLarge)
}

/// A distribution, or equal steps from the least to the greatest time.
fn round_trips(written: &str) -> Result<RoundTrip, TextErrorKind> {
    let Some(bounds) = written.trim().strip_prefix("evenly ") else {
        return distribution::read(written, seconds).map(RoundTrip::Drawn);
    };
    let bounds: Vec<_> = bounds.split_whitespace().map(seconds).collect::<Result<_, _>>()?;
    match bounds[..] {
        [low, high] if low <= high => Ok(RoundTrip::Evenly { low, high }),
        _ => Err(TextErrorKind::NotUnderstood),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::read_value;

    #[test]
    fn each_form_of_a_distribution() {
        let seconds = |w: &str| read_value(w).ok().map(|Seconds(distribution)| distribution);
        assert_eq!(seconds("50ms"), Some(Distribution::Constant(0.05)));
        assert_eq!(seconds("uniform 0s 5s"), Some(Distribution::Uniform { low: 0.0, high: 5.0 }));
        assert_eq!(seconds("exponential 1s"), Some(Distribution::Exponential { mean: 1.0 }));
        let Rates(rates) = read_value("uniform 0bit/s 1Mbit/s").unwrap();
        assert_eq!(rates, Distribution::Uniform { low: 0.0, high: 125e3 });
        let Plain(number) = read_value("pareto-ii 12 1.2").unwrap();
        assert_eq!(number, Distribution::ParetoII { mean: 12.0, shape: 1.2 });
        assert_eq!(seconds("pareto 12s 1.2"), Some(Distribution::Pareto { mean: 12.0, shape: 1.2 }));
        assert!(seconds("uniform 5s").is_none() && seconds("uniform 5s 1s").is_none());
        assert!(seconds("pareto 1s 0.9").is_none() && read_value::<Plain>("a few").is_err());
    }
}
