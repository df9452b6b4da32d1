//! The points of the map and of the fresh set with what each algorithm got there, and their bands.

use std::collections::BTreeMap;

use serde_json::Value;

use super::kernel::Kernel;
use super::mixes::Mixes;

/// A place on the map, by the texts of its keys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    pub(super) tcp: String,
    pub(super) rate: String,
    pub(super) rtt: String,
    pub(super) queue: String,
    pub(super) tcps: String,
    pub(super) tfrcs: String,
}

impl Point {
    /// The point of a row, by its first six keys.
    pub(super) fn of(row: &str) -> Option<Self> {
        let mut keys = row.split('/').map(str::to_owned);
        let mut next = || keys.next();
        Some(Self {
            tcp: next()?,
            rate: next()?,
            rtt: next()?,
            queue: next()?,
            tcps: next()?,
            tfrcs: next()?,
        })
    }

    pub(super) fn flows(&self) -> String {
        format!("{} + {}", self.tcps, self.tfrcs)
    }
}

/// The values of a point by their columns.
pub(super) type Values = BTreeMap<String, f64>;
/// One algorithm on all of its points.
pub(super) type Course = BTreeMap<Point, Values>;

/// The TCP of an algorithm's equation, for its band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obeys {
    Reno,
    Cubic,
}

/// All results.
#[derive(Debug, Default)]
pub(super) struct Laboratory {
    /// Algorithms of the map by the names of its variants; RFC 5348 is `rfc5348`.
    pub(super) map: BTreeMap<String, Course>,
    /// Those of the fresh set: `told`, `rfc5348` and `harm`.
    pub(super) fresh: BTreeMap<String, Course>,
    /// TCPs alone: tcp, other, rate, rtt, queue, tcps, others.
    tcps: BTreeMap<Vec<String>, Values>,
    /// The kernel's side.
    pub(super) kernel: Kernel,
    /// The friend by shape next to both TCPs at once.
    pub(super) mixes: Mixes,
}

impl Laboratory {
    pub(super) fn of(documents: &[Value]) -> Result<Self, String> {
        let mut laboratory = Self::default();
        for experiment in documents.iter().flat_map(|one| array(&one["experiments"])) {
            let cells = array(&experiment["cells"]);
            match experiment["id"].as_str().unwrap_or_default() {
                "modern/fairness-tcp" => {
                    for (row, values) in table(cells, "measured") {
                        laboratory.tcps.insert(row.split('/').take(7).map(str::to_owned).collect(), values);
                    }
                }
                "modern/fairness-map" => {
                    add(&mut laboratory.map, "rfc5348", cells, "measured");
                    variants(&mut laboratory.map, experiment);
                }
                "modern/fairness-fresh" => {
                    add(&mut laboratory.fresh, "told", cells, "measured");
                    add(&mut laboratory.fresh, "rfc5348", cells, "rfc_profile");
                    variants(&mut laboratory.fresh, experiment);
                }
                "modern/fairness-kernel" => laboratory.kernel.add_points(cells),
                "modern/fairness-minute" => laboratory.kernel.add_minute(cells),
                "modern/fairness-shape" => laboratory.mixes.add(experiment),
                other => return Err(format!("`{other}` is not an experiment of fairness")),
            }
        }
        // The profile told its friend is two variants of the map; so is that without its t_RTO.
        for (name, next_to_sack, next_to_cubic) in
            [("told", "told-reno", "told-cubic"), ("no-rto", "pairs", "pairs-cubic")]
        {
            let of = |variant: &str, tcp: &str| {
                let points = laboratory.map.get(variant).into_iter().flatten();
                points.filter(|(point, _)| point.tcp == tcp).map(|(p, v)| (p.clone(), v.clone())).collect()
            };
            let mut both: Course = of(next_to_sack, "sack");
            both.append(&mut of(next_to_cubic, "cubic"));
            laboratory.map.insert(name.to_owned(), both);
        }
        Ok(laboratory)
    }

    /// The goodput of the other TCP in TFRC's place over that of the point's TCP, binary logarithm.
    fn in_place(&self, point: &Point, column: &str) -> Option<f64> {
        let other = if point.tcp == "sack" { "cubic" } else { "sack" };
        let key = |tcp: &str, other: &str, tcps: &str, others: &str| {
            [tcp, other, &point.rate, &point.rtt, &point.queue, tcps, others].map(str::to_owned).to_vec()
        };
        let row = self.tcps.get(&key(&point.tcp, other, &point.tcps, &point.tfrcs));
        if let Some(values) = row {
            return values.get(column).copied();
        }
        let mirrored = self.tcps.get(&key(other, &point.tcp, &point.tfrcs, &point.tcps))?;
        mirrored.get(column).filter(|_| column == "ratio_log2").map(|ratio| -ratio)
    }

