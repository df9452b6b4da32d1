//! The emulated side of experiments: real time and the kernel's TCP in place of virtual time, run
//! by an [`Emulator`](tfrc_lab::emulated::Emulator) and recorded in `emulated.csv`.

pub(super) mod answer;
mod record;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ExperimentError;
use super::file::{Experiment, Sim};
use super::reading::Reading;
use super::syntax::{Profile, Quick, World};
use tfrc_lab::emulated::{Fidelity, KernelNotes};

/// The table `[emulation]` of an experiment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Emulation {
    /// Changes after all others.
    pub(crate) set: Vec<String>,
    pub(crate) profile: Profile,
    /// Runs of each point.
    pub(crate) runs: u32,
    pub(crate) rows: Option<Vec<String>>,
    /// Names of the runs that are emulated.
    pub(crate) only: Option<Vec<String>>,
    /// Rows without a simulated side.
    pub(crate) alone: Vec<String>,
    pub(crate) quick: Quick,
}

impl Reading<'_> {
    /// The table `[emulation]`; an experiment of the emulated world has one without writing it.
    pub(super) fn emulation(&self, sims: &[Sim]) -> Result<Option<Emulation>, ExperimentError> {
        let Some(raw) = &self.raw.emulation else {
            let runs = self.raw.runs.as_ref().map_or(1, |runs| *runs.get_ref()).max(1);
            let emulation = Emulation {
                profile: Profile::Rfc,
                runs,
                quick: self.raw.quick.clone(),
                ..Emulation::default()
            };
            return Ok((self.raw.world == World::Emu).then_some(emulation));
        };
        if sims.is_empty() {
            return Err(self.file.invalid(
                raw.runs.as_ref().map_or(0..0, toml::Spanned::span),
                "`[emulation]` without a [run.NAME]",
                "here",
                "computed values have no emulated side",
            ));
        }
        self.rows(raw.quick.as_ref().and_then(|quick| quick.rows.as_deref()))?;
        Ok(Some(Emulation {
            set: raw.set.clone(),
            profile: raw.profile,
            runs: raw.runs.as_ref().map_or(1, |runs| *runs.get_ref()).max(1),
            rows: self.rows(raw.rows.as_deref())?,
            only: self.runs(sims, raw.only.as_deref())?,
            alone: self.rows(raw.alone.as_deref())?.unwrap_or_default(),
            quick: raw.quick.clone().unwrap_or_else(|| self.raw.quick.clone()),
        }))
    }
}

impl Experiment {
    /// Returns true if a row has no simulated side.
    pub(super) fn is_emulated_alone(&self, row: &str) -> bool {
        self.emulation.as_ref().is_some_and(|one| one.alone.iter().any(|name| name == row))
    }
}

/// Emulated runs of an experiment: the kernel, the time, the fidelity.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct EmulationResult {
    /// The kernel of the runs.
    pub kernel: KernelNotes,
    /// The first and the last day of the runs, `YYYY-MM-DD` in UTC.
    pub days: [String; 2],
    /// The commit of the program, if it is known.
    pub revision: Option<String>,
    /// The worst fidelity of the valid runs.
    pub fidelity: Option<Fidelity>,
}

impl EmulationResult {
    /// The kernel and the day in words.
    #[must_use]
    pub fn words(&self) -> String {
        let days = match &self.days {
            [first, last] if first == last => first.clone(),
            [first, last] => format!("{first} to {last}"),
        };
        format!("Linux {}, {days}", self.kernel.release)
    }

    /// The worst fidelity in words, with that of the runs that were left out as invalid left out.
    #[must_use]
    pub fn fidelity_words(&self) -> String {
        let Some(worst) = self.fidelity else { return "no valid run".to_owned() };
        let rate = worst.rate_error.map_or_else(
            || "no link was busy".to_owned(),
            |error| format!("rates within {:.2} %", error.abs() * 100.0),
        );
        format!(
            "{rate}, delays within {:.2} ms (median) and {:.2} ms (99th percentile), {} packets lost by the emulator",
            worst.delay_error_p50_s.abs() * 1e3,
            worst.delay_error_p99_s.abs() * 1e3,
            worst.own_drops
        )
    }
}

/// Emulated values of an experiment, measured or read from `emulated.csv`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct EmulatedTable {
    pub(crate) about: EmulationResult,
    /// Values by row and column.
    pub(crate) values: BTreeMap<(String, String), EmulatedValue>,
    /// Worst fidelity of the runs, by row and name of the run.
    pub(crate) fidelity: BTreeMap<(String, String), Fidelity>,
}

/// One emulated cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct EmulatedValue {
    /// The mean of the valid runs.
    pub(crate) mean: Option<f64>,
    /// Half the width of its 95 % interval.
    pub(crate) ci95: Option<f64>,
    /// Valid runs.
    pub(crate) runs: u32,
    /// Reason why runs are missing, if any are.
    pub(crate) note: Option<String>,
}

impl EmulatedTable {
    /// The kernel, the time and the worst fidelity.
    pub(crate) fn about_all(&self) -> EmulationResult {
        let fidelity = self.fidelity.values().copied().reduce(Fidelity::worst);
        EmulationResult { fidelity, ..self.about.clone() }
    }

    /// The value of a cell.
    pub(crate) fn get(&self, row: &str, column: &str) -> Option<&EmulatedValue> {
        self.values.get(&(row.to_owned(), column.to_owned()))
    }
}
