//! The table of an experiment's emulated side, from what its runs gave.

use std::collections::BTreeMap;

use super::{EmulatedTable, EmulatedValue, EmulationResult};
use crate::file::Experiment;
use crate::measure::Given;
use crate::runner::PlannedPoint;
use crate::seeds::Course;
use tfrc_lab::emulated::Fidelity;
use tfrc_lab::statistics::estimate;
use tfrc_units::saturating;

impl EmulatedTable {
    /// The table of the experiment with this number.
    pub(crate) fn of(index: usize, of: &Experiment, points: &[PlannedPoint], course: &Course) -> Self {
        let mut table = Self::default();
        let points = points.iter().enumerate().filter(|(_, one)| one.point.experiment == index);
        for (number, PlannedPoint { point, runs, .. }) in points {
            let (row, sim) = (&of.published.rows[point.row].name, &of.sims[point.sim]);
            let outcomes: Vec<&Result<Given, String>> =
                (1..=*runs).filter_map(|run| course.given.get(&(number, run))).collect();
            let valid: Vec<&Given> = outcomes.iter().filter_map(|one| one.as_ref().ok()).collect();
            let note = note(&outcomes, *runs);
            for (place, cell) in point.cells.iter().enumerate() {
                let values: Vec<f64> =
                    valid.iter().filter_map(|one| one.values.get(place).copied().flatten()).collect();
                let found = estimate(&values);
                let value = EmulatedValue {
                    mean: found.mean,
                    ci95: found.ci95,
                    runs: saturating(values.len()),
                    note: note.clone(),
                };
                table.values.insert((row.clone(), of.cells[*cell].column.clone()), value);
            }
            let witnesses = || valid.iter().filter_map(|one| one.witness.as_ref());
            if let Some(worst) = witnesses().map(|(fidelity, _)| *fidelity).reduce(Fidelity::worst) {
                table.fidelity.insert((row.clone(), sim.name.clone()), worst);
            }
            witnesses().for_each(|(_, about)| table.about.add(about));
        }
        table
    }
}

impl EmulationResult {
    /// Adds a run.
    fn add(&mut self, run: &Self) {
        let [first, last] = &mut self.days;
        if first.is_empty() || run.days[0] < *first {
            first.clone_from(&run.days[0]);
        }
        if run.days[1] >= *last {
            last.clone_from(&run.days[1]);
            self.kernel.clone_from(&run.kernel);
            self.revision.clone_from(&run.revision);
        }
    }
}

/// Reason why a point has fewer valid runs than are wanted; `None` if it has all.
fn note(outcomes: &[&Result<Given, String>], runs: u32) -> Option<String> {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    outcomes
        .iter()
        .filter_map(|one| one.as_ref().err())
        .for_each(|why| *reasons.entry(why).or_default() += 1);
    let missing = (runs as usize).saturating_sub(outcomes.len());
    if missing > 0 {
        reasons.insert("missing", missing);
    }
    let list: Vec<String> = reasons.iter().map(|(why, n)| format!("{n} of {runs} runs {why}")).collect();
    (!list.is_empty()).then(|| list.join("; "))
}
