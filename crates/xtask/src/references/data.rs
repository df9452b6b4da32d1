//! The lines of a set of runs: keys, seed, values.

use std::fs::OpenOptions;
use std::path::PathBuf;

use super::plan::{Keys, Runs};
use crate::root;

/// A file of `testdata/`: one run a line.
#[derive(Debug)]
pub(super) struct Data {
    path: PathBuf,
    keys: Vec<String>,
    columns: Vec<String>,
    rows: Vec<DataRow>,
}

#[derive(Debug)]
struct DataRow {
    keys: Keys,
    seed: u32,
    values: Vec<String>,
}

impl Data {
    /// Reads the file of a set, or begins it.
    pub(super) fn read(runs: &Runs) -> Result<Self, String> {
        let path = root().join(&runs.file);
        let columns: Vec<String> =
            runs.columns.iter().map(|column| column.split('=').next().unwrap_or(column).to_owned()).collect();
        let names = format!("{},seed,{}", runs.keys.join(","), columns.join(","));
        let mut data = Self { path, keys: runs.keys.clone(), columns, rows: Vec::new() };
        let Ok(text) = std::fs::read_to_string(&data.path) else {
            let command = format!("ns experiments/ns2/scripts/{} {} seed=SEED", runs.script, runs.arguments);
            let head = format!("# {}: {command}\n{names}\n", runs.about);
            if let Some(folder) = data.path.parent() {
                std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", runs.file))?;
            }
            std::fs::write(&data.path, head).map_err(|e| format!("{}: {e}", runs.file))?;
            return Ok(data);
        };
        let mut lines = rows(&text);
        match lines.next() {
            Some(line) if line.iter().eq(names.split(',')) => {}
            other => return Err(format!("{}: has the columns {other:?}, the plan {names}", runs.file)),
        }
        for line in lines {
            data.take(&line).ok_or(format!("{}: {line:?}: not a run", runs.file))?;
        }
        Ok(data)
    }

    fn take(&mut self, line: &[String]) -> Option<()> {
        let mut fields = line.iter().cloned();
        let keys: Keys =
            self.keys.iter().map(|key| Some((key.clone(), fields.next()?))).collect::<Option<_>>()?;
        let seed = fields.next()?.parse().ok()?;
        let values: Vec<String> = fields.collect();
        (values.len() == self.columns.len()).then(|| self.rows.push(DataRow { keys, seed, values }))
    }

    /// Returns true if a run is there.
    pub(super) fn has(&self, keys: &Keys, seed: u32) -> bool {
        self.rows.iter().any(|row| row.seed == seed && row.keys == *keys)
    }

    /// Adds a run, in the file as well.
    pub(super) fn add(&mut self, keys: &Keys, seed: u32, values: Vec<String>) -> Result<(), String> {
        let texts: Vec<&str> = self.keys.iter().filter_map(|key| keys.get(key).map(String::as_str)).collect();
        let file = OpenOptions::new()
            .append(true)
            .open(&self.path)
            .map_err(|e| format!("{}: {e}", self.path.display()))?;
        let number = seed.to_string();
        let fields = texts.into_iter().chain([number.as_str()]).chain(values.iter().map(String::as_str));
        let mut writer = csv::Writer::from_writer(file);
        writer.write_record(fields).map_err(|e| format!("{}: {e}", self.path.display()))?;
        self.rows.push(DataRow { keys: keys.clone(), seed, values });
        Ok(())
    }

    /// The values of a column in the runs with these keys, in the order of the file; none where a
    /// run has none.
    pub(super) fn values(&self, keys: &Keys, column: &str) -> Result<Vec<Option<f64>>, String> {
        let place = self.columns.iter().position(|name| name == column);
        let place = place.ok_or(format!("{}: no column {column}", self.path.display()))?;
        let same = |row: &&DataRow| keys.iter().all(|(key, text)| row.keys.get(key) == Some(text));
        let texts = self.rows.iter().filter(same).map(|row| row.values[place].as_str());
        Ok(texts.map(|text| text.parse().ok()).collect())
    }

    /// Names of the keys.
    pub(super) fn keys(&self) -> &[String] {
        &self.keys
    }
}

/// The lines of a CSV file but for its comments, each as its fields.
pub(super) fn rows(text: &str) -> impl Iterator<Item = Vec<String>> + '_ {
    let mut options = csv::ReaderBuilder::new();
    let reader = options.has_headers(false).flexible(true).comment(Some(b'#')).from_reader(text.as_bytes());
    reader.into_records().filter_map(Result::ok).map(|line| line.iter().map(str::to_owned).collect())
}
