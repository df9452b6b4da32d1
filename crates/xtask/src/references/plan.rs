//! `experiments/ns2/scripts/references.toml`: what is run, and which tables are made of it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::root;

/// The texts of a row's keys by their names.
pub(super) type Keys = BTreeMap<String, String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct References {
    /// Sets of runs by name.
    pub(super) runs: BTreeMap<String, Runs>,
    /// The tables, in their order.
    pub(super) table: Vec<ReferenceTable>,
}

/// Runs of one script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Runs {
    /// The file with a line for each run, below the root.
    pub(super) file: String,
    /// The file's first line begins so.
    pub(super) about: String,
    /// The script in `experiments/ns2/scripts/`.
    pub(super) script: String,
    /// Its arguments but for the seed, with the texts of keys for `{KEY}`.
    pub(super) arguments: String,
    /// Names of the keys, in the order of the file.
    pub(super) keys: Vec<String>,
    /// The values of the keys: each entry stands for all combinations of its lists.
    pub(super) points: Vec<Points>,
    /// Words of the script for texts of keys that it does not take.
    #[serde(default)]
    pub(super) words: BTreeMap<String, String>,
    /// Names of the file's columns after keys and seed; `NAME=FROM` where the script prints another
    /// name.
    pub(super) columns: Vec<String>,
    /// The time in seconds from which the loss intervals that the script's receiver prints are
    /// counted.
    pub(super) losses_from: Option<f64>,
}

/// Combinations of keys with the same number of seeds.
#[derive(Debug, Deserialize)]
pub(super) struct Points {
    /// Seeds from 1 on.
    pub(super) seeds: u32,
    /// The texts of each key.
    #[serde(flatten)]
    pub(super) keys: BTreeMap<String, Vec<String>>,
}

/// An `ns2.csv`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReferenceTable {
    /// The id of the experiment.
    pub(super) experiment: String,
    /// Lines of comment on top, besides the one about seeds.
    pub(super) about: Vec<String>,
    /// Key columns of `published.csv`, the first of its columns.
    pub(super) keys: Vec<String>,
    pub(super) columns: Vec<Column>,
}

/// A column of an `ns2.csv`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Column {
    pub(super) name: String,
    /// The set of runs.
    pub(super) runs: String,
    /// The column of the set; the texts of the table's keys for `{KEY}`.
    pub(super) of: String,
    /// Texts that keys of the set must have in addition to the table's.
    #[serde(default, rename = "where")]
    pub(super) only: Keys,
    /// A column of the same run that it is divided by.
    pub(super) over: Option<String>,
    /// Subtracted from the value, or from the quotient.
    #[serde(default)]
    pub(super) less: f64,
    /// The first keys of the rows that have it; all, if none is given.
    #[serde(default)]
    pub(super) rows: Vec<String>,
}

/// The plan as it is in the repository.
pub(super) fn read() -> Result<References, String> {
    let path = root().join("experiments/ns2/scripts/references.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

impl Runs {
    /// All rows with their numbers of seeds.
    pub(super) fn rows(&self) -> Vec<(Keys, u32)> {
        self.points.iter().flat_map(|points| self.combined(points)).collect()
    }

    fn combined(&self, points: &Points) -> Vec<(Keys, u32)> {
        let mut rows = vec![Keys::new()];
        for key in &self.keys {
            let texts = points.keys.get(key).map(Vec::as_slice).unwrap_or_default();
            let with = |row: &Keys, text: &String| {
                let mut row = row.clone();
                row.insert(key.clone(), text.clone());
                row
            };
            rows = rows.iter().flat_map(|row| texts.iter().map(move |text| with(row, text))).collect();
        }
        rows.into_iter().map(|row| (row, points.seeds)).collect()
    }

    /// The arguments of the script for one run.
    pub(super) fn command(&self, keys: &Keys, seed: u32) -> Vec<String> {
        let word = |text: &String| self.words.get(text).unwrap_or(text).clone();
        let keys: Keys = keys.iter().map(|(key, text)| (key.clone(), word(text))).collect();
        let mut words: Vec<String> =
            filled(&self.arguments, &keys).split_whitespace().map(str::to_owned).collect();
        words.push(format!("seed={seed}"));
        words
    }
}

/// A text with those of keys in place of `{KEY}`.
pub(super) fn filled(text: &str, keys: &Keys) -> String {
    keys.iter().fold(text.to_owned(), |text, (key, value)| text.replace(&format!("{{{key}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_all_combinations_and_fill_the_arguments() {
        let text = r#"
            file = "f"
            about = "a"
            script = "s.tcl"
            arguments = "n={flows} q=red L={l}"
            keys = ["flows", "l"]
            points = [{ flows = ["4", "8"], l = ["8", "16"], seeds = 3 }, { flows = ["64"], l = ["8"], seeds = 1 }]
            columns = ["rate"]
            words = { "16" = "sixteen more=1" }
        "#;
        let runs: Runs = toml::from_str(text).expect("a set of runs");
        let rows = runs.rows();
        assert_eq!(rows.len(), 5);
        assert_eq!(runs.command(&rows[1].0, 2), ["n=4", "q=red", "L=sixteen", "more=1", "seed=2"]);
        assert_eq!(rows[4].1, 1);
    }

    #[test]
    fn the_plan_of_the_repository_is_whole() {
        let plan = read().expect("a plan");
        for table in &plan.table {
            assert!(root().join("experiments").join(&table.experiment).is_dir(), "{}", table.experiment);
            for column in &table.columns {
                let runs = plan.runs.get(&column.runs).expect("a column's set of runs");
                let known = column.only.keys().all(|key| runs.keys.contains(key));
                assert!(known, "{}: {}", table.experiment, column.name);
            }
        }
    }
}