    /// CUBIC's goodput over SACK's in the same place, binary logarithm.
    pub(super) fn cubic_over_sack(&self, point: &Point) -> Option<f64> {
        let ratio = self.in_place(point, "ratio_log2")?;
        Some(if point.tcp == "sack" { ratio } else { -ratio })
    }

    /// Mbit/s of a SACK next to CUBIC.
    pub(super) fn sack_next_to_cubic(&self, point: &Point) -> Option<f64> {
        self.in_place(point, "tcp_mbps").filter(|_| point.tcp == "sack")
    }

    /// The band of an algorithm at a point, binary logarithms; `README.md` of the map has the rule.
    pub(super) fn band(&self, point: &Point, obeys: Obeys) -> Option<(f64, f64)> {
        let cubic = self.cubic_over_sack(point);
        Some(match (point.tcp.as_str(), obeys) {
            ("sack", _) => (-1.0, 1.0 + cubic?.max(0.0)),
            (_, Obeys::Reno) => (-1.0 - cubic?, 1.0 - cubic?),
            (_, Obeys::Cubic) => (-1.0, 1.0),
        })
    }
}

fn variants(courses: &mut BTreeMap<String, Course>, experiment: &Value) {
    for variant in array(&experiment["variants"]) {
        let name = variant["name"].as_str().unwrap_or_default();
        add(courses, name, array(&variant["cells"]), "measured");
    }
}

fn add(courses: &mut BTreeMap<String, Course>, name: &str, cells: &[Value], key: &str) {
    let rows = table(cells, key).into_iter();
    let course: Course = rows.filter_map(|(row, values)| Some((Point::of(&row)?, values))).collect();
    courses.entry(name.to_owned()).or_default().extend(course);
}

/// The values of one kind by row and column.
pub(super) fn table(cells: &[Value], key: &str) -> BTreeMap<String, Values> {
    let mut rows: BTreeMap<String, Values> = BTreeMap::new();
    for cell in cells {
        let (row, column) = (cell["row"].as_str(), cell["column"].as_str());
        if let (Some(row), Some(column), Some(value)) = (row, column, cell[key].as_f64()) {
            rows.entry(row.to_owned()).or_default().insert(column.to_owned(), value);
        }
    }
    rows
}

pub(super) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn laboratory() -> Laboratory {
        let cell =
            |row: &str, column: &str, value: f64| json!({ "row": row, "column": column, "measured": value });
        let tcp = json!({ "experiments": [{ "id": "modern/fairness-tcp", "cells": [
            cell("sack/cubic/2M/10ms/red/1/1/x", "ratio_log2", 2.0),
            cell("sack/cubic/2M/10ms/red/1/1/x", "tcp_mbps", 0.4),
            cell("cubic/sack/2M/10ms/red/8/1/x", "ratio_log2", -3.0),
        ] }] });
        Laboratory::of(&[tcp]).expect("known")
    }

    fn point(tcp: &str, tcps: &str, tfrcs: &str) -> Point {
        Point::of(&format!("{tcp}/2M/10ms/red/{tcps}/{tfrcs}/x")).expect("six keys")
    }

    /// The rule of the bands, by hand.
    #[test]
    fn bands_follow_the_tcps_alone() {
        let of = laboratory();
        assert_eq!(of.band(&point("sack", "1", "1"), Obeys::Reno), Some((-1.0, 3.0)));
        assert_eq!(of.band(&point("cubic", "1", "1"), Obeys::Reno), Some((-3.0, -1.0)));
        assert_eq!(of.band(&point("cubic", "1", "1"), Obeys::Cubic), Some((-1.0, 1.0)));
        // One SACK against eight CUBIC in TFRC's place is eight CUBIC against one SACK, mirrored.
        assert_eq!(of.cubic_over_sack(&point("sack", "1", "8")), Some(3.0));
        assert_eq!(of.cubic_over_sack(&point("cubic", "8", "1")), Some(3.0));
        assert_eq!(of.band(&point("sack", "4", "4"), Obeys::Reno), None, "it was not run");
        assert_eq!(of.sack_next_to_cubic(&point("sack", "1", "1")), Some(0.4));
        assert_eq!(of.sack_next_to_cubic(&point("sack", "1", "8")), None);
    }

    #[test]
    fn other_experiments_are_refused() {
        let other = json!({ "experiments": [{ "id": "modern/tcp-matrix", "cells": [] }] });
        assert!(Laboratory::of(&[other]).is_err());
    }
}
