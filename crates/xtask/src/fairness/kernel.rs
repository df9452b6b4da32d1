//! The kernel's side: points of the map in both worlds, and a minute next to its CUBIC.

use std::collections::BTreeMap;

use serde_json::Value;

use super::points::{Laboratory, Obeys, Point, table};
use super::tables::{head, median, row};

/// Binary logarithm of the ratio at a point: simulated, and the kernel's.
type Ratios = [f64; 2];
/// A share with half of its interval, as a text: the kernel's, and simulated.
type Shares = [String; 2];

/// The points and the shares of the experiments with recorded emulated runs.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    points: BTreeMap<(String, Point), Ratios>,
    minute: BTreeMap<(String, String), Shares>,
}

impl Kernel {
    /// Takes the cells of `modern/fairness-kernel`.
    pub(super) fn add_points(&mut self, cells: &[Value]) {
        let recorded = table(cells, "emulated");
        for (name, values) in table(cells, "measured") {
            let Some(profile) = name.split('/').nth(6) else { continue };
            let column = format!("{profile}_log2");
            let ratio = values.get(&column).copied();
            let kernel = recorded.get(&name).and_then(|values| values.get(&column).copied());
            if let (Some(point), Some(ratio), Some(kernel)) = (Point::of(&name), ratio, kernel) {
                self.points.insert((profile.to_owned(), point), [ratio, kernel]);
            }
        }
    }

    /// Takes the cells of `modern/fairness-minute`.
    pub(super) fn add_minute(&mut self, cells: &[Value]) {
        let share = |value: &Value, half: &Value| match (value.as_f64(), half.as_f64()) {
            (Some(value), Some(half)) => format!("{value:.2} ± {half:.2}"),
            (Some(value), None) => format!("{value:.2}"),
            (None, _) => "–".to_owned(),
        };
        for cell in cells.iter().filter(|cell| cell["column"] == "share") {
            let mut keys = cell["row"].as_str().unwrap_or_default().split('/').map(str::to_owned);
            let (Some(profile), Some(rtt)) = (keys.next(), keys.nth(1)) else { continue };
            let shares =
                [share(&cell["emulated"], &cell["emulated_ci95"]), share(&cell["measured"], &cell["ci95"])];
            self.minute.insert((profile, rtt), shares);
        }
    }

    /// The table of the points: rows where both worlds are on the same side.
    pub(super) fn sides(&self, of: &Laboratory) -> String {
        let columns = [
            "algorithm",
            "next to",
            "same side of a factor of two",
            "of the map's band",
            "within two: simulated, kernel",
            "factor between the ratios, median",
        ];
        let mut out = head(&columns);
        for (profile, title) in [("rfc5348", "RFC 5348"), ("balanced", "balanced, told its friend")] {
            for (tcps, next_to) in [
                (&["sack"][..], "Reno"),
                (&["cubic"], "CUBIC"),
                (&["bbr"], "BBR"),
                (&["sack", "cubic", "bbr"], "all"),
            ] {
                let points = self
                    .points
                    .iter()
                    .filter(|((name, point), _)| name == profile && tcps.contains(&point.tcp.as_str()));
                let points: Vec<(&Point, Ratios)> =
                    points.map(|((_, point), ratios)| (point, *ratios)).collect();
                if points.is_empty() {
                    continue;
                }
                let count = |fits: &dyn Fn(&Point, Ratios) -> bool| {
                    points.iter().filter(|(point, ratios)| fits(point, *ratios)).count()
                };
                let of_two = count(&|_, [a, b]| side(a, (-1.0, 1.0)) == side(b, (-1.0, 1.0)));
                let of_band = count(&|point, [a, b]| {
                    let band = band(of, profile, point);
                    band.is_some_and(|band| side(a, band) == side(b, band))
                });
                let within = |world: usize| count(&|_, ratios| ratios[world].abs() <= 1.0);
                let distances: Vec<f64> = points.iter().map(|(_, [a, b])| (a - b).abs().exp2()).collect();
                out += &row(&[
                    title.to_owned(),
                    next_to.to_owned(),
                    share(of_two, points.len()),
                    share(of_band, points.len()),
                    format!("{}, {}", within(0), within(1)),
                    median(&distances),
                ]);
            }
        }
        out
    }

