//! RFC 4828: the closed forms of its first tables, and the numbers worked out in its text.

use tfrc::equation::{Equation, RtoPolicy};
use tfrc_units::{Duration, Probability, Rate};

use super::{Context, Settable, Values};
use crate::syntax::Profile;
use tfrc_lab::formula::number;

/// The constants of Tables 1 to 4 (RFC 4828 §A): the equation with its two constants rounded to
/// three digits, which gives every printed digit; milliseconds; bytes of headers that are counted
/// with each segment; packets a second that TFRC-SP may send (the Min Interval, §4.3); bytes of its
/// nominal segment.
const OF_TABLES: &[(&str, f64)] = &[
    ("equation.root", 0.816),
    ("equation.timeout", 7.34),
    ("equation.square", 32.0),
    ("rtt_ms", 100.0),
    ("header", HEADER),
    ("packets_per_second", MOST_PACKETS),
    ("nominal", NOMINAL),
];
pub(super) const CONSTANTS: Settable = Settable::Constants(OF_TABLES);

/// Bytes of the packets of Table 11.
const OF_TABLE_11: &[(&str, f64)] = &[("packet.tcp", 1500.0), ("packet.tfrc", 56.0)];
pub(super) const PACKETS: Settable = Settable::Constants(OF_TABLE_11);

/// Bytes of the headers that a packet is taken to have (RFC 4828 §3).
const HEADER: f64 = 40.0;
/// Packets a second: TFRC-SP keeps 10 ms between them (RFC 4828 §3).
const MOST_PACKETS: f64 = 100.0;
/// The segment size of the TCP that TFRC-SP is as fast as, bytes (RFC 4828 §3).
const NOMINAL: f64 = 1460.0;

/// The response functions with the constants in force.
struct Response {
    profile: Profile,
    root: f64,
    timeout: f64,
    square: f64,
    rtt: Duration,
    header: f64,
    most_packets: f64,
    nominal: f64,
}

impl Response {
    fn of(context: &Context<'_>) -> Self {
        let constant = |name| context.constant(OF_TABLES, name);
        Self {
            profile: context.profile,
            root: constant("equation.root"),
            timeout: constant("equation.timeout"),
            square: constant("equation.square"),
            rtt: Duration::from_secs_f64(constant("rtt_ms") / 1000.0),
            header: constant("header"),
            most_packets: constant("packets_per_second"),
            nominal: constant("nominal"),
        }
    }

    /// kB/s of `bytes` in each packet at the packet drop rate `p`; in the rfc profile it is the
    /// core's equation.
    fn rate(&self, bytes: f64, p: f64) -> f64 {
        match self.profile {
            Profile::AsPublished => {
                let f = self.root * p.sqrt() + self.timeout * p * p.sqrt() * (1.0 + self.square * p * p);
                bytes / (self.rtt.as_secs_f64() * f) / 1000.0
            }
            Profile::Rfc => {
                let p = Probability::saturating(p);
                Equation::default().rate(bytes, self.rtt, p).bytes_per_sec() / 1000.0
            }
        }
    }

    /// TFRC-SP's rate with headers: that of a TCP with nominal segments, or as many packets as it
    /// may send.
    fn small_packets(&self, segment: f64, p: f64) -> f64 {
        self.rate(self.nominal + self.header, p).min(self.most_packets * (segment + self.header) / 1000.0)
    }
}

/// The segment size in the name of a column, such as `tcp_tfrc_536B_KBps`.
fn segment(column: &str) -> Option<f64> {
    column.split('_').find_map(|part| part.strip_suffix('B')?.parse().ok())
}

/// The chance that a packet of `bytes` is dropped where each byte is with probability `b`.
fn packet_drop_rate(b: f64, bytes: f64) -> f64 {
    -(bytes * (-b).ln_1p()).exp_m1()
}

/// Table 1: TCP and TFRC at packet drop rates.
pub(super) fn table_01(context: &Context<'_>) -> Values {
    let response = Response::of(context);
    context.fill(|_, keys, column| {
        let p = number(keys.first()?)?;
        Some(response.rate(segment(column)? + response.header, p))
    })
}

/// Table 2: TFRC-SP at packet drop rates.
pub(super) fn table_02(context: &Context<'_>) -> Values {
    let response = Response::of(context);
    context.fill(|_, keys, column| Some(response.small_packets(segment(column)?, number(keys.first()?)?)))
}

/// Table 3: TCP and TFRC at byte drop rates.
pub(super) fn table_03(context: &Context<'_>) -> Values {
    let response = Response::of(context);
    context.fill(|_, keys, column| {
        let packet = segment(column)? + response.header;
        Some(response.rate(packet, packet_drop_rate(number(keys.first()?)?, packet)))
    })
}

/// Table 4: TFRC-SP at byte drop rates.
pub(super) fn table_04(context: &Context<'_>) -> Values {
    let response = Response::of(context);
    context.fill(|_, keys, column| {
        let segment = segment(column)?;
        let p = packet_drop_rate(number(keys.first()?)?, segment + response.header);
        Some(response.small_packets(segment, p))
    })
}

