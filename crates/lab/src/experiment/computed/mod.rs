//! Experiments that no scenario can say: closed forms and worked numbers, one file for each paper.

mod rfc4828;
mod rhee_xu;
mod sigcomm2000;

use std::cell::Cell;
use std::collections::BTreeMap;

use super::raw::Profile;

/// What code is told.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The settings wanted.
    pub(crate) profile: Profile,
    /// The rows wanted: the name of each and the texts of its keys.
    pub(crate) rows: Vec<(&'a str, &'a [String])>,
    /// The columns wanted.
    pub(crate) columns: Vec<&'a str>,
    /// A value for each, unless all are the same.
    pub(crate) seeds: Vec<u64>,
    /// Packet hops of the simulations that the code runs; it adds them.
    pub(crate) packet_hops: Cell<u64>,
}

/// Values by row and column: one for each seed, or one alone if it is the same for all.
pub(crate) type Values = BTreeMap<(String, String), Vec<f64>>;

/// Code that computes an experiment's values.
pub(crate) type Computed = fn(&Context<'_>) -> Values;

/// All there is, by name.
pub(crate) const ALL: &[(&str, Computed)] = &[
    ("rfc4828::table_01", rfc4828::table_01),
    ("sigcomm2000::fig_05", sigcomm2000::fig_05),
    ("sigcomm2000::fig_18", sigcomm2000::fig_18),
    ("sigcomm2000::fig_22", sigcomm2000::fig_22),
    ("sigcomm2000::fig_23", sigcomm2000::fig_23),
    ("sigcomm2000::fig_28", sigcomm2000::fig_28),
    ("rhee_xu::figure_13", rhee_xu::figure_13),
    ("rfc4828::table_02", rfc4828::table_02),
    ("rfc4828::table_03", rfc4828::table_03),
    ("rfc4828::table_04", rfc4828::table_04),
    ("rfc4828::table_11", rfc4828::table_11),
    ("rfc4828::worked_numbers", rfc4828::worked_numbers),
];

impl Context<'_> {
    /// Fills the table with one value for each row and column.
    pub(crate) fn fill(&self, value: impl Fn(&Self, &[String], &str) -> Option<f64>) -> Values {
        let mut values = Values::new();
        for (row, keys) in &self.rows {
            for column in &self.columns {
                if let Some(x) = value(self, keys, column) {
                    values.insert(((*row).to_owned(), (*column).to_owned()), vec![x]);
                }
            }
        }
        values
    }
}
