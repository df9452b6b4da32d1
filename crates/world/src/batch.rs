//! Several runs: the points of a sweep, each with several seeds, on several threads, in shards, and
//! their means.
//!
//! Results come in the order of points and runs whatever the number of threads. A shard does every
//! n-th run; its document, merged with those of all other shards, is the document of the whole,
//! byte for byte.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use tfrc_units::saturating;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tfrc_sim::Seed;
use tfrc_units::Duration;
use tfrc_units::hash::fnv1a;

pub use crate::jobs::Shard;
use crate::jobs::Workers;
use crate::note::{self, Note};
use crate::quantities::{self, Quantity};
use crate::results::{FlowSummary, GroupOutcome, Outcome};
use crate::run::run;
use crate::statistics::{Estimate, estimate, mean};
use tfrc_scenario::{Document, Plan, Point, Scenario};

/// Selection of a plan's runs, and the number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// In place of the scenario's seed.
    pub seed: Option<u64>,
    /// In place of its number of runs.
    pub runs: Option<u32>,
    /// Threads; 0 means one for each processor.
    pub jobs: usize,
    /// Which runs.
    pub shard: Shard,
}

impl Default for Order {
    /// Seed and runs of the scenario, on one thread.
    fn default() -> Self {
        Self { seed: None, runs: None, jobs: 1, shard: Shard::WHOLE }
    }
}

impl Order {
    /// The runs of a plan that are asked for: the place of each one's point, and its number there.
    fn jobs(&self, plan: &Plan) -> Vec<(usize, u32)> {
        let runs = self.runs_of(plan);
        let all = (0..plan.points.len()).flat_map(|point| (1..=runs).map(move |run| (point, run)));
        self.shard.share(all).collect()
    }

    fn runs_of(&self, plan: &Plan) -> u32 {
        self.runs.unwrap_or(plan.runs).max(1)
    }

    /// The virtual time of all runs together.
    #[must_use]
    pub fn virtual_time(&self, plan: &Plan) -> Duration {
        let times = self.jobs(plan).into_iter().map(|(point, _)| plan.points[point].scenario.duration);
        times.fold(Duration::ZERO, |sum, time| sum + time)
    }
}

/// Results of a plan, or of a shard of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Identifies the scenario with its changes, seed and number of runs.
    pub fingerprint: String,
    /// Runs of each point.
    pub runs: u32,
    /// Which runs are here; left out for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The points.
    pub points: Vec<PointResult>,
}

impl Results {
    /// The notes on its points, each with the number of points that it is about.
    #[must_use]
    pub fn notes(&self) -> Vec<(Note, usize)> {
        let count = |note| self.points.iter().filter(|point| point.notes.contains(&note)).count();
        let counted = Note::ALL.map(|note| (note, count(note)));
        counted.into_iter().filter(|(_, points)| *points > 0).collect()
    }
}

/// Results of one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointResult {
    /// Settings of the point: the text that each key is set to.
    pub at: BTreeMap<String, String>,
    /// The names of groups of flows, each with its first flow and their number.
    pub groups: Vec<GroupOf>,
    /// Reasons to read the runs and means with care; left out without one. That of a shard is only
    /// what the scenario gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The runs.
    pub runs: Vec<RunOutcome>,
    /// Means over the runs; left out of a shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<Means>,
}

/// A group of flows in the order of a run's flows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupOf {
    /// Its name.
    pub id: String,
    /// The index of its first flow.
    pub first: usize,
    /// Number of flows.
    pub count: usize,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunOutcome {
    /// Its number at this point, from 1.
    pub run: u32,
    /// Outcome of the run.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Means over the runs of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Means {
    /// Of each flow.
    pub flows: Vec<FlowRow>,
    /// Of each group of flows: the mean over its flows in a run, then over runs; times of transfers
    /// and Jain's index are of its flows together.
    pub groups: Vec<FlowRow>,
    /// Of each link.
    pub links: Vec<FlowRow>,
    /// Of Jain's index of all flows.
    #[serde(default)]
    pub jain_index: Estimate,
}

/// The means of one flow, group or link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowRow {
    /// Its name.
    pub id: String,
    /// Its quantities, by their keys.
    #[serde(flatten)]
    pub values: BTreeMap<String, Estimate>,
}

/// Why documents of shards cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeError {
    /// They are of different scenarios, changes, seeds or numbers of runs.
    Different,
    /// A run is there twice.
    Duplicate {
        /// Its point, from 1.
        point: usize,
        /// Its number there.
        run: u32,
    },
    /// A run is in none of them.
    Missing {
        /// Its point, from 1.
        point: usize,
        /// Its number there.
        run: u32,
    },
    /// There are none.
    Nothing,
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Different => f.write_str(
                "these are not shards of one run: scenario, changes, seed and number of runs must be the same",
            ),
            Self::Duplicate { point, run } => {
                write!(f, "run {run} of point {point} is there twice: give each shard once")
            }
            Self::Missing { point, run } => {
                write!(f, "run {run} of point {point} is in none of the files: give all shards")
            }
            Self::Nothing => f.write_str("no shard to merge: give the files of all shards"),
        }
    }
}

