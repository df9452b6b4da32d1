//! RFC 4828 Tables 1 to 4, closed forms, against the printed digits.
//!
//! N is segment plus 40 bytes of headers and the round-trip time 100 ms. The print comes from
//! constants rounded to three digits (f(p) = 0.816·√p + 7.34·p^1.5·(1 + 32p²)); the core's exact
//! ones lie within 0.1 % of it.

use tfrc::config::{MinInterval, TfrcSp};
use tfrc::equation::Equation;
use tfrc_units::{Duration, Probability};

const RTT: Duration = Duration::from_millis(100);
const SEGMENTS: [f64; 3] = [14.0, 536.0, 1460.0];
const HEADER: f64 = 40.0;

/// Rows of (drop rate, the three printed cells).
fn rows(csv: &str) -> Vec<(f64, [String; 3])> {
    csv.lines()
        .skip(2)
        .map(|line| {
            let mut fields = line.split(',').map(str::to_owned);
            let rate = fields.next().and_then(|x| x.parse().ok()).expect("a drop rate");
            (rate, std::array::from_fn(|_| fields.next().expect("a cell")))
        })
        .collect()
}

/// kB/s as the RFC printed it.
fn rounded_constants(n: f64, p: f64) -> f64 {
    let f = 0.816 * libm::sqrt(p) + 7.34 * p * libm::sqrt(p) * (1.0 + 32.0 * p * p);
    n / (0.1 * f) / 1000.0
}

/// kB/s by the core's equation.
fn exact(n: f64, p: f64) -> f64 {
    Equation::default().rate(n, RTT, Probability::saturating(p)).bytes_per_sec() / 1000.0
}

/// TFRC and TCP: the equation with the packet's own size.
fn tfrc(rate: impl Fn(f64, f64) -> f64, segment: f64, p: f64) -> f64 {
    rate(segment + HEADER, p)
}

/// TFRC-SP: the equation with the nominal segment size, at most a packet each Min Interval.
fn tfrc_sp(rate: impl Fn(f64, f64) -> f64, segment: f64, p: f64) -> f64 {
    let sp = TfrcSp::default();
    let MinInterval::Each(interval) = sp.min_interval else { panic!("RFC 4828 has a Min Interval") };
    let cap = (segment + HEADER) / interval.as_secs_f64() / 1000.0;
    rate(f64::from(sp.nominal.bytes()) + f64::from(sp.header), p).min(cap)
}

/// The rate of a segment size at a drop rate, from one of the two forms of the equation.
type Form = fn(&dyn Fn(f64, f64) -> f64, f64, f64) -> f64;

fn check(csv: &str, rows_expected: usize, form: Form, packet_drop_rate: fn(f64, f64) -> f64) {
    let rows = rows(csv);
    assert_eq!(rows.len(), rows_expected);
    for (rate, printed) in rows {
        for (segment, printed) in SEGMENTS.into_iter().zip(printed) {
            let p = packet_drop_rate(rate, segment + HEADER);
            let ours = form(&rounded_constants, segment, p);
            assert_eq!(format!("{ours:.2}"), printed, "{segment} bytes at {rate}");
            let ours = form(&exact, segment, p);
            let value: f64 = printed.parse().expect("a number");
            assert!(
                (ours - value).abs() <= 0.005 + 0.001 * value,
                "{segment} bytes at {rate}: {ours}, not {value}"
            );
        }
    }
}

fn per_packet(drop_rate: f64, _packet: f64) -> f64 {
    drop_rate
}

fn per_byte(drop_rate: f64, packet: f64) -> f64 {
    1.0 - libm::pow(1.0 - drop_rate, packet)
}

#[test]
fn table_1_tfrc_by_packet_drop_rate() {
    let csv = include_str!("../../../testdata/rfc4828/table-01.csv");
    check(csv, 13, |rate, segment, p| tfrc(rate, segment, p), per_packet);
}

#[test]
fn table_2_tfrc_sp_by_packet_drop_rate() {
    let csv = include_str!("../../../testdata/rfc4828/table-02.csv");
    check(csv, 13, |rate, segment, p| tfrc_sp(rate, segment, p), per_packet);
}

#[test]
fn table_3_tfrc_by_byte_drop_rate() {
    let csv = include_str!("../../../testdata/rfc4828/table-03.csv");
    check(csv, 12, |rate, segment, p| tfrc(rate, segment, p), per_byte);
}

#[test]
fn table_4_tfrc_sp_by_byte_drop_rate() {
    let csv = include_str!("../../../testdata/rfc4828/table-04.csv");
    check(csv, 12, |rate, segment, p| tfrc_sp(rate, segment, p), per_byte);
}
