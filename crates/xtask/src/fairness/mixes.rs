//! TFRC next to SACK and CUBIC at once: the friend by shape beside the friends that are told.

use std::collections::BTreeMap;

use serde_json::Value;

use super::points::{Values, array, table};
use super::tables::{head, row};

/// The results of `modern/fairness-shape` by algorithm and row.
#[derive(Debug, Default)]
pub(super) struct Mixes {
    by_shape: BTreeMap<String, Values>,
    told_cubic: BTreeMap<String, Values>,
    told_reno: BTreeMap<String, Values>,
}

impl Mixes {
    pub(super) fn add(&mut self, experiment: &Value) {
        let cells = array(&experiment["cells"]);
        self.by_shape.extend(table(cells, "measured"));
        self.told_cubic.extend(table(cells, "rfc_profile"));
        for variant in array(&experiment["variants"]) {
            self.told_reno.extend(table(array(&variant["cells"]), "measured"));
        }
    }

    /// Runs in band, and the geometric means of the ratios, by queue.
    pub(super) fn table(&self) -> String {
        let columns = [
            "queue",
            "friend",
            "rows with at least half of the slower TCP's rate",
            "at most twice the faster one's",
            "over SACK, mean",
            "over CUBIC, mean",
        ];
        let mut out = head(&columns);
        for (queue, key) in [("drop-tail", "BDP"), ("CoDel", "codel")] {
            for (friend, rows) in [
                ("by shape", &self.by_shape),
                ("CUBIC, told", &self.told_cubic),
                ("Reno, told", &self.told_reno),
            ] {
                let rows: Vec<&Values> =
                    rows.iter().filter(|(row, _)| row.contains(key)).map(|(_, values)| values).collect();
                let all = |column: &str| -> Vec<f64> {
                    rows.iter().filter_map(|values| values.get(column).copied()).collect()
                };
                let fits = |column: &str| {
                    let shares = all(column);
                    let fit = shares.iter().filter(|share| **share > 0.5).count();
                    format!("{fit} of {}", shares.len())
                };
                let mean = |column: &str| {
                    let ratios = all(column);
                    let sum: f64 = ratios.iter().sum();
                    match ratios.len() {
                        0 => "–".to_owned(),
                        count => format!("{:.2}", (sum / count as f64).exp2()),
                    }
                };
                out += &row(&[
                    queue.to_owned(),
                    friend.to_owned(),
                    fits("at_least"),
                    fits("at_most"),
                    mean("sack_log2"),
                    mean("cubic_log2"),
                ]);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_in_band_are_counted_by_queue() {
        let cell = |row: &str, column: &str, measured: f64| json!({ "row": row, "column": column, "measured": measured, "rfc_profile": 0.0 });
        let experiment = json!({ "cells": [
            cell("50ms/1BDP/1/1/x", "at_least", 1.0),
            cell("50ms/4BDP/1/1/x", "at_least", 0.25),
            cell("50ms/codel/1/1/x", "sack_log2", 2.0),
        ] });
        let mut mixes = Mixes::default();
        mixes.add(&experiment);
        let table = mixes.table();
        assert!(table.contains("| drop-tail | by shape | 1 of 2 | 0 of 0 | – | – |"), "{table}");
        assert!(table.contains("| drop-tail | CUBIC, told | 0 of 2 | 0 of 0 | – | – |"), "{table}");
        assert!(table.contains("| CoDel | by shape | 0 of 0 | 0 of 0 | 4.00 | – |"), "{table}");
    }
}