impl std::error::Error for MergeError {}

/// The seed of a run: the first is the scenario's own, the others follow from it. Below 2^53, so
/// that every reader of JSON keeps it.
#[must_use]
pub fn seed_of(seed: u64, run: u32) -> u64 {
    if run <= 1 { seed } else { Seed(seed).stream(&format!("run/{run}")).bits() >> 11 }
}

/// One run of a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlannedRun<'p> {
    /// The number of its point, from 1.
    pub number: usize,
    /// Its point.
    pub point: &'p Point,
    /// Its number at the point, from 1.
    pub run: u32,
}

/// Runs of a plan that are under way or have ended and wait for their turn, at most, for each
/// thread.
const RUNS_AHEAD: usize = 4;

/// Runs what is asked for of a plan.
#[must_use]
pub fn run_plan(document: &Document, plan: &Plan, order: Order) -> Results {
    let one = |_: PlannedRun<'_>, scenario: &Scenario| Ok::<_, Infallible>((run(scenario), ()));
    let Ok(results) = run_plan_with(document, plan, order, one, |_, ()| Ok(()));
    results
}

/// Runs what is asked for of a plan by `one`, which is given the scenario with the seed of the run.
/// The rest of what `one` returns for a run goes to `next`, in the order of points and runs
/// whatever the number of threads; that of at most four runs a thread is kept at a time.
///
/// # Errors
/// An error of `one` or of `next`, after which nothing more is begun.
pub fn run_plan_with<T: Send, E: Send>(
    document: &Document,
    plan: &Plan,
    order: Order,
    one: impl Fn(PlannedRun<'_>, &Scenario) -> Result<(Outcome, T), E> + Sync,
    mut next: impl FnMut(PlannedRun<'_>, T) -> Result<(), E>,
) -> Result<Results, E> {
    let (runs, jobs) = (order.runs_of(plan), order.jobs(plan));
    let planned =
        |&(point, run): &(usize, u32)| PlannedRun { number: point + 1, point: &plan.points[point], run };
    let execute = |job: &(usize, u32)| {
        let planned = planned(job);
        let mut scenario = planned.point.scenario.clone();
        scenario.seed = Seed(seed_of(order.seed.unwrap_or(scenario.seed.0), planned.run));
        one(planned, &scenario)
    };
    let workers = Workers::new(order.jobs);
    let mut outcomes = Vec::with_capacity(jobs.len());
    for some in jobs.chunks(workers.threads().saturating_mul(RUNS_AHEAD)) {
        for (job, (outcome, more)) in some.iter().zip(workers.run(some, execute)?) {
            let planned = planned(job);
            outcomes.push(RunOutcome { run: planned.run, outcome });
            next(planned, more)?;
        }
    }
    let mut points: Vec<PointResult> = plan
        .points
        .iter()
        .map(|point| PointResult {
            at: point.at.iter().cloned().collect(),
            groups: groups(&point.scenario),
            notes: note::before_runs(&point.scenario),
            runs: Vec::new(),
            mean: None,
        })
        .collect();
    for ((point, _), outcome) in jobs.into_iter().zip(outcomes) {
        points[point].runs.push(outcome);
    }
    let seed = order.seed.map_or(String::new(), |seed| seed.to_string());
    let results = Results {
        fingerprint: fingerprint(&format!("{}\n{seed}\n{runs}", document.whole_text())),
        runs,
        shard: Some(order.shard),
        points,
    };
    Ok(if order.shard.of <= 1 { completed(results) } else { results })
}

/// Joins the documents of all shards into that of the whole.
///
/// # Errors
/// [`MergeError`].
pub fn merge(shards: Vec<Results>) -> Result<Results, MergeError> {
    let mut shards = shards.into_iter();
    let mut whole = shards.next().ok_or(MergeError::Nothing)?;
    for shard in shards {
        let same = shard.fingerprint == whole.fingerprint
            && shard.runs == whole.runs
            && shard.points.len() == whole.points.len();
        if !same {
            return Err(MergeError::Different);
        }
        for (point, more) in whole.points.iter_mut().zip(shard.points) {
            point.runs.extend(more.runs);
        }
    }
    for (point, result) in (1..).zip(&mut whole.points) {
        result.runs.sort_by_key(|outcome| outcome.run);
        if let Some(pair) = result.runs.windows(2).find(|pair| pair[0].run == pair[1].run) {
            return Err(MergeError::Duplicate { point, run: pair[0].run });
        }
        let missing = (1..=whole.runs).find(|run| result.runs.iter().all(|outcome| outcome.run != *run));
        if let Some(run) = missing {
            return Err(MergeError::Missing { point, run });
        }
    }
    Ok(completed(whole))
}

/// With the notes and means of all runs.
fn completed(results: Results) -> Results {
    let points = results.points.into_iter().map(|mut point| {
        let outcomes: Vec<&Outcome> = point.runs.iter().map(|run| &run.outcome).collect();
        point.notes = note::kept(point.notes, &outcomes);
        point.mean = Some(means(&point));
        point
    });
    Results { shard: None, points: points.collect(), ..results }
}

fn groups(scenario: &tfrc_scenario::Scenario) -> Vec<GroupOf> {
    let index = |n: u32| saturating::<usize>(n);
    let of = |flow: &tfrc_scenario::Flow| {
        let group = &flow.group;
        GroupOf { id: group.name.clone(), first: index(group.first), count: index(group.count) }
    };
    scenario.flows.iter().map(of).collect()
}

/// The quantities of a flow or link, by their keys.
fn values<T>(list: &[Quantity<T>], of: &T) -> Values {
    list.iter().map(|quantity| (quantity.key, (quantity.of)(of))).collect()
}

fn means(point: &PointResult) -> Means {
    let Some(first) = point.runs.first() else {
        return Means { flows: Vec::new(), groups: Vec::new(), links: Vec::new(), jain_index: estimate(&[]) };
    };
    let outcomes: Vec<&Outcome> = point.runs.iter().map(|run| &run.outcome).collect();
    // The scatter of copies says nothing about other files like this one.
    let estimate: fn(&[f64]) -> Estimate = match point.notes.contains(&Note::NothingRandom) {
        true => |values| Estimate { ci95: None, ..estimate(values) },
        false => estimate,
    };
    let rows = |names: &mut dyn Iterator<Item = (usize, &str)>, of: &dyn Fn(&Outcome, usize) -> Values| {
        names
            .map(|(i, id)| row(id, outcomes.iter().map(|outcome| of(outcome, i)).collect(), estimate))
            .collect()
    };
    let flows = &mut first.outcome.flows.iter().map(|flow| flow.id.as_str()).enumerate();
    let links = &mut first.outcome.links.iter().map(|link| link.id.as_str()).enumerate();
    let groups = &mut point.groups.iter().map(|group| group.id.as_str()).enumerate();
    Means {
        flows: rows(flows, &|outcome, i| values(&quantities::FLOW, &outcome.flows[i])),
        groups: rows(groups, &|outcome, i| {
            let group = &point.groups[i];
            let members = outcome.flows.iter().skip(group.first).take(group.count);
            let means = mean_of_each(members.map(|flow| values(&quantities::FLOW, flow)).collect());
            together(outcome, &group.id, means)
        }),
        links: rows(links, &|outcome, i| values(&quantities::LINK, &outcome.links[i])),
        jain_index: estimate(&outcomes.iter().filter_map(|outcome| outcome.jain_index).collect::<Vec<f64>>()),
    }
}

type Values = Vec<(&'static str, Option<f64>)>;

/// The mean of each quantity over the flows that have it.
fn mean_of_each(flows: Vec<Values>) -> Values {
    let Some(first) = flows.first() else { return Vec::new() };
    let column = |i: usize| flows.iter().filter_map(|flow| flow[i].1).collect::<Vec<f64>>();
    first.iter().enumerate().map(|(i, (key, _))| (*key, mean(&column(i)))).collect()
}

/// Puts the values that a group of several flows has together in place of means over its flows.
fn together(outcome: &Outcome, id: &str, mut means: Values) -> Values {
    let group = outcome.groups.iter().find(|group| group.id == id);
    if let Some(GroupOutcome { jain_index, completion, .. }) = group {
        let whole = FlowSummary { completion: *completion, ..FlowSummary::default() };
        for (key, value) in means.iter_mut().filter(|(key, _)| key.starts_with("complet")) {
            *value = quantities::value(&quantities::FLOW, key, &whole);
        }
        means.push(("jain_index", *jain_index));
    }
    means
}

fn row(id: &str, runs: Vec<Values>, estimate: fn(&[f64]) -> Estimate) -> FlowRow {
    let keys: Vec<&str> = runs.first().into_iter().flatten().map(|(key, _)| *key).collect();
    let column = |i: usize| runs.iter().filter_map(|run| run[i].1).collect::<Vec<f64>>();
    let values = keys.iter().enumerate().map(|(i, key)| ((*key).to_owned(), estimate(&column(i))));
    FlowRow { id: id.to_owned(), values: values.collect() }
}

/// A hash of the text, in hexadecimal.
fn fingerprint(text: &str) -> String {
    format!("{:016x}", fnv1a(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_run_has_the_scenario_s_own_seed() {
        assert_eq!(seed_of(7, 1), 7);
        let seeds: std::collections::BTreeSet<u64> = (1..=1000).map(|run| seed_of(7, run)).collect();
        assert_eq!(seeds.len(), 1000);
        assert!(seeds.iter().all(|seed| *seed < 1 << 53));
        assert_ne!(seed_of(7, 2), seed_of(8, 2));
    }
}
