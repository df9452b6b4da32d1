//! Runs experiments: every point of every row, seed, profile and variant, on several threads.

use std::collections::BTreeMap;
use std::fmt;

use rayon::prelude::*;
use tfrc_sim::Seed;

use super::cache::{Cache, Found};
use super::computed::Context;
use super::error::ExperimentError;
use super::file::{Experiment, at};
use super::formulas::{self, OfRun};
use super::judge::{Measured, Sample, Samples, judge, not_run};
use super::raw::{Profile, World};
use super::results::Results;
use crate::batch::{Shard, seed_of};
use crate::recording::Keep;
use crate::run::record;
use crate::scenario::Scenario;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The quick form: fewer runs, rows and seconds, no variants.
    pub quick: bool,
    /// Threads; 0 means one for each processor.
    pub jobs: usize,
    /// Which worlds.
    pub world: World,
    /// Which of the runs.
    pub shard: Shard,
}

/// Experiments with all their points read and checked, ready to run.
#[derive(Debug)]
pub struct Prepared<'a> {
    experiments: &'a [Experiment],
    wanted: Wanted,
    points: Vec<Point>,
}

/// What a point belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Profile(Profile),
    Variant(usize),
}

/// One scenario with several seeds.
#[derive(Debug)]
struct Point {
    experiment: usize,
    part: Part,
    row: usize,
    /// The columns measured in it.
    cells: Vec<usize>,
    keep: Keep,
    scenario: Box<Scenario>,
    /// All that determines it, but for the seed.
    text: String,
    runs: u32,
}

impl Point {
    /// All that determines one run.
    fn key(&self, run: u32) -> String {
        format!("{}\n{}\nrun {run}", super::code_version(), self.text)
    }
}

/// What the runner tells while it runs, and asks.
pub struct Hooks<'h> {
    /// A run has ended; the id of its experiment.
    pub done: &'h (dyn Fn(&str) + Sync),
    /// Something is odd, and does no harm to the results.
    pub warn: &'h (dyn Fn(&str) + Sync),
    /// Whether to stop.
    pub stop: &'h (dyn Fn() -> bool + Sync),
}

impl fmt::Debug for Hooks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

/// What a run gave: a value for each of its point's cells.
type Given = Vec<Option<f64>>;

impl<'a> Prepared<'a> {
    /// Reads the scenario of every point.
    ///
    /// # Errors
    /// [`ExperimentError`] with the first that is not right.
    pub fn new(experiments: &'a [Experiment], wanted: Wanted) -> Result<Self, ExperimentError> {
        let mut prepared = Self { experiments, wanted, points: Vec::new() };
        for (index, experiment) in experiments.iter().enumerate() {
            if experiment.computed.is_some() || experiment.world == World::Emu {
                continue;
            }
            for profile in [Profile::AsPublished, Profile::Rfc] {
                let runs = prepared.runs(experiment, experiment.runs_of(profile));
                prepared.add(index, Part::Profile(profile), runs)?;
            }
            if !wanted.quick {
                for (number, variant) in experiment.variants.iter().enumerate() {
                    prepared.add(index, Part::Variant(number), variant.runs)?;
                }
            }
        }
        Ok(prepared)
    }

    /// How many runs there are.
    #[must_use]
    pub fn total(&self) -> usize {
        self.jobs().count()
    }

    /// How many runs an experiment has.
    fn runs(&self, experiment: &Experiment, runs: u32) -> u32 {
        match (self.wanted.quick, experiment.quick.runs) {
            (true, Some(quick)) => runs.min(quick),
            (true, None) => runs.min(3),
            (false, _) => runs,
        }
        .max(1)
    }

