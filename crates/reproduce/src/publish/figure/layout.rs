//! `figure.toml` next to an experiment: the form of its figure in the paper. It changes no result.

use std::io;

use serde::Deserialize;
use tfrc_units::{Duration, text};

use crate::file::Experiment;
use crate::syntax::World;
use tfrc_lab::plot::Scale;
use tfrc_scenario::hint;

/// The form of a figure; without a file, a panel for each column.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layout {
    /// The key along the axis.
    pub(super) x: Option<String>,
    pub(super) x_title: Option<String>,
    pub(super) x_scale: Option<Scale>,
    /// The keys whose values have panels of their own.
    #[serde(default)]
    pub(super) by: Vec<String>,
    /// The world whose values are drawn.
    #[serde(default)]
    pub(super) world: World,
    #[serde(default)]
    pub(super) panel: Vec<PanelLayout>,
    #[serde(default)]
    pub(super) trace: Vec<TraceLayout>,
}

/// Columns in one panel.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PanelLayout {
    #[serde(default)]
    pub(super) title: String,
    pub(super) y_title: Option<String>,
    pub(super) y_scale: Option<Scale>,
    pub(super) y: Option<[f64; 2]>,
    /// Columns that are curves.
    #[serde(default)]
    pub(super) columns: Vec<String>,
    /// The key whose values are curves, of the only column.
    pub(super) curves: Option<String>,
    /// Beginning of the columns that are places along the axis: `at_` of `at_0.4s`; rows are
    /// curves.
    pub(super) across: Option<String>,
}

/// Curves over the time of one run, with the scenario's own seed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceLayout {
    #[serde(default)]
    pub(super) title: String,
    pub(super) run: String,
    /// The row; the first without.
    pub(super) row: Option<String>,
    /// Groups of flows whose goodput is drawn.
    #[serde(default)]
    pub(super) flows: Vec<String>,
    /// Flows of each group.
    pub(super) each: Option<usize>,
    /// The link whose queue is drawn.
    pub(super) link: Option<String>,
    /// Length of a step, such as `150ms`.
    pub(super) bin: String,
    #[serde(default)]
    pub(super) unit: RateUnit,
    /// Ends of the upright axis; from the points without.
    pub(super) y: Option<[f64; 2]>,
    #[serde(default)]
    pub(super) part: TracePart,
}

/// Unit of a trace's goodput.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) enum RateUnit {
    #[serde(rename = "kB/s")]
    KilobytesPerSecond,
    #[default]
    #[serde(rename = "kbit/s")]
    KilobitsPerSecond,
}

/// Part of a run that a trace shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TracePart {
    /// The time after the warm-up.
    #[default]
    Measured,
    /// All of it.
    Whole,
}

impl RateUnit {
    /// The unit in bit/s, and its name.
    pub(super) const fn in_bps(self) -> (f64, &'static str) {
        match self {
            Self::KilobytesPerSecond => (8000.0, "kB/s"),
            Self::KilobitsPerSecond => (1000.0, "kbit/s"),
        }
    }
}

impl TraceLayout {
    /// Length of a step.
    pub(super) fn step(&self) -> Duration {
        text::time(&self.bin).unwrap_or(Duration::from_millis(100))
    }
}

impl Layout {
    /// Reads the file of an experiment; the default without one.
    ///
    /// # Errors
    /// Names the file, and the mistake with its place.
    pub(super) fn load(experiment: &Experiment) -> io::Result<Self> {
        let path = experiment.folder.join("figure.toml");
        let text = match tfrc_scenario::files::read_file(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
        };
        let wrong = |words: String| io::Error::other(format!("{}: {words}", path.display()));
        let layout: Self = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        layout.check(experiment).map_err(wrong)?;
        Ok(layout)
    }

    /// Checks that what it names is there.
    fn check(&self, experiment: &Experiment) -> Result<(), String> {
        let known = |kind: &str, name: &str, names: &[&str]| match names.contains(&name) {
            true => Ok(()),
            false => Err(format!("there is no {kind} `{name}`: {}", hint(name, names))),
        };
        let keys: Vec<&str> = experiment.published.keys.iter().map(String::as_str).collect();
        let curves = self.panel.iter().filter_map(|panel| panel.curves.as_ref());
        for key in self.x.iter().chain(&self.by).chain(curves) {
            known("key", key, &keys)?;
        }
        let columns: Vec<&str> = experiment.cells.iter().map(|cell| cell.column.as_str()).collect();
        for panel in &self.panel {
            for column in &panel.columns {
                known("column", column, &columns)?;
            }
            let begins = |start: &String| columns.iter().any(|column| column.starts_with(start.as_str()));
            if let Some(start) = panel.across.as_ref().filter(|start| !begins(start)) {
                return Err(format!("no column begins with `{start}`"));
            }
        }
        let runs: Vec<&str> = experiment.sims.iter().map(|sim| sim.name.as_str()).collect();
        let rows: Vec<&str> = experiment.published.rows.iter().map(|row| row.name.as_str()).collect();
        for trace in &self.trace {
            known("run", &trace.run, &runs)?;
            if let Some(row) = &trace.row {
                known("row", row, &rows)?;
            }
            text::time(&trace.bin).map_err(|_| format!("`{}` is not a time", trace.bin))?;
        }
        Ok(())
    }
}
