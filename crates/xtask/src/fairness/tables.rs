//! The tables of `docs/fairness.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::points::{Course, Laboratory, Obeys, Point, Values};

/// Binary logarithm of the factor that points may be off without a reference.
const TWO: f64 = 1.0;
/// That beyond which a factor only says that one of both had nothing.
const FAR: f64 = 10.0;
/// The algorithms of the tables by their names among the results.
const ALGORITHMS: [(&str, &str, &str); 3] = [
    ("rfc5348", "RFC 5348", "RFC 5348"),
    ("told", "balanced, told its friend", "told"),
    ("by-shape", "balanced, friend by shape", "by shape"),
];
const FACTORS: [(&str, &str); 5] = [
    ("obedience_log2", "obedience"),
    ("loss_events_log2", "p"),
    ("rtt_log2", "R"),
    ("rto_log2", "t_RTO"),
    ("tcp_log2", "TCP"),
];

/// The tables by the names of their marks.
pub(super) fn all(of: &Laboratory) -> Vec<(&'static str, String)> {
    vec![
        ("today", today(of)),
        ("causes", causes(of)),
        ("ablation", ablation(of)),
        ("queues", by(of, "queue", |point| point.queue.clone())),
        ("delays", by(of, "round-trip time", |point| point.rtt.clone())),
        ("flows", by(of, "flows, TCP + TFRC", Point::flows)),
        ("fresh", fresh(of)),
        ("kernel", of.kernel.sides(of)),
        ("apart", of.kernel.apart()),
        ("minute", of.kernel.shares()),
        ("mixes", of.mixes.table()),
    ]
}

/// The ratios of an algorithm at points, and the points in band and in a factor of two.
#[derive(Debug, Default)]
struct Tally {
    ratios: Vec<f64>,
    in_two: usize,
    in_band: usize,
    variation: Vec<f64>,
}

impl Tally {
    fn add(&mut self, of: &Laboratory, point: &Point, values: &Values, obeys: Obeys) {
        let Some(ratio) = values.get("ratio_log2") else { return };
        self.ratios.push(*ratio);
        self.in_two += usize::from(ratio.abs() <= TWO);
        let fits = |(low, high): (f64, f64)| (low..=high).contains(ratio);
        self.in_band += usize::from(of.band(point, obeys).is_some_and(fits));
        self.variation.extend(values.get("cov_ratio").filter(|_| point.tcps != "1" && point.tfrcs != "1"));
    }

    fn share(&self, part: usize) -> String {
        let whole = self.ratios.len();
        if whole == 0 {
            return "–".to_owned();
        }
        format!("{part} of {whole} ({:.0} %)", 100.0 * part as f64 / whole as f64)
    }

    /// The median, 90th percentile and greatest distance from 1, as factors.
    fn distances(&self) -> String {
        let mut sizes: Vec<f64> = self.ratios.iter().map(|ratio| ratio.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * (sizes.len().saturating_sub(1)) as f64).round();
            match sizes.get(place as usize) {
                Some(size) if *size > FAR => ">1000".to_owned(),
                Some(size) => format!("{:.2}", size.exp2()),
                None => "–".to_owned(),
            }
        };
        format!("{}, {}, {}", at(0.5), at(0.9), at(1.0))
    }
}

pub(super) fn median(values: &[f64]) -> String {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).map_or("–".to_owned(), |value| format!("{value:.2}"))
}

/// The equation that an algorithm of this name obeys next to a TCP.
fn obeys(name: &str, point: &Point) -> Obeys {
    let cubic = matches!(name, "friend-cubic" | "harm" | "by-shape" | "by-shape-reno")
        || (matches!(name, "told" | "no-rto") && point.tcp == "cubic");
    if cubic { Obeys::Cubic } else { Obeys::Reno }
}

fn tally(of: &Laboratory, course: &Course, name: &str, wanted: &dyn Fn(&Point) -> bool) -> Tally {
    let mut tally = Tally::default();
    for (point, values) in course.iter().filter(|(point, _)| wanted(point)) {
        tally.add(of, point, values, obeys(name, point));
    }
    tally
}

/// Returns true for a point of the map at which the profile was run.
fn is_common(of: &Laboratory, point: &Point) -> bool {
    of.map.get("told").is_some_and(|told| told.contains_key(point))
}