    /// The points where the worlds are on different sides of a factor of two.
    pub(super) fn apart(&self) -> String {
        let mut out = head(&["algorithm", "point", "simulated", "kernel"]);
        let two = (-1.0, 1.0);
        for ((profile, point), [a, b]) in
            self.points.iter().filter(|(_, [a, b])| side(*a, two) != side(*b, two))
        {
            let Point { tcp, rate, rtt, queue, .. } = point;
            let place = format!("{tcp}, {rate}bit/s, {rtt}, {queue}, {}", point.flows());
            out += &row(&[profile.clone(), place, format!("{:.2}", a.exp2()), format!("{:.2}", b.exp2())]);
        }
        out
    }

    /// TFRC's share in a minute, before and after.
    pub(super) fn shares(&self) -> String {
        let columns = [
            "round-trip time",
            "RFC 5348, kernel",
            "RFC 5348, simulated",
            "balanced, kernel",
            "balanced, simulated",
        ];
        let mut out = head(&columns);
        for rtt in ["10ms", "50ms", "200ms"] {
            let of = |profile: &str| self.minute.get(&(profile.to_owned(), rtt.to_owned()));
            let mut cells = vec![rtt.to_owned()];
            for profile in ["rfc5348", "balanced"] {
                cells.extend(of(profile).cloned().unwrap_or_else(|| ["–".to_owned(), "–".to_owned()]));
            }
            out += &row(&cells);
        }
        out
    }
}

/// The band of a profile at a point; a factor of two next to BBR, which has none.
fn band(of: &Laboratory, profile: &str, point: &Point) -> Option<(f64, f64)> {
    match (point.tcp.as_str(), profile) {
        ("bbr", _) => Some((-1.0, 1.0)),
        ("cubic", "balanced") => of.band(point, Obeys::Cubic),
        _ => of.band(point, Obeys::Reno),
    }
}

/// Below, in or above a band.
fn side(ratio: f64, (low, high): (f64, f64)) -> (bool, bool) {
    (ratio < low, ratio > high)
}

fn share(part: usize, whole: usize) -> String {
    format!("{part} of {whole} ({:.0} %)", 100.0 * part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn points_on_different_sides_are_counted_and_named() {
        let cell = |tcp: &str, measured: f64, emulated: f64| {
            json!({ "row": format!("{tcp}/2M/10ms/red/1/1/rfc5348/reno/20p/5/15"), "column": "rfc5348_log2",
                "measured": measured, "emulated": emulated })
        };
        let mut kernel = Kernel::default();
        kernel.add_points(&[cell("sack", 1.1, 1.5), cell("bbr", -0.9, -1.1)]);
        let sides = kernel.sides(&Laboratory::default());
        assert!(sides.contains("| RFC 5348 | Reno | 1 of 1 (100 %) |"), "{sides}");
        assert!(sides.contains("| RFC 5348 | BBR | 0 of 1 (0 %) | 0 of 1 (0 %) | 1, 0 | 1.15 |"), "{sides}");
        assert!(sides.contains("| RFC 5348 | all | 1 of 2 (50 %) |"), "{sides}");
        let apart = kernel.apart();
        assert!(apart.contains("bbr, 2Mbit/s, 10ms, red, 1 + 1 | 0.54 | 0.47 |"), "{apart}");
        assert!(!apart.contains("sack"), "{apart}");
    }

    #[test]
    fn shares_have_their_intervals() {
        let cell = json!({ "row": "balanced/cubic/50ms/42p", "column": "share", "measured": 0.5, "ci95": 0.02,
            "emulated": 0.456, "emulated_ci95": 0.1 });
        let mut kernel = Kernel::default();
        kernel.add_minute(&[cell]);
        assert!(kernel.shares().contains("| 50ms | – | – | 0.46 ± 0.10 | 0.50 ± 0.02 |"));
    }
}
