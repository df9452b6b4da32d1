//! Seeds of the points: how many each has, and what rules of precision ask for.

use std::collections::BTreeMap;

use super::cell::{is_open, is_precise};
use super::file::Experiment;
use super::judge::{Cap, Sample};
use super::measure::Given;
use super::paper::SeedRule;
use super::runner::{Part, PlannedPoint, RunId};

/// Progress of the points.
#[derive(Debug)]
pub(super) struct Course {
    /// Outcomes of runs: values, or the reason why there are none.
    pub(super) given: BTreeMap<RunId, Result<Given, String>>,
    /// Seeds of each point.
    pub(super) seeds: Vec<u32>,
    /// Cap that ended a point's seeds too early.
    pub(super) caps: Vec<Option<Cap>>,
}

impl Course {
    /// Before the first run.
    pub(super) fn new(points: &[PlannedPoint]) -> Self {
        Self {
            given: BTreeMap::new(),
            seeds: points.iter().map(|point| point.runs).collect(),
            caps: vec![None; points.len()],
        }
    }

    /// Gives more seeds to the points that are not precise enough, as far as the caps of their
    /// rules allow; how many points have got more.
    pub(super) fn step(&mut self, experiments: &[Experiment], points: &[PlannedPoint]) -> usize {
        let mut grown = 0;
        for (index, experiment) in experiments.iter().enumerate() {
            let of_experiment = || points.iter().enumerate().filter(|(_, one)| one.point.experiment == index);
            let mut parts: Vec<(Part, SeedRule)> =
                of_experiment().filter_map(|(_, point)| Some((point.part, point.rule?))).collect();
            parts.dedup_by_key(|(part, _)| *part);
            for (part, rule) in parts {
                let numbers: Vec<usize> =
                    of_experiment().filter(|(_, point)| point.part == part).map(|(i, _)| i).collect();
                grown += self.step_of(experiment, points, &numbers, rule);
            }
        }
        grown
    }

    /// The step of one profile or variant of an experiment. The cap on hops is on the sum of its
    /// points.
    fn step_of(
        &mut self,
        experiment: &Experiment,
        points: &[PlannedPoint],
        numbers: &[usize],
        rule: SeedRule,
    ) -> usize {
        let (mut wide, mut open) = (Vec::new(), Vec::new());
        let (mut spent_in_all, mut hops) = (0.0, 0.0);
        for &number in numbers {
            let (point, seeds) = (&points[number], self.seeds[number]);
            let of_run = |run| self.given.get(&(number, run))?.as_ref().ok();
            let given: Vec<&Given> = (1..=seeds).filter_map(of_run).collect();
            if given.len() < seeds as usize {
                // Runs of another shard are missing: nothing can be decided here.
                return 0;
            }
            let spent: f64 = given.iter().map(|one| one.packet_hops).sum();
            hops += spent;
            spent_in_all += spent;
            let sample = |place: usize| {
                let values = given.iter().filter_map(|one| one.values.get(place).copied().flatten());
                Sample { values: values.collect(), runs: given.len(), fixed: false, cap: None }
            };
            let is_wide = |(place, cell): (usize, &usize)| {
                let cell = &experiment.cells[*cell];
                !is_precise(experiment, point.point.row, cell, &sample(place), rule.part)
            };
            let is_open = |(place, cell): (usize, &usize)| {
                is_open(experiment, point.point.row, &experiment.cells[*cell], &sample(place))
            };
            if let Some(step) = rule.open.filter(|step| seeds < step.seeds)
                && point.point.cells.iter().enumerate().any(is_open)
            {
                open.push((number, step, spent * (f64::from(step.seeds) / f64::from(seeds) - 1.0)));
            }
            if self.caps[number].is_none() && point.point.cells.iter().enumerate().any(is_wide) {
                match rule.after(seeds) {
                    None => self.caps[number] = Some(Cap::Seeds),
                    Some(next) => {
                        hops += spent * (f64::from(next) / f64::from(seeds) - 1.0);
                        wide.push((number, next));
                    }
                }
            }
        }
        if hops > rule.hops as f64 {
            wide.iter().for_each(|(number, _)| self.caps[*number] = Some(Cap::Hops));
            wide.clear();
        }
        if wide.is_empty() {
            // The steps by width are over.
            let with_it: f64 = spent_in_all + open.iter().map(|(_, _, more)| more).sum::<f64>();
            open.retain(|(_, step, _)| with_it <= step.hops as f64);
            wide.extend(open.iter().map(|(number, step, _)| (*number, step.seeds)));
        }
        wide.iter().for_each(|(number, next)| self.seeds[*number] = *next);
        wide.len()
    }
}