/// Table 11: packet drop rates at byte drop rates, of 1500 and, other than Tables 1 to 4, of 56
/// bytes.
pub(super) fn table_11(context: &Context<'_>) -> Values {
    let tcp = context.constant(OF_TABLE_11, "packet.tcp");
    let tfrc = context.constant(OF_TABLE_11, "packet.tfrc");
    context.fill(|_, keys, column| {
        let b = number(keys.first()?)?;
        Some(match column {
            "tcp_1460B_packet_drop_rate" => packet_drop_rate(b, tcp),
            "tfrc_14B_packet_drop_rate" => packet_drop_rate(b, tfrc),
            "tcp_over_tfrc_packet_drop_ratio" => packet_drop_rate(b, tcp) / packet_drop_rate(b, tfrc),
            _ => return None,
        })
    })
}

/// Per cent of packets dropped at which a TCP of `segment` bytes has the rate `bps`. As published
/// t_RTO is 2R, on which RFC 3714 Table 1 rests; in the other profile 4R, as in RFC 4828's own
/// equation.
fn drop_percent(profile: Profile, segment: f64, rtt: Duration, bps: f64) -> Option<f64> {
    let rto = match profile {
        Profile::AsPublished => RtoPolicy::Fixed(rtt * 2),
        Profile::Rfc => RtoPolicy::FourRtt,
    };
    let equation = Equation { rto, ..Equation::default() };
    let p = equation.loss_event_rate(segment, rtt, Rate::from_bytes_per_sec(bps / 8.0)).ok()?;
    Some(p.get() * 100.0)
}

/// The numbers of the text: one row each, named after its section.
pub(super) fn worked_numbers(context: &Context<'_>) -> Values {
    // The voice of §5, without headers, and that of §8, with them.
    let (call, call_rtt) = (64e3, Duration::from_millis(100));
    let (voice, voice_rtt) = (128e3, Duration::from_millis(200));
    let data_of = |segment: f64| voice / 1000.0 * segment / (segment + HEADER);
    context.fill(|context, keys, _| {
        Some(match keys.first()?.as_str() {
            "s4.2-120B" => data_of(120.0),
            "s4.2-40B" => data_of(40.0),
            "s4.2-1B" => data_of(1.0),
            "s4.5.3-536" => NOMINAL / 536.0,
            "s4.5.3-4000" => 4000.0 / NOMINAL,
            "s5-packets" => call * call_rtt.as_secs_f64() / 8.0 / 1500.0,
            "s5-drop" => drop_percent(context.profile, 1500.0, call_rtt, call)?,
            "s8-packets" => voice * voice_rtt.as_secs_f64() / 8.0 / NOMINAL,
            "s8-drop" => drop_percent(context.profile, NOMINAL, voice_rtt, voice)?,
            "s8-headers" => (10.0 + 100.0) / (10.0 + HEADER),
            "b1-data" => 100.0 * 14.0 / (14.0 + 32.0),
            "b1-tcp" => 100.0 * NOMINAL / (NOMINAL + HEADER),
            "b1-limit" => MOST_PACKETS * NOMINAL * 8.0 / 1000.0,
            "b2-ratio" => 1500.0 / 56.0,
            "b2-56B" => 100.0 * packet_drop_rate(0.01, 56.0),
            "b2-40B" => 100.0 * packet_drop_rate(0.01, HEADER),
            "b2-best-0.001" => 0.15 / 0.001,
            "b4-size" => (NOMINAL + HEADER) / (200.0 + 32.0),
            "c-short" => short_interval(64.0, 16.0),
            _ => return None,
        })
    })
}

/// Returns the loss interval that a short interval counts for, in packets (RFC 4828 §4.4).
fn short_interval(packets: f64, lost: f64) -> f64 {
    packets / lost
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn bytes_dropped_one_by_one() {
        // Two bytes at one half each: a quarter gets through.
        assert!((packet_drop_rate(0.5, 2.0) - 0.75).abs() < 1e-15);
        // Small rates add up, without a loss of digits.
        assert!((packet_drop_rate(1e-12, 1500.0) / 1.5e-9 - 1.0).abs() < 1e-8);
    }

    #[test]
    fn drop_rates_of_the_voice_flows() {
        let voice = |profile| {
            drop_percent(profile, 1500.0, Duration::from_millis(100), 64e3).expect("a rate in range")
        };
        // RFC 3714 takes t_RTO = 2R; both values are worked out apart from the code.
        assert!((voice(Profile::AsPublished) - 25.5).abs() < 0.05);
        assert!((voice(Profile::Rfc) - 20.0).abs() < 0.1);
    }

    #[test]
    fn at_most_a_hundred_packets_a_second() {
        let of = |set: &[String]| {
            let context = Context {
                profile: Profile::Rfc,
                rows: Vec::new(),
                columns: Vec::new(),
                set,
                seeds: Vec::new(),
                packet_hops: Cell::new(0),
            };
            Response::of(&context)
        };
        let response = of(&[]);
        assert_eq!(response.small_packets(14.0, 1e-5), 5.4);
        assert_eq!(response.small_packets(14.0, 0.5), response.small_packets(1460.0, 0.5));
        // The last number that is set counts.
        let set = ["packets_per_second=10".to_owned(), "packets_per_second = 200".to_owned()];
        assert_eq!(of(&set).small_packets(14.0, 1e-5), 10.8);
    }
}