pub(super) fn head(columns: &[&str]) -> String {
    format!("| {} |\n|{}\n", columns.join(" | "), " --- |".repeat(columns.len()))
}

pub(super) fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Each algorithm next to each TCP, over the points `among` a set's.
fn next_to_each(
    of: &Laboratory,
    set: &BTreeMap<String, Course>,
    variation: &str,
    among: &dyn Fn(&Point) -> bool,
) -> String {
    let columns = ["algorithm", "next to", "within two", "in band", "median, 90 %, worst factor", variation];
    let mut out = head(&columns);
    for (name, title, _) in ALGORITHMS {
        let Some(course) = set.get(name) else { continue };
        for tcp in ["sack", "cubic"] {
            let tally = tally(of, course, name, &|point| point.tcp == tcp && among(point));
            out += &row(&[
                title.to_owned(),
                tcp.to_uppercase(),
                tally.share(tally.in_two),
                tally.share(tally.in_band),
                tally.distances(),
                median(&tally.variation),
            ]);
        }
    }
    out
}

/// Each algorithm over the whole map.
fn today(of: &Laboratory) -> String {
    let common = |point: &Point| is_common(of, point);
    let mut out = next_to_each(of, &of.map, "variation over TCP's", &common);
    let both = |name: &str| {
        let Some(course) = of.map.get(name) else { return "–".to_owned() };
        let places: BTreeSet<Point> = course
            .keys()
            .filter(|point| is_common(of, point))
            .map(|point| Point { tcp: String::new(), ..point.clone() })
            .collect();
        let fits = |place: &Point, tcp: &str| {
            let point = Point { tcp: tcp.to_owned(), ..place.clone() };
            course.get(&point).and_then(|values| values.get("ratio_log2")).is_some_and(|r| r.abs() <= TWO)
        };
        let good = places.iter().filter(|place| fits(place, "sack") && fits(place, "cubic")).count();
        format!("{good} of {}", places.len())
    };
    let _ = writeln!(
        out,
        "\nPlaces in which both peers are within a factor of two: {} by RFC 5348, {} by the\nprofile told its friend, {} by shape.",
        both("rfc5348"),
        both("told"),
        both("by-shape")
    );
    out
}

/// The factors of the points of RFC 5348 that are out of a factor of two, means of logarithms.
fn causes(of: &Laboratory) -> String {
    let Some(course) = of.map.get("rfc5348") else { return String::new() };
    let names = FACTORS.map(|(_, name)| name);
    let mut out = head(&[&["points", "number", "ratio"][..], &names, &["not compared"]].concat());
    for (title, tcp, high) in [
        ("high, SACK", "sack", true),
        ("high, CUBIC", "cubic", true),
        ("low, SACK", "sack", false),
        ("low, CUBIC", "cubic", false),
    ] {
        let ratio = |values: &Values| values.get("ratio_log2").copied().unwrap_or(0.0);
        let is_meant = |values: &Values| if high { ratio(values) > TWO } else { ratio(values) < -TWO };
        let points: Vec<&Values> = course
            .iter()
            .filter(|(point, values)| point.tcp == tcp && is_meant(values))
            .map(|(_, v)| v)
            .collect();
        let compared: Vec<&Values> =
            points.iter().copied().filter(|values| values.contains_key("tcp_log2")).collect();
        let mean = |of: &dyn Fn(&Values) -> f64| {
            let sum: f64 = compared.iter().map(|values| of(values)).sum();
            if compared.is_empty() {
                "–".to_owned()
            } else {
                format!("{:+.2}", sum / compared.len() as f64)
            }
        };
        let mut cells = vec![title.to_owned(), points.len().to_string(), mean(&ratio)];
        let factor = |key: &'static str| move |values: &Values| values.get(key).copied().unwrap_or(0.0);
        cells.extend(FACTORS.map(|(key, _)| mean(&factor(key))));
        cells.push((points.len() - compared.len()).to_string());
        out += &row(&cells);
    }
    out
}

