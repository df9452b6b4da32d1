//! Values that one run gives to the formulas of its points: from the cache, or from the world that
//! runs it.

use std::collections::BTreeSet;

use super::emulation::EmulationResult;
use super::emulation::answer::{Kept, answer};
use super::error::ExperimentError;
use super::runner::{Hooks, PlannedPoint, Prepared, RunId, SharedRun};
use super::seeds::Course;
use tfrc_lab::batch::seed_of;
use tfrc_lab::cache::{Cache, Found};
use tfrc_lab::emulated::{EmulationJob, Fidelity};
use tfrc_lab::record_until;
use tfrc_lab::recording::Keep;
use tfrc_sim::Seed;

/// Values of one run for one point.
#[derive(Debug, Clone)]
pub(super) struct Given {
    /// A value for each of the point's cells.
    pub(super) values: Vec<Option<f64>>,
    pub(super) packet_hops: f64,
    /// How near an emulated run came to its network, and where it was done.
    pub(super) witness: Option<(Fidelity, EmulationResult)>,
}

/// Outcome of a run for each of the points that share it: values, or the reason why there are none.
pub(super) type Outcomes = Vec<(RunId, Result<Given, String>)>;

/// The packet hops of a run, stored with the formulas in its cache file.
const HOPS: &str = "packet hops";

impl PlannedPoint {
    /// All that determines the values of a simulated run.
    fn key(&self, run: u32) -> String {
        format!("{}\nseed {}", self.text, seed_of(self.point.scenario.seed.0, run))
    }

    /// The job of an emulated run.
    fn job(&self, run: u32) -> Option<EmulationJob> {
        self.job.as_ref().map(|job| EmulationJob { seed: seed_of(job.seed, run), ..job.clone() })
    }
}

impl Prepared<'_> {
    /// Outcomes of a run for the points that share it; none if the user has ended it.
    pub(super) fn measured(
        &self,
        shared: &SharedRun,
        cache: Option<&Cache>,
        hooks: &Hooks<'_>,
    ) -> Result<Outcomes, ExperimentError> {
        let Some(&(first, run)) = shared.wanted.first() else { return Ok(Vec::new()) };
        let Some(job) = self.points[first].job(run) else { return self.simulated(shared, cache, hooks) };
        let answer = answer(&job, cache, hooks);
        if answer.is_err() && (hooks.stop)() {
            // The interrupt has ended it.
            return Ok(Vec::new());
        }
        let of_user = |&(point, run): &RunId| {
            let given = match &answer {
                Ok(kept) => Ok(self.emulated(&self.points[point], kept)?),
                Err(reason) => Err(reason.clone()),
            };
            Ok(((point, run), given))
        };
        shared.wanted.iter().map(of_user).collect()
    }

    /// The values of an emulated run.
    fn emulated(&self, point: &PlannedPoint, kept: &Kept) -> Result<Given, ExperimentError> {
        let recording = &kept.run.recording;
        Ok(Given {
            values: self.experiments[point.point.experiment].values(&point.point, recording)?,
            packet_hops: recording.outcome.packet_hops as f64,
            witness: Some((kept.run.fidelity, kept.about())),
        })
    }

    /// Adds the values that the cache has of the other shards' runs.
    pub(super) fn add_other_shards(&self, cache: &Cache, course: &mut Course) {
        for (number, point) in self.points.iter().enumerate().filter(|(_, point)| point.job.is_none()) {
            for run in 1..=course.seeds[number] {
                let Found::All(values) = cache.get(&point.key(run), &self.formulas(point)) else { continue };
                if let Some(given) = given(values) {
                    course.given.entry((number, run)).or_insert(Ok(given));
                }
            }
        }
    }

    fn cached(&self, (point, run): RunId, cache: &Cache) -> Found {
        let point = &self.points[point];
        cache.get(&point.key(run), &self.formulas(point))
    }

    /// The formulas of a point's cells, and last what a run cost.
    fn formulas(&self, point: &PlannedPoint) -> Vec<&str> {
        let cells = &self.experiments[point.point.experiment].cells;
        let formulas = point.point.cells.iter().filter_map(|cell| cells[*cell].value.as_ref());
        formulas.map(|(formula, _)| formula.text()).chain([HOPS]).collect()
    }

    /// The values of a simulated run for the points that share it. It is done if the cache misses
    /// some that are wanted, and then serves all.
    fn simulated(
        &self,
        shared: &SharedRun,
        cache: Option<&Cache>,
        hooks: &Hooks<'_>,
    ) -> Result<Outcomes, ExperimentError> {
        let (mut outcomes, mut missing, mut damaged) = (Vec::new(), Vec::new(), BTreeSet::new());
        for &user in &shared.wanted {
            let known = match cache.map_or(Found::Nothing, |cache| self.cached(user, cache)) {
                Found::All(values) => given(values),
                Found::Damaged(why) => {
                    // Points may share a file of the cache, too.
                    if !damaged.contains(&why) {
                        (hooks.warn)(&why);
                        damaged.insert(why);
                    }
                    None
                }
                Found::Nothing => None,
            };
            match known {
                Some(given) => outcomes.push((user, Ok(given))),
                None => missing.push(user),
            }
        }
        let Some(&(first, run)) = missing.first() else { return Ok(outcomes) };
        missing.extend(&shared.beside);
        let keep = missing.iter().map(|(point, _)| self.points[*point].point.keep);
        let keep = keep.fold(Keep::NOTHING, Keep::and);
        let mut scenario = (*self.points[first].point.scenario).clone();
        scenario.seed = Seed(seed_of(scenario.seed.0, run));
        let Some(recording) = record_until(&scenario, keep, hooks.stop) else { return Ok(Vec::new()) };
        for (number, run) in missing {
            let point = &self.points[number];
            let values = self.experiments[point.point.experiment].values(&point.point, &recording)?;
            let given = Given { values, packet_hops: recording.outcome.packet_hops as f64, witness: None };
            if let Some(cache) = cache {
                let values = given.values.iter().copied().chain([Some(given.packet_hops)]);
                let new: Vec<(&str, Option<f64>)> = self.formulas(point).into_iter().zip(values).collect();
                if let Err(error) = cache.put(&point.key(run), &new) {
                    (hooks.warn)(&format!("a result cannot be kept: {error}"));
                }
            }
            outcomes.push(((number, run), Ok(given)));
        }
        Ok(outcomes)
    }
}

/// The values of a cache file, the packet hops last.
fn given(mut values: Vec<Option<f64>>) -> Option<Given> {
    let packet_hops = values.pop()??;
    Some(Given { values, packet_hops, witness: None })
}
