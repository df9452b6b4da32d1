//! Values that are written as text: each type has its grammar for serde, and its JSON Schema.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use tfrc_sim::queue::Limit;
use tfrc_sim::traffic::Distribution;
use tfrc_units::text::{self, Readings, TextError, TextErrorKind};
use tfrc_units::{Dscp, Duration, Rate, schema};

use super::{RoundTrip, distribution};

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
    QueueLimit(Limit), LIMIT, limit
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

/// Forms in which a limit may be written.
const LIMIT: &str = "packets (\"25p\"), bytes (\"50kB\"), \"20 buffers of 500B\", \
    ns-2's (\"25p ns2\", \"50kB ns2\", \"50kB ns2-red\"), or \"unlimited\"";

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

/// A limit of a queue. A bare number is a question: packets, or bytes?
fn limit(written: &str) -> Result<Limit, TextErrorKind> {
    let written = written.trim();
    let (plain, habit) = match written.rsplit_once(' ') {
        Some((plain, habit @ ("ns2" | "ns2-red"))) => (plain.trim(), habit),
        _ => (written, ""),
    };
    let whole = |digits: &str| {
        digits.trim().replace('_', "").parse::<u64>().map_err(|_| TextErrorKind::NotUnderstood)
    };
    if let Some((count, each)) = plain.split_once("buffers of") {
        let bytes = packet_bytes(each.trim())?;
        return match habit {
            "" => Ok(Limit::Buffers { count: whole(count)?, bytes }),
            _ => Err(TextErrorKind::NotUnderstood),
        };
    }
    let bytes = || match (text::size(plain), plain.parse()) {
        (Err(TextError { kind: TextErrorKind::NoUnit(_), .. }), Ok(number)) => {
            Err(TextErrorKind::NoUnit(Readings::of(number, ["p", "B"])))
        }
        (bytes, _) => bytes.map_err(|error| error.kind),
    };
    let packets = plain.strip_suffix("packets").or_else(|| plain.strip_suffix('p'));
    match (packets, habit) {
        (None, "") if plain == "unlimited" => Ok(Limit::Unlimited),
        (Some(digits), "") => whole(digits).map(Limit::Packets),
        (Some(digits), "ns2") => whole(digits).map(Limit::Ns2Packets),
        (Some(_), _) => Err(TextErrorKind::NotUnderstood),
        (None, "ns2") => bytes().map(Limit::Ns2Bytes),
        (None, "ns2-red") => bytes().map(Limit::Ns2RedBytes),
        (None, _) => bytes().map(Limit::Bytes),
    }
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

    #[test]
    fn limits() {
        for (written, expected) in [
            ("25p", Some(Limit::Packets(25))),
            ("10 packets", Some(Limit::Packets(10))),
            ("50kB", Some(Limit::Bytes(50_000))),
            ("25p ns2", Some(Limit::Ns2Packets(25))),
            ("50kB ns2", Some(Limit::Ns2Bytes(50_000))),
            ("50kB ns2-red", Some(Limit::Ns2RedBytes(50_000))),
            ("20 buffers of 500B", Some(Limit::Buffers { count: 20, bytes: 500 })),
            ("unlimited", Some(Limit::Unlimited)),
            ("2.5p", None),
            ("25p ns2-red", None),
            ("unlimited ns2", None),
        ] {
            assert_eq!(limit(written).ok(), expected, "{written}");
        }
        for written in ["25", "25 ns2"] {
            let asked = limit(written).map_err(|kind| kind.to_string());
            assert_eq!(asked, Err("has no unit: 25p or 25B?".to_owned()));
        }
    }
}
