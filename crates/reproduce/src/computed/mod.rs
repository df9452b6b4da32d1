//! Experiments that no scenario can say: closed forms and worked numbers, one file for each paper.

mod rfc4828;
mod rhee_xu;
mod runs;
mod sigcomm2000;

use std::cell::Cell;
use std::collections::BTreeMap;

use super::syntax::Profile;
use tfrc_scenario::Document;

/// Request to the code that computes an experiment's values.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The settings wanted.
    pub(crate) profile: Profile,
    /// The rows wanted: the name of each and the texts of its keys.
    pub(crate) rows: Vec<(&'a str, &'a [String])>,
    /// The columns wanted.
    pub(crate) columns: Vec<&'a str>,
    /// The changes asked for; all have been checked.
    pub(crate) set: &'a [String],
    /// A value for each, unless all are the same.
    pub(crate) seeds: Vec<u64>,
    /// Packet hops of the simulations that the code runs; it adds them.
    pub(crate) packet_hops: Cell<u64>,
}

/// Values by row and column: one for each seed, or one alone if it is the same for all.
pub(crate) type Values = BTreeMap<(String, String), Vec<f64>>;

/// Code that computes an experiment's values.
#[derive(Debug)]
pub(crate) struct Computed {
    pub(crate) name: &'static str,
    pub(crate) values: fn(&Context<'_>) -> Values,
    settings: Settable,
}

/// Settings that `set` may change.
#[derive(Debug)]
enum Settable {
    /// Numbers of the code, `NAME=NUMBER`, with their defaults.
    Constants(&'static [(&'static str, f64)]),
    /// The scenario that it runs, as `--set` does.
    Scenario(&'static str),
}

/// All there is.
pub(crate) const ALL: &[Computed] = &[
    Computed { name: "rfc4828::table_01", values: rfc4828::table_01, settings: rfc4828::CONSTANTS },
    Computed { name: "rfc4828::table_02", values: rfc4828::table_02, settings: rfc4828::CONSTANTS },
    Computed { name: "rfc4828::table_03", values: rfc4828::table_03, settings: rfc4828::CONSTANTS },
    Computed { name: "rfc4828::table_04", values: rfc4828::table_04, settings: rfc4828::CONSTANTS },
    Computed { name: "rfc4828::table_11", values: rfc4828::table_11, settings: rfc4828::PACKETS },
    Computed { name: "rfc4828::worked_numbers", values: rfc4828::worked_numbers, settings: NONE },
    Computed { name: "rhee_xu::figure_13", values: rhee_xu::figure_13, settings: NONE },
    Computed { name: "sigcomm2000::fig_05", values: sigcomm2000::fig_05, settings: NONE },
    Computed { name: "sigcomm2000::fig_18", values: sigcomm2000::fig_18, settings: sigcomm2000::FIG_18 },
    Computed { name: "sigcomm2000::fig_22", values: sigcomm2000::fig_22, settings: sigcomm2000::FIG_22 },
    Computed { name: "sigcomm2000::fig_23", values: sigcomm2000::fig_23, settings: sigcomm2000::FIG_23 },
    Computed { name: "sigcomm2000::fig_28", values: sigcomm2000::fig_28, settings: sigcomm2000::FIG_28 },
];

/// Nothing can be set.
const NONE: Settable = Settable::Constants(&[]);

impl Computed {
    /// Checks an assignment: an error says why the code does not take it.
    pub(crate) fn check(&self, assignment: &str) -> Result<(), String> {
        match self.settings {
            Settable::Scenario(text) => {
                let mut document = Document::new("scenario.toml", text);
                document.set(assignment);
                document.plan().map(|_| ()).map_err(|error| error.to_string())
            }
            Settable::Constants(known) => {
                let names = known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                let name = assignment.split('=').next().unwrap_or_default().trim();
                match (known.iter().any(|(one, _)| *one == name), constant(assignment, name)) {
                    (true, Some(_)) => Ok(()),
                    (true, None) => Err(format!("`{name}` takes a number")),
                    (false, _) if known.is_empty() => Err(format!("nothing can be set in `{}`", self.name)),
                    (false, _) => Err(format!("`{}` has no `{name}`; there are {names}", self.name)),
                }
            }
        }
    }

    /// The scenario that it runs, if it runs one.
    pub(crate) fn scenario(&self) -> Option<&'static str> {
        match self.settings {
            Settable::Scenario(text) => Some(text),
            Settable::Constants(_) => None,
        }
    }
}

/// The number that an assignment gives this name.
fn constant(assignment: &str, name: &str) -> Option<f64> {
    let (path, value) = assignment.split_once('=')?;
    if path.trim() != name {
        return None;
    }
    value.trim().parse().ok().filter(|x: &f64| x.is_finite())
}

impl Context<'_> {
    /// A constant of the code: the last number that is set, else its default.
    pub(crate) fn constant(&self, known: &[(&str, f64)], name: &str) -> f64 {
        let set = self.set.iter().rev().find_map(|assignment| constant(assignment, name));
        let default = || known.iter().find(|(one, _)| *one == name).map_or(f64::NAN, |(_, x)| *x);
        set.unwrap_or_else(default)
    }

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
