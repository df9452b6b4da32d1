//! Emulated runs of experiments: which jobs there are, in which order, and what their answers give.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::super::error::ExperimentError;
use super::super::file::{Experiment, Sim};
use super::super::points::{Part, Point};
use super::super::reading::fits;
use super::super::runner::{Hooks, Wanted, has};
use super::super::syntax::World;
use super::{EmulatedTable, EmulatedValue, Emulation, EmulationResult};
use tfrc_lab::batch::seed_of;
use tfrc_lab::cache::Cache;
use tfrc_lab::emulated::{EmulatedRun, EmulatedWorld, EmulationJob, Fidelity};
use tfrc_lab::jobs::in_order;
use tfrc_lab::statistics::estimate;
use tfrc_units::saturating;

/// Runs at once unless the command line says otherwise. Each is nearly idle: on two processors
/// four keep the limits of fidelity.
const JOBS: usize = 4;
/// Tries of a run whose fidelity is outside of its limits.
const TRIES: u32 = 2;

/// All emulated runs of experiments, the most telling first: by experiment, row and number.
#[derive(Debug)]
pub(in super::super) struct EmulationPlan<'a> {
    experiments: &'a [Experiment],
    threads: usize,
    points: Vec<EmulatedPoint>,
    jobs: Vec<PlannedJob>,
}

/// A point, and how many runs of it are wanted.
#[derive(Debug)]
struct EmulatedPoint {
    point: Point,
    runs: u32,
}

/// A job and the points that its answer is for: rows may share one.
#[derive(Debug)]
struct PlannedJob {
    job: EmulationJob,
    users: Vec<usize>,
}

/// Answer to a job, as the cache keeps it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    run: EmulatedRun,
    day: String,
    revision: Option<String>,
}

/// Values of one valid run for one point.
#[derive(Debug)]
struct Values {
    values: Vec<Option<f64>>,
    fidelity: Fidelity,
    about: EmulationResult,
}

/// Outcomes by point: one for each job that was done.
type Outcomes = BTreeMap<usize, Vec<Result<Values, String>>>;

impl<'a> EmulationPlan<'a> {
    /// The emulated runs of those experiments that have an emulated side.
    pub(in super::super) fn new(
        experiments: &'a [Experiment],
        wanted: &Wanted,
    ) -> Result<Self, ExperimentError> {
        let threads = if wanted.jobs == 0 { JOBS } else { wanted.jobs };
        let mut plan = Self { experiments, threads, points: Vec::new(), jobs: Vec::new() };
        let mut jobs = Vec::new();
        for (index, experiment) in experiments.iter().enumerate() {
            if let Some(emulation) = &experiment.emulation {
                plan.add(index, emulation, wanted.quick, &mut jobs)?;
            }
        }
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for (point, job) in jobs {
            let number = *known.entry(key(&job, "")).or_insert(plan.jobs.len());
            match plan.jobs.get_mut(number) {
                Some(planned) => planned.users.push(point),
                None => plan.jobs.push(PlannedJob { job, users: vec![point] }),
            }
        }
        // Shards have whole jobs.
        plan.jobs = wanted.shard.share(plan.jobs.into_iter()).collect();
        Ok(plan)
    }

    /// Returns the number of runs.
    pub(in super::super) fn total(&self) -> usize {
        self.jobs.len()
    }

    /// Adds the points and jobs of an experiment.
    fn add(
        &mut self,
        index: usize,
        emulation: &Emulation,
        quick: bool,
        jobs: &mut Vec<(usize, EmulationJob)>,
    ) -> Result<(), ExperimentError> {
        let experiment = &self.experiments[index];
        let quick = quick.then_some(&emulation.quick);
        let is_quick_row = |name: &str| {
            let rows = quick.and_then(|quick| quick.rows.as_ref());
            rows.is_none_or(|rows| rows.iter().any(|one| fits(one.get_ref(), name)))
        };
        let mut set: Vec<String> = quick.map(|quick| quick.set.clone()).unwrap_or_default();
        set.extend(emulation.set.iter().cloned());
        let runs = match quick {
            Some(quick) => emulation.runs.min(quick.runs.unwrap_or(1)).max(1),
            None => emulation.runs,
        };
        let points = experiment.points(
            index,
            &Part {
                world: World::Emu,
                profile: emulation.profile,
                set: &set,
                has_sim: &|name| has(emulation.only.as_ref(), name),
                has_row: &|name| has(emulation.rows.as_ref(), name) && is_quick_row(name),
                has_cell: &|cell, row| experiment.measures(cell, row),
            },
        )?;
        for point in points {
            let (sim, row) = (&experiment.sims[point.sim], &experiment.published.rows[point.row]);
            let set = experiment.assignments(sim, emulation.profile, row, &set);
            let number = self.points.len();
            jobs.extend((1..=runs).map(|run| {
                let job = EmulationJob {
                    name: format!("{}: {}, row {}", experiment.id, sim.scenario_name, row.name),
                    text: sim.scenario_text.clone(),
                    folder: sim.document.folder().to_owned(),
                    traces: point.document.traces(),
                    set: set.clone(),
                    seed: seed_of(point.scenario.seed.0, run),
                    looks: point.keep.looks,
                    link_flows: point.keep.link_flows,
                };
                (number, job)
            }));
            self.points.push(EmulatedPoint { point, runs });
        }
        Ok(())
    }