    /// Experiments of the emulated world are not run in virtual time, where they would show something else.
    fn why_not_emulated(&self) -> &'static str {
        match self.wanted.world {
            World::Sim => "needs --world emu",
            World::Emu => "the emulated world cannot run experiments yet",
        }
    }

    /// Adds the points of one profile or variant.
    fn add(&mut self, index: usize, part: Part, runs: u32) -> Result<(), ExperimentError> {
        let experiment = &self.experiments[index];
        let (profile, variant) = match part {
            Part::Profile(profile) => (profile, None),
            Part::Variant(number) => {
                let variant = &experiment.variants[number];
                (variant.profile, Some(variant))
            }
        };
        let mut more = Vec::new();
        if self.wanted.quick {
            more.extend(experiment.quick.set.iter().cloned());
        }
        more.extend(variant.iter().flat_map(|variant| variant.set.iter().cloned()));
        for (number, sim) in experiment.sims.iter().enumerate() {
            let left_out = |names: &Option<Vec<String>>, name: &str| {
                names.as_ref().is_some_and(|names| !names.iter().any(|one| one == name))
            };
            if variant.is_some_and(|variant| left_out(&variant.only, &sim.name)) {
                continue;
            }
            for (row_number, row) in experiment.published.rows.iter().enumerate() {
                let cells = self.cells(index, number, row_number);
                if cells.is_empty()
                    || left_out(&sim.rows, &row.name)
                    || variant.is_some_and(|variant| left_out(&variant.rows, &row.name))
                {
                    continue;
                }
                let (document, scenario, _) = experiment.scenario(sim, profile, row, &more)?;
                experiment.check_names(number, &scenario)?;
                let text = format!("{}\nrow {}", document.whole_text(), row.name);
                let scenario = Box::new(scenario);
                let formulas = cells.iter().filter_map(|cell| experiment.cells[*cell].value.as_ref());
                let keep = formulas::needs(formulas.map(|(formula, _)| formula));
                let row = row_number;
                let runs = match (part, sim.runs) {
                    (Part::Profile(Profile::AsPublished), Some(own)) => self.runs(experiment, own),
                    _ => runs,
                };
                self.points.push(Point { experiment: index, part, row, cells, keep, scenario, text, runs });
            }
        }
        Ok(())
    }

    /// The columns that a simulation measures in a row.
    fn cells(&self, experiment: usize, sim: usize, row: usize) -> Vec<usize> {
        let experiment = &self.experiments[experiment];
        let row = &experiment.published.rows[row];
        let of_sim = experiment.cells.iter().enumerate().filter(|(_, cell)| cell.sim == sim);
        of_sim.filter(|(_, cell)| self.has_row(experiment, cell, &row.name)).map(|(i, _)| i).collect()
    }

    /// Whether a column is measured in a row: in those it is given, else in those with something to compare with; a column
    /// that has nothing anywhere is a probe, and measured in all.
    fn has_row(&self, experiment: &Experiment, cell: &super::file::Cell, row: &str) -> bool {
        if let (true, Some(quick)) = (self.wanted.quick, &experiment.quick.rows)
            && !quick.iter().any(|one| one.get_ref() == row)
        {
            return false;
        }
        if let Some(rows) = &cell.rows {
            return rows.iter().any(|one| one == row);
        }
        let column = cell.column.as_str();
        let is_probe = !experiment.published.columns.contains(&cell.column);
        is_probe
            || experiment.published.get(row, column).is_some()
            || experiment.ns2.as_ref().is_some_and(|table| table.get(row, column).is_some())
    }

    /// Every run of this shard: its point and its number, from 1.
    fn jobs(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let all = self.points.iter().enumerate();
        let all = all.flat_map(|(point, what)| (1..=what.runs).map(move |run| (point, run)));
        let Shard { index, of } = self.wanted.shard;
        all.zip(0u64..)
            .filter(move |(_, number)| number % u64::from(of.max(1)) == u64::from(index.max(1) - 1))
            .map(|(job, _)| job)
    }

    /// Runs everything that the cache does not have. Once `hooks.stop` says so, no further run begins; experiments that
    /// miss runs then say so.
    ///
    /// # Errors
    /// [`ExperimentError`] if a formula cannot be computed.
    pub fn run(&self, cache: Option<&Cache>, hooks: &Hooks<'_>) -> Result<Results, ExperimentError> {
        let jobs: Vec<(usize, u32)> = self.jobs().collect();
        let one = |&(point, run): &(usize, u32)| {
            if (hooks.stop)() {
                return Ok(None);
            }
            let point = &self.points[point];
            let given = self.one(point, run, cache, hooks)?;
            (hooks.done)(&self.experiments[point.experiment].id);
            Ok(Some(given))
        };
        let outcomes: Vec<Option<Given>> =
            match rayon::ThreadPoolBuilder::new().num_threads(self.wanted.jobs).build() {
                Ok(pool) if self.wanted.jobs != 1 => {
                    pool.install(|| jobs.par_iter().with_max_len(1).map(one).collect::<Result<_, _>>())
                }
                // One thread, or none to be had.
                _ => jobs.iter().map(one).collect::<Result<_, _>>(),
            }?;
        let mut given: BTreeMap<(usize, u32), Given> =
            jobs.into_iter().zip(outcomes).filter_map(|(job, given)| Some((job, given?))).collect();
        if let (Some(cache), true) = (cache, self.wanted.shard != Shard::WHOLE) {
            self.add_other_shards(cache, &mut given);
        }
        Ok(self.results(&given, (hooks.stop)()))
    }

    /// What the cache has of the other shards' runs.
    fn add_other_shards(&self, cache: &Cache, given: &mut BTreeMap<(usize, u32), Given>) {
        for (number, point) in self.points.iter().enumerate() {
            for run in 1..=point.runs {
                if let Found::All(values) = cache.get(&point.key(run), &self.formulas(point)) {
                    given.entry((number, run)).or_insert(values);
                }
            }
        }
    }

    /// The formulas of a point's cells.
    fn formulas(&self, point: &Point) -> Vec<&str> {
        let cells = &self.experiments[point.experiment].cells;
        point
            .cells
            .iter()
            .filter_map(|cell| cells[*cell].value.as_ref())
            .map(|(formula, _)| formula.text())
            .collect()
    }

    fn one(
        &self,
        point: &Point,
        run: u32,
        cache: Option<&Cache>,
        hooks: &Hooks<'_>,
    ) -> Result<Given, ExperimentError> {
        let (key, formulas) = (point.key(run), self.formulas(point));
        match cache.map(|cache| cache.get(&key, &formulas)) {
            Some(Found::All(values)) => return Ok(values),
            Some(Found::Damaged(why)) => (hooks.warn)(&why),
            Some(Found::Nothing) | None => {}
        }
        let given = self.measure(point, run)?;
        if let Some(cache) = cache {
            let new: Vec<(&str, Option<f64>)> = formulas.into_iter().zip(given.iter().copied()).collect();
            if let Err(error) = cache.put(&key, &new) {
                (hooks.warn)(&format!("a result cannot be kept: {error}"));
            }
        }
        Ok(given)
    }

    fn measure(&self, point: &Point, run: u32) -> Result<Given, ExperimentError> {
        let experiment = &self.experiments[point.experiment];
        let mut scenario = (*point.scenario).clone();
        scenario.seed = Seed(seed_of(scenario.seed.0, run));
        let recording = record(&scenario, point.keep);
        let row = &experiment.published.rows[point.row];
        let keys: Vec<(String, String)> =
            experiment.published.keys.iter().cloned().zip(row.keys.iter().cloned()).collect();
        let scope = OfRun { recording: &recording, keys: &keys };
        let formulas = point.cells.iter().filter_map(|cell| experiment.cells[*cell].value.as_ref());
        formulas
            .map(|(formula, place)| formula.value(&scope).map_err(|wrong| at(&experiment.file, place, wrong)))
            .collect()
    }

    fn results(&self, given: &BTreeMap<(usize, u32), Given>, stopped: bool) -> Results {
        let mut measured: Vec<(Measured, usize)> =
            self.experiments.iter().map(|e| (empty(e, self.wanted.quick), 0)).collect();
        for (number, point) in self.points.iter().enumerate() {
            let (measured, missing) = &mut measured[point.experiment];
            let samples = match point.part {
                Part::Profile(profile) => measured.profiles.entry(profile).or_default(),
                Part::Variant(variant) => &mut measured.variants[variant],
            };
            for run in 1..=point.runs {
                let Some(given) = given.get(&(number, run)) else {
                    *missing += 1;
                    continue;
                };
                for (cell, value) in point.cells.iter().zip(given) {
                    let sample = samples.entry((point.row, *cell)).or_default();
                    sample.runs += 1;
                    sample.values.extend(*value);
                }
            }
        }
        let experiments =
            self.experiments.iter().zip(&mut measured).map(|(experiment, (measured, missing))| {
                if experiment.world == World::Emu {
                    return not_run(experiment, self.why_not_emulated());
                }
                if *missing > 0 {
                    let why = if stopped { "interrupted" } else { "not all shards are here" };
                    return not_run(experiment, &format!("{why}: {missing} runs are missing"));
                }
                let runs = self.runs(experiment, experiment.runs_of(Profile::AsPublished));
                if let Some(computed) = experiment.computed {
                    for profile in [Profile::AsPublished, Profile::Rfc] {
                        measured.profiles.insert(profile, self.computed(experiment, computed, profile, runs));
                    }
                }
                judge(experiment, measured, runs)
            });
        Results {
            code_version: super::code_version().to_owned(),
            quick: self.wanted.quick,
            experiments: experiments.collect(),
        }
    }

    fn computed(
        &self,
        experiment: &Experiment,
        code: super::computed::Computed,
        profile: Profile,
        runs: u32,
    ) -> Samples {
        let rows = &experiment.published.rows;
        let values = code(&Context {
            profile,
            rows: rows.iter().map(|row| (row.name.as_str(), row.keys.as_slice())).collect(),
            columns: experiment.cells.iter().map(|cell| cell.column.as_str()).collect(),
            seeds: (1..=runs).map(|run| seed_of(1, run)).collect(),
        });
        let mut samples = Samples::new();
        for (number, row) in rows.iter().enumerate() {
            for (column, cell) in experiment.cells.iter().enumerate() {
                if !self.has_row(experiment, cell, &row.name) {
                    continue;
                }
                let found = values.get(&(row.name.clone(), cell.column.clone())).cloned().unwrap_or_default();
                let fixed = found.len() == 1;
                let runs = if fixed { 1 } else { runs as usize };
                samples.insert((number, column), Sample { values: found, runs, fixed });
            }
        }
        samples
    }
}

fn empty(experiment: &Experiment, quick: bool) -> Measured {
    let variants = if quick || experiment.computed.is_some() { 0 } else { experiment.variants.len() };
    Measured { variants: vec![Samples::new(); variants], ..Measured::default() }
}