/// Each part alone, at the points that all of them were run at.
fn ablation(of: &Laboratory) -> String {
    let parts = [
        ("rfc5348", "RFC 5348"),
        ("rto-200ms", "t_RTO at least 200 ms"),
        ("rto-linux", "t_RTO = R + max(200 ms, 4·RTTVAR)"),
        ("pairs", "pairs above 3 packets"),
        ("pairs-4", "pairs above 4 packets"),
        ("friend-cubic", "CUBIC's equation"),
        ("no-rto", "balanced without t_RTO, told its friend"),
        ("told", "balanced, told its friend"),
        ("by-shape", "balanced, friend by shape"),
        ("by-shape-reno", "the same, Reno first"),
    ];
    let Some(common) = of.map.get("pairs") else { return String::new() };
    let columns = ["algorithm", "SACK, within two", "CUBIC, within two", "median, 90 %, worst", "variation"];
    let mut out = head(&columns);
    for (name, title) in parts {
        let Some(course) = of.map.get(name) else { continue };
        let at = |tcp: &'static str| tally(of, course, name, &|p| p.tcp == tcp && common.contains_key(p));
        let (sack, cubic) = (at("sack"), at("cubic"));
        let whole = tally(of, course, name, &|point| common.contains_key(point));
        out += &row(&[
            title.to_owned(),
            sack.share(sack.in_two),
            cubic.share(cubic.in_two),
            whole.distances(),
            median(&whole.variation),
        ]);
    }
    out
}

/// Points within a factor of two and in band by one of their keys.
fn by(of: &Laboratory, title: &str, key: impl Fn(&Point) -> String) -> String {
    let algorithms = ALGORITHMS.map(|(name, _, short)| (name, short));
    let titles =
        algorithms.iter().flat_map(|(_, short)| [format!("{short}, SACK"), format!("{short}, CUBIC")]);
    let columns: Vec<String> = std::iter::once(title.to_owned()).chain(titles).collect();
    let mut out = head(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    let Some(course) = of.map.get("rfc5348") else { return out };
    let mut values: Vec<String> = course.keys().map(&key).collect();
    values.sort_by_key(|text| (number(text), text.clone()));
    values.dedup();
    for value in values {
        let mut cells = vec![value.clone()];
        for (name, _) in algorithms {
            for tcp in ["sack", "cubic"] {
                let wanted = |point: &Point| point.tcp == tcp && key(point) == value && is_common(of, point);
                let tally =
                    of.map.get(name).map(|course| tally(of, course, name, &wanted)).unwrap_or_default();
                cells.push(format!("{} of {}", tally.in_two, tally.ratios.len()));
            }
        }
        out += &row(&cells);
    }
    out
}

/// The number that a text begins with.
fn number(text: &str) -> u64 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(u64::MAX)
}

/// The bars on the fresh set, and the harm to SACK on both sets.
fn fresh(of: &Laboratory) -> String {
    let mut out = next_to_each(of, &of.fresh, "variation, 4 + 4 flows", &|_| true);
    for (set, title) in [(&of.map, "the map"), (&of.fresh, "the fresh set")] {
        let Some(course) = set.get("harm") else { continue };
        let part = |(point, values): (&Point, &Values)| {
            Some(values.get("tcp_mbps")? / of.sack_next_to_cubic(point)?.max(1e-9))
        };
        let parts: Vec<f64> = course.iter().filter_map(part).collect();
        let good = parts.iter().filter(|part| **part >= 0.5).count();
        let least = parts.iter().copied().fold(f64::INFINITY, f64::min);
        let _ = writeln!(
            out,
            "\nHarm on {title}: at {good} of {} points a SACK gets at least half of its part next to CUBIC;\n\
             the least is {least:.2}.",
            parts.len()
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_factors() {
        let tally = Tally { ratios: vec![-1.0, 0.0, 2.0], ..Tally::default() };
        assert_eq!(tally.distances(), "2.00, 4.00, 4.00");
        let starved = Tally { ratios: vec![21.0], ..Tally::default() };
        assert_eq!(starved.distances(), ">1000, >1000, >1000");
        assert_eq!(tally.share(1), "1 of 3 (33 %)");
        assert_eq!(Tally::default().share(0), "–");
        assert_eq!(median(&[]), "–");
    }

    #[test]
    fn keys_are_ordered_by_their_numbers() {
        assert!(number("50ms") < number("100ms") && number("red") == u64::MAX);
    }
}