    /// Runs what the cache does not have, in order, several at once. Once `hooks.stop` says so, no
    /// further run begins. The tables are in the order of the experiments; `None` for those without
    /// an emulated side.
    pub(in super::super) fn run(
        &self,
        cache: Option<&Cache>,
        hooks: &Hooks<'_>,
    ) -> Result<Vec<Option<EmulatedTable>>, ExperimentError> {
        let outcomes = Mutex::new(Outcomes::new());
        let wrong = Mutex::new(None);
        in_order(self.threads, self.jobs.len(), |number| {
            let planned = &self.jobs[number];
            if (hooks.stop)() || wrong.lock().is_ok_and(|wrong| wrong.is_some()) {
                return;
            }
            let answer = answer(&planned.job, cache, hooks);
            if answer.is_err() && (hooks.stop)() {
                // The interrupt has ended it.
                return;
            }
            for &user in &planned.users {
                let values = match &answer {
                    Ok(kept) => match self.values(user, kept) {
                        Ok(values) => Ok(values),
                        Err(error) => {
                            if let Ok(mut wrong) = wrong.lock() {
                                *wrong = Some(error);
                            }
                            return;
                        }
                    },
                    Err(reason) => Err(reason.clone()),
                };
                if let Ok(mut outcomes) = outcomes.lock() {
                    outcomes.entry(user).or_default().push(values);
                }
            }
            let first = planned.users.first().map(|user| self.points[*user].point.experiment);
            first.iter().for_each(|experiment| (hooks.done)(&self.experiments[*experiment].id));
        });
        if let Some(error) = wrong.into_inner().ok().flatten() {
            return Err(error);
        }
        let outcomes = outcomes.into_inner().unwrap_or_default();
        let tables = self.experiments.iter().enumerate().map(|(index, experiment)| {
            experiment.emulation.as_ref()?;
            Some(self.table(index, &outcomes))
        });
        Ok(tables.collect())
    }

    /// The values of a run for the formulas of a point.
    fn values(&self, point: usize, kept: &Kept) -> Result<Values, ExperimentError> {
        let point = &self.points[point].point;
        let values = self.experiments[point.experiment].values(point, &kept.run.recording)?;
        let about = EmulationResult {
            kernel: kept.run.kernel.clone(),
            days: [kept.day.clone(), kept.day.clone()],
            revision: kept.revision.clone(),
            fidelity: None,
        };
        Ok(Values { values, fidelity: kept.run.fidelity, about })
    }

    /// The table of an experiment.
    fn table(&self, experiment: usize, outcomes: &Outcomes) -> EmulatedTable {
        let mut table = EmulatedTable::default();
        let of = &self.experiments[experiment];
        let points = self.points.iter().enumerate();
        for (number, EmulatedPoint { point, runs }) in
            points.filter(|(_, one)| one.point.experiment == experiment)
        {
            let (row, sim): (_, &Sim) = (&of.published.rows[point.row].name, &of.sims[point.sim]);
            let outcomes = outcomes.get(&number).map(Vec::as_slice).unwrap_or_default();
            let valid: Vec<&Values> = outcomes.iter().filter_map(|one| one.as_ref().ok()).collect();
            let note = note(outcomes, *runs);
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
            let worst = valid.iter().map(|one| one.fidelity).reduce(Fidelity::worst);
            if let Some(worst) = worst {
                table.fidelity.insert((row.clone(), sim.name.clone()), worst);
            }
            valid.iter().for_each(|one| table.about.add(&one.about));
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
fn note(outcomes: &[Result<Values, String>], runs: u32) -> Option<String> {
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

/// The answer to a job: the cache's, or that of the emulator, which is asked once more if the
/// fidelity is outside of its limits.
fn answer(job: &EmulationJob, cache: Option<&Cache>, hooks: &Hooks<'_>) -> Result<Kept, String> {
    let Some(EmulatedWorld { emulator, release, revision }) = hooks.emulated else {
        return Err("failed: this program cannot emulate".to_owned());
    };
    let key = key(job, release);
    match cache.map(|cache| cache.text(&key)) {
        Some(Ok(Some(text))) => {
            if let Ok(kept) = serde_json::from_str(&text) {
                return Ok(kept);
            }
        }
        Some(Err(why)) => (hooks.warn)(&why),
        Some(Ok(None)) | None => {}
    }
    let mut violations = Vec::new();
    for _ in 0..TRIES {
        let run = emulator(job).map_err(|why| format!("failed: {why}"))?;
        violations = run.fidelity.violations();
        if violations.is_empty() {
            let kept = Kept { run, day: today(), revision: revision.clone() };
            if let Some(cache) = cache
                && let Err(error) = cache.put_text(&key, &serde_json::json!(kept).to_string())
            {
                (hooks.warn)(&format!("a result cannot be kept: {error}"));
            }
            return Ok(kept);
        }
    }
    Err(format!("invalid: {}", violations.join(", ")))
}

/// Everything except the program that determines a run: the world, the kernel and the job, wherever
/// its file is.
fn key(job: &EmulationJob, release: &str) -> String {
    let job = EmulationJob { name: String::new(), folder: PathBuf::new(), ..job.clone() };
    format!("emulated\nLinux {release}\n{}", serde_json::json!(job))
}

/// The day in UTC, `YYYY-MM-DD`.
fn today() -> String {
    jiff::Timestamp::now().strftime("%F").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_lab::recording::{LinkFlows, Looks};

    #[test]
    fn a_key_has_the_traces_and_not_the_place() {
        let job = EmulationJob {
            name: "a".to_owned(),
            text: "duration = '1s'".to_owned(),
            folder: PathBuf::from("here"),
            traces: None,
            set: Vec::new(),
            seed: 1,
            looks: Looks::None,
            link_flows: LinkFlows::None,
        };
        let plain = key(&job, "6");
        assert!(!plain.contains("folder") && !plain.contains("traces"), "{plain}");
        assert_eq!(key(&EmulationJob { folder: PathBuf::from("there"), ..job.clone() }, "6"), plain);
        assert_ne!(key(&EmulationJob { traces: Some(1), ..job }, "6"), plain);
    }
}
