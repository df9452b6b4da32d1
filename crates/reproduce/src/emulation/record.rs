//! `emulated.csv`: emulated values in long form, below lines that say where they are from.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use super::super::error::{ExperimentError, NamedText};
use super::super::file::{EMULATED, Experiment};
use super::super::results::Results;
use super::super::table::fields;
use super::{EmulatedTable, EmulatedValue};
use tfrc_lab::emulated::Fidelity;

/// The line of names.
const COLUMNS: [&str; 7] = ["row", "run", "column", "mean", "ci95", "runs", "note"];
/// Columns that begin so hold the fidelity of a run.
const FIDELITY: &str = "fidelity.";

/// A part of [`Fidelity`]: its name, and where it is.
type Part<T> = (&'static str, fn(&mut Fidelity) -> &mut T);

/// The parts of [`Fidelity`] that a run may not have.
const MEASURED: [Part<Option<f64>>; 4] = [
    ("rate_error", |fidelity| &mut fidelity.rate_error),
    ("programs_waited", |fidelity| &mut fidelity.programs_waited),
    ("kernel_waited", |fidelity| &mut fidelity.kernel_waited),
    ("stolen", |fidelity| &mut fidelity.stolen),
];

/// The parts that are always known; the counts stand apart.
const PARTS: [Part<f64>; 4] = [
    ("delay_error_p50_s", |fidelity| &mut fidelity.delay_error_p50_s),
    ("delay_error_p99_s", |fidelity| &mut fidelity.delay_error_p99_s),
    ("wakeup_p50_s", |fidelity| &mut fidelity.wakeup_p50_s),
    ("wakeup_p99_s", |fidelity| &mut fidelity.wakeup_p99_s),
];

impl Results {
    /// Writes `emulated.csv` of each experiment that has a valid emulated run into its folder; the
    /// files that were written.
    ///
    /// # Errors
    /// The system's error, with the file.
    pub fn record(&self, experiments: &[Experiment]) -> io::Result<Vec<PathBuf>> {
        let mut written = Vec::new();
        for (experiment, table) in experiments.iter().zip(&self.emulated) {
            let Some(table) = table.as_ref().filter(|table| !table.fidelity.is_empty()) else { continue };
            let path = experiment.folder.join(EMULATED);
            std::fs::write(&path, table.csv(experiment))
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
            written.push(path);
        }
        Ok(written)
    }
}

impl EmulatedTable {
    /// Reads the file; `None` if there is none.
    pub(crate) fn load(path: &Path) -> Result<Option<Self>, ExperimentError> {
        if !path.exists() {
            return Ok(None);
        }
        let name = path.display().to_string();
        let text = tfrc_scenario::files::read_file(path).map_err(|source| ExperimentError::Read {
            name: name.clone(),
            hint: "`tfrc reproduce --world emu --record` writes it",
            source,
        })?;
        Self::parse(&NamedText { name, text }).map(Some)
    }

    pub(super) fn parse(source: &NamedText) -> Result<Self, ExperimentError> {
        let mut table = Self::default();
        let mut names = None;
        let mut at = 0;
        for line in source.text.split_inclusive('\n') {
            let place = at..at + line.trim_end().len();
            at += line.len();
            let line = line.trim();
            let wrong = |message: String| {
                let hint = "`tfrc reproduce --world emu --record` writes this file";
                Err(source.invalid(place.clone(), message, "here", hint))
            };
            if let Some(note) = line.strip_prefix('#') {
                table.note(note.trim());
            } else if line.is_empty() {
            } else if names.is_none() {
                if fields(line) != COLUMNS {
                    return wrong(format!("the columns are not {}", COLUMNS.join(",")));
                }
                names = Some(());
            } else if let Some(wrong_field) = table.line(&fields(line)) {
                return wrong(format!("`{wrong_field}` cannot stand here"));
            }
        }
        Ok(table)
    }

    /// Takes a `#` line: `NAME: VALUE`.
    fn note(&mut self, note: &str) {
        let Some((name, value)) = note.split_once(": ") else { return };
        let about = &mut self.about;
        match name {
            "kernel" => value.clone_into(&mut about.kernel.release),
            "first day" => value.clone_into(&mut about.days[0]),
            "last day" => value.clone_into(&mut about.days[1]),
            "revision" => about.revision = Some(value.to_owned()),
            _ => {
                about.kernel.notes.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// Takes a line of values; gives back the field that is wrong.
    fn line(&mut self, fields: &[String]) -> Option<String> {
        let [row, run, column, mean, ci95, runs, note] = fields else { return Some(fields.join(",")) };
        let number = |text: &String| match text.as_str() {
            "" => Ok(None),
            text => text.parse::<f64>().map(Some).map_err(|_| text.to_owned()),
        };
        let (mean, ci95) = match (number(mean), number(ci95)) {
            (Ok(mean), Ok(ci95)) => (mean, ci95),
            (Err(wrong), _) | (_, Err(wrong)) => return Some(wrong),
        };
        let Ok(runs) = runs.parse::<u32>() else { return Some(runs.clone()) };
        if let Some(part) = column.strip_prefix(FIDELITY) {
            let fidelity = self.fidelity.entry((row.clone(), run.clone())).or_default();
            if let Some((_, place)) = MEASURED.iter().find(|(name, _)| *name == part) {
                *place(fidelity) = mean;
                return None;
            }
            match (part, PARTS.iter().find(|(name, _)| *name == part), mean) {
                ("own_drops", _, Some(mean)) => fidelity.own_drops = tfrc_units::u64_from_f64(mean),
                ("overruns", _, Some(mean)) => fidelity.overruns = tfrc_units::u64_from_f64(mean),
                (_, Some((_, place)), Some(mean)) => *place(fidelity) = mean,
                _ => return Some(column.clone()),
            }
            return None;
        }
        let note = (!note.is_empty()).then(|| note.clone());
        self.values.insert((row.clone(), column.clone()), EmulatedValue { mean, ci95, runs, note });
        None
    }

    /// The file.
    pub(super) fn csv(&self, experiment: &Experiment) -> String {
        let id = &experiment.id;
        let about = &self.about;
        let mut text = format!(
            "# Emulated runs of {id}, written by `tfrc reproduce --world emu --record`\n# kernel: {}\n# first day: {}\n# last day: {}\n",
            about.kernel.release, about.days[0], about.days[1]
        );
        if let Some(revision) = &about.revision {
            let _ = writeln!(text, "# revision: {revision}");
        }
        for (name, value) in &about.kernel.notes {
            let _ = writeln!(text, "# {name}: {}", value.replace('\n', " "));
        }
        let mut lines = vec![COLUMNS.map(str::to_owned)];
        for row in experiment.published.rows.iter().map(|row| &row.name) {
            for (number, sim) in experiment.sims.iter().enumerate() {
                let mut add = |column: String, mean, ci95, runs: u32, note: Option<&String>| {
                    let note = note.cloned().unwrap_or_default().replace('\n', " ");
                    let (mean, ci95) = (number_text(mean), number_text(ci95));
                    lines.push([row.clone(), sim.name.clone(), column, mean, ci95, runs.to_string(), note]);
                };
                if let Some(fidelity) = self.fidelity.get(&(row.clone(), sim.name.clone())) {
                    for (name, value) in fidelity_of(*fidelity) {
                        add(format!("{FIDELITY}{name}"), value, None, 0, None);
                    }
                }
                for cell in experiment.cells.iter().filter(|cell| cell.sims.contains(&number)) {
                    let measures = sim.rows.as_ref().is_none_or(|rows| rows.contains(row));
                    let Some(value) = self.get(row, &cell.column).filter(|_| measures) else { continue };
                    add(cell.column.clone(), value.mean, value.ci95, value.runs, value.note.as_ref());
                }
            }
        }
        let mut writer = csv::Writer::from_writer(Vec::new());
        for line in lines {
            writer.write_record(line).expect("memory takes every line, and all have as many fields");
        }
        let table = writer.into_inner().expect("memory takes every line");
        text + &String::from_utf8_lossy(&table)
    }
}

fn number_text(x: Option<f64>) -> String {
    x.map_or(String::new(), |x| x.to_string())
}

/// The parts of a fidelity by their names.
fn fidelity_of(mut fidelity: Fidelity) -> impl Iterator<Item = (&'static str, Option<f64>)> {
    let known = PARTS.map(|(name, place)| (name, Some(*place(&mut fidelity))));
    let measured = MEASURED.map(|(name, place)| (name, *place(&mut fidelity)));
    let counts =
        [("own_drops", Some(fidelity.own_drops as f64)), ("overruns", Some(fidelity.overruns as f64))];
    measured.into_iter().chain(known).chain(counts)
}
