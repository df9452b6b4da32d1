//! Runs experiments: every point of every row, seed, profile and variant, on several threads.

use std::collections::BTreeMap;
use std::fmt;

use tfrc_sim::Seed;
use tfrc_units::u64_from_f64;

use super::cell::is_precise;
use super::computed::Context;
use super::emulation::{EmulatedTable, EmulationPlan};
use super::error::ExperimentError;
use super::file::Experiment;
use super::judge::{Cap, Measured, Sample, Samples, judge, not_run};
use super::paper::SeedRule;
use super::points::{self, Point};
use super::reading::fits;
use super::results::{ExperimentResult, ExperimentVerdict, Results};
use super::syntax::{Profile, World};
use tfrc_lab::batch::{Shard, seed_of};
use tfrc_lab::cache::{Cache, Found};
use tfrc_lab::emulated::EmulatedWorld;
use tfrc_lab::jobs::Workers;
use tfrc_lab::record_until;

/// Selection of the runs, and the number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The quick form: fewer runs, rows and seconds, no variants.
    pub quick: bool,
    /// Threads; 0 means one for each processor, and four in the emulated world, whose runs mostly
    /// wait.
    pub jobs: usize,
    /// The world that is run: virtual time, or the emulated sides of experiments.
    pub world: World,
    /// Which of the runs.
    pub shard: Shard,
}

/// Experiments with all their points read and checked, ready to run.
#[derive(Debug)]
pub struct Prepared<'a> {
    experiments: &'a [Experiment],
    wanted: Wanted,
    /// Simulations; none in the emulated world.
    points: Vec<SeededPoint>,
    /// Emulated runs, in the emulated world.
    emulation: Option<EmulationPlan<'a>>,
}

/// Profile or variant that a point belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Profile(Profile),
    VariantRun(usize),
}

/// One scenario with several seeds.
#[derive(Debug)]
struct SeededPoint {
    point: Point,
    part: Part,
    /// Everything except the seed that determines it.
    text: String,
    /// Seeds of the first step.
    runs: u32,
    /// The rule for more, if there is one.
    rule: Option<SeedRule>,
}

impl SeededPoint {
    /// All that determines one run.
    fn key(&self, run: u32) -> String {
        format!("{}\n{}\nrun {run}", tfrc_lab::code_version(), self.text)
    }
}

/// Callbacks of the runner: it reports while it runs, and asks whether to stop.
pub struct Hooks<'h> {
    /// A run has ended; the id of its experiment.
    pub done: &'h (dyn Fn(&str) + Sync),
    /// Called with the number of runs needed beyond those known before.
    pub more: &'h (dyn Fn(usize) + Sync),
    /// Something is odd, and does no harm to the results.
    pub warn: &'h (dyn Fn(&str) + Sync),
    /// Returns true if the runner is to stop.
    pub stop: &'h (dyn Fn() -> bool + Sync),
    /// The emulated world, where the program has one.
    pub emulated: Option<&'h EmulatedWorld<'h>>,
}

impl fmt::Debug for Hooks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

/// Values of one run.
#[derive(Debug, Clone)]
struct Given {
    /// A value for each of its point's cells.
    values: Vec<Option<f64>>,
    packet_hops: f64,
}

/// The packet hops of a run, stored with the formulas in its cache file.
const HOPS: &str = "packet hops";

/// Progress of the points.
#[derive(Debug)]
struct Course {
    /// Values of runs, by point and number from 1.
    given: BTreeMap<(usize, u32), Given>,
    /// Seeds of each point.
    seeds: Vec<u32>,
    /// Cap that ended a point's seeds too early.
    caps: Vec<Option<Cap>>,
}

impl<'a> Prepared<'a> {
    /// Reads the scenario of every point.
    ///
    /// # Errors
    /// [`ExperimentError`] with the first that is not right.
    pub fn new(experiments: &'a [Experiment], wanted: Wanted) -> Result<Self, ExperimentError> {
        let mut prepared = Self { experiments, wanted, points: Vec::new(), emulation: None };
        if wanted.world == World::Emu {
            prepared.emulation = Some(EmulationPlan::new(experiments, &wanted)?);
            return Ok(prepared);
        }
        for (index, experiment) in experiments.iter().enumerate() {
            if experiment.computed.is_some() || experiment.world == World::Emu {
                continue;
            }
            for &profile in experiment.run_profiles {
                let runs = prepared.runs(experiment, experiment.runs_of(profile));
                prepared.add(index, Part::Profile(profile), runs)?;
            }
            if !wanted.quick {
                for (number, variant) in experiment.variants.iter().enumerate() {
                    // The other set-up of what is undecided takes as many seeds as the first.
                    let runs = match experiment.is_undecided(number) {
                        true => experiment.runs_of(Profile::AsPublished),
                        false => variant.runs,
                    };
                    prepared.add(index, Part::VariantRun(number), runs)?;
                }
            }
        }
        Ok(prepared)
    }

    /// Returns the number of runs before rules of seeds ask for more.
    #[must_use]
    pub fn total(&self) -> usize {
        if let Some(plan) = &self.emulation {
            return plan.total();
        }
        let seeds: Vec<u32> = self.points.iter().map(|point| point.runs).collect();
        self.jobs(&vec![0; seeds.len()], &seeds).count()
    }

    /// Returns the number of runs of an experiment at each point.
    fn runs(&self, experiment: &Experiment, runs: u32) -> u32 {
        match (self.wanted.quick, experiment.quick.runs) {
            (true, Some(quick)) => runs.min(quick),
            (true, None) => runs.min(3),
            (false, _) => runs,
        }
        .max(1)
    }

    /// Adds the points of one profile or variant.
    fn add(&mut self, index: usize, part: Part, runs: u32) -> Result<(), ExperimentError> {
        let experiment = &self.experiments[index];
        let (profile, variant) = match part {
            Part::Profile(profile) => (profile, None),
            Part::VariantRun(number) => {
                let variant = &experiment.variants[number];
                (variant.profile, Some(variant))
            }
        };
        let mut set = Vec::new();
        if self.wanted.quick {
            set.extend(experiment.quick.set.iter().cloned());
        }
        set.extend(variant.iter().flat_map(|variant| variant.set.iter().cloned()));
        let mutated = experiment.mutated.as_ref();
        let points = experiment.points(
            index,
            &points::Part {
                world: World::Sim,
                profile,
                set: &set,
                has_sim: &|name| {
                    has(variant.and_then(|variant| variant.only.as_ref()), name)
                        && has(mutated.and_then(|mutation| mutation.only.as_ref()), name)
                },
                has_row: &|name| has(variant.and_then(|variant| variant.rows.as_ref()), name),
                has_cell: &|cell, row| self.has_row(experiment, cell, row),
            },
        )?;
        for point in points {
            let (sim, row) = (&experiment.sims[point.sim], &experiment.published.rows[point.row].name);
            if part == Part::Profile(Profile::AsPublished) {
                experiment.check_revision(sim, row, &point.scenario)?;
            }
            let runs = match (part, sim.runs) {
                (Part::Profile(Profile::AsPublished), Some(own)) => self.runs(experiment, own),
                _ => runs,
            };
            let rule = match part {
                Part::Profile(Profile::AsPublished) if !self.wanted.quick => experiment.rule,
                Part::VariantRun(number) if experiment.is_undecided(number) => experiment.rule,
                _ => None,
            };
            let text = format!("{}\nrow {row}", point.document.whole_text());
            self.points.push(SeededPoint { point, part, text, runs, rule });
        }
        Ok(())
    }

    /// Returns true if a column is measured in a row.
    fn has_row(&self, experiment: &Experiment, cell: &super::file::Cell, row: &str) -> bool {
        if let (true, Some(quick)) = (self.wanted.quick, &experiment.quick.rows)
            && !quick.iter().any(|one| fits(one.get_ref(), row))
        {
            return false;
        }
        let mutated = experiment.mutated.as_ref().and_then(|mutation| mutation.rows.as_ref());
        if mutated.is_some_and(|rows| !rows.iter().any(|one| one == row)) {
            return false;
        }
        experiment.measures(cell, row) && !experiment.is_emulated_alone(row)
    }

    /// Every run of this shard from those done to those wanted: its point and its number, from 1.
    fn jobs<'s>(&'s self, done: &'s [u32], seeds: &'s [u32]) -> impl Iterator<Item = (usize, u32)> + 's {
        let all = done.iter().zip(seeds).enumerate();
        let all = all.flat_map(|(point, (done, seeds))| (done + 1..=*seeds).map(move |run| (point, run)));
        self.wanted.shard.share(all)
    }

    /// Runs everything that the cache does not have, in steps as long as rules of seeds ask for
    /// more. Once `hooks.stop` says so, no further run begins and those under way are given up;
    /// experiments that miss runs then say so.
    ///
    /// # Errors
    /// [`ExperimentError`] if a formula cannot be computed.
    pub fn run(&self, cache: Option<&Cache>, hooks: &Hooks<'_>) -> Result<Results, ExperimentError> {
        if let Some(plan) = &self.emulation {
            return Ok(self.emulated(plan.run(cache, hooks)?));
        }
        let mut done = vec![0; self.points.len()];
        let mut course = Course {
            given: BTreeMap::new(),
            seeds: self.points.iter().map(|point| point.runs).collect(),
            caps: vec![None; self.points.len()],
        };
        let workers = Workers::new(self.wanted.jobs);
        loop {
            let jobs: Vec<(usize, u32)> = self.jobs(&done, &course.seeds).collect();
            let one = |&(point, run): &(usize, u32)| {
                if (hooks.stop)() {
                    return Ok(None);
                }
                let point = &self.points[point];
                let given = self.one(point, run, cache, hooks)?;
                if given.is_some() {
                    (hooks.done)(&self.experiments[point.point.experiment].id);
                }
                Ok(given)
            };
            let outcomes = workers.run(&jobs, one)?;
            course
                .given
                .extend(jobs.into_iter().zip(outcomes).filter_map(|(job, given)| Some((job, given?))));
            if let (Some(cache), true) = (cache, self.wanted.shard != Shard::WHOLE) {
                self.add_other_shards(cache, &mut course);
            }
            done.clone_from(&course.seeds);
            if (hooks.stop)() || self.step(&mut course) == 0 {
                break;
            }
            (hooks.more)(self.jobs(&done, &course.seeds).count());
        }
        Ok(self.results(&course, hooks.stop))
    }

    /// Gives more seeds to the points that are not precise enough, as far as the caps of their
    /// rules allow; how many points have got more.
    fn step(&self, course: &mut Course) -> usize {
        let mut grown = 0;
        for (index, experiment) in self.experiments.iter().enumerate() {
            let of_experiment =
                || self.points.iter().enumerate().filter(|(_, one)| one.point.experiment == index);
            let mut parts: Vec<(Part, SeedRule)> =
                of_experiment().filter_map(|(_, point)| Some((point.part, point.rule?))).collect();
            parts.dedup_by_key(|(part, _)| *part);
            for (part, rule) in parts {
                let points: Vec<usize> =
                    of_experiment().filter(|(_, point)| point.part == part).map(|(i, _)| i).collect();
                grown += self.step_of(experiment, &points, rule, course);
            }
        }
        grown
    }

    /// The step of one profile or variant of an experiment. The cap on hops is on the sum of its
    /// points.
    fn step_of(
        &self,
        experiment: &Experiment,
        points: &[usize],
        rule: SeedRule,
        course: &mut Course,
    ) -> usize {
        let mut wide = Vec::new();
        let mut hops = 0.0;
        for &number in points {
            let (point, seeds) = (&self.points[number], course.seeds[number]);
            let given: Vec<&Given> = (1..=seeds).filter_map(|run| course.given.get(&(number, run))).collect();
            if given.len() < seeds as usize {
                // Runs of another shard are missing: nothing can be decided here.
                return 0;
            }
            let spent: f64 = given.iter().map(|one| one.packet_hops).sum();
            hops += spent;
            let is_wide = |(place, cell): (usize, &usize)| {
                let values = given.iter().filter_map(|one| one.values.get(place).copied().flatten());
                let sample = Sample { values: values.collect(), runs: given.len(), fixed: false, cap: None };
                !is_precise(experiment, point.point.row, &experiment.cells[*cell], &sample, rule.part)
            };
            if course.caps[number].is_none() && point.point.cells.iter().enumerate().any(is_wide) {
                match rule.after(seeds) {
                    None => course.caps[number] = Some(Cap::Seeds),
                    Some(next) => {
                        hops += spent * (f64::from(next) / f64::from(seeds) - 1.0);
                        wide.push((number, next));
                    }
                }
            }
        }
        if hops > rule.hops as f64 {
            wide.iter().for_each(|(number, _)| course.caps[*number] = Some(Cap::Hops));
            return 0;
        }
        wide.iter().for_each(|(number, next)| course.seeds[*number] = *next);
        wide.len()
    }

    /// Adds the values that the cache has of the other shards' runs.
    fn add_other_shards(&self, cache: &Cache, course: &mut Course) {
        for (number, point) in self.points.iter().enumerate() {
            for run in 1..=course.seeds[number] {
                let Found::All(values) = cache.get(&point.key(run), &self.formulas(point)) else { continue };
                if let Some(given) = given(values) {
                    course.given.entry((number, run)).or_insert(given);
                }
            }
        }
    }

    /// The formulas of a point's cells, and last what a run cost.
    fn formulas(&self, point: &SeededPoint) -> Vec<&str> {
        let cells = &self.experiments[point.point.experiment].cells;
        let formulas = point.point.cells.iter().filter_map(|cell| cells[*cell].value.as_ref());
        formulas.map(|(formula, _)| formula.text()).chain([HOPS]).collect()
    }

    /// The values of a run, from the cache if it has them; `None` if the user has ended it.
    fn one(
        &self,
        point: &SeededPoint,
        run: u32,
        cache: Option<&Cache>,
        hooks: &Hooks<'_>,
    ) -> Result<Option<Given>, ExperimentError> {
        let (key, formulas) = (point.key(run), self.formulas(point));
        match cache.map(|cache| cache.get(&key, &formulas)) {
            Some(Found::All(values)) => {
                if let Some(given) = given(values) {
                    return Ok(Some(given));
                }
            }
            Some(Found::Damaged(why)) => (hooks.warn)(&why),
            Some(Found::Nothing) | None => {}
        }
        let Some(given) = self.measure(point, run, hooks)? else { return Ok(None) };
        if let Some(cache) = cache {
            let values = given.values.iter().copied().chain([Some(given.packet_hops)]);
            let new: Vec<(&str, Option<f64>)> = formulas.into_iter().zip(values).collect();
            if let Err(error) = cache.put(&key, &new) {
                (hooks.warn)(&format!("a result cannot be kept: {error}"));
            }
        }
        Ok(Some(given))
    }

    fn measure(
        &self,
        point: &SeededPoint,
        run: u32,
        hooks: &Hooks<'_>,
    ) -> Result<Option<Given>, ExperimentError> {
        let point = &point.point;
        let experiment = &self.experiments[point.experiment];
        let mut scenario = (*point.scenario).clone();
        scenario.seed = Seed(seed_of(scenario.seed.0, run));
        let Some(recording) = record_until(&scenario, point.keep, hooks.stop) else { return Ok(None) };
        let values = experiment.values(point, &recording)?;
        Ok(Some(Given { values, packet_hops: recording.outcome.packet_hops as f64 }))
    }

    /// The results of emulated runs.
    fn emulated(&self, tables: Vec<Option<EmulatedTable>>) -> Results {
        let experiments = self.experiments.iter().zip(&tables).map(|(experiment, table)| {
            let Some(table) = table else { return not_run(experiment, "has no emulated side") };
            let measured = Measured { emulated: Some(table.clone()), ..Measured::default() };
            let result = judge(experiment, &measured, 0);
            match experiment.world {
                World::Emu => result,
                World::Sim => ExperimentResult {
                    verdict_print: None,
                    verdict_ns2: None,
                    verdict: ExperimentVerdict::NotRun,
                    reason: format!("the emulated side alone, on {}", table.about.words()),
                    ..result
                },
            }
        });
        Results {
            code_version: tfrc_lab::code_version().to_owned(),
            quick: self.wanted.quick,
            experiments: experiments.collect(),
            emulated: tables,
        }
    }

    fn results(&self, course: &Course, stop: &dyn Fn() -> bool) -> Results {
        let mut measured: Vec<(Measured, usize)> =
            self.experiments.iter().map(|e| (empty(e, self.wanted.quick), 0)).collect();
        for (number, point) in self.points.iter().enumerate() {
            let (measured, missing) = &mut measured[point.point.experiment];
            let samples = match point.part {
                Part::Profile(profile) => measured.profiles.entry(profile).or_default(),
                Part::VariantRun(variant) => &mut measured.variants[variant],
            };
            for run in 1..=course.seeds[number] {
                let Some(given) = course.given.get(&(number, run)) else {
                    *missing += 1;
                    continue;
                };
                if point.part == Part::Profile(Profile::AsPublished) {
                    measured.packet_hops += u64_from_f64(given.packet_hops);
                }
                for (cell, value) in point.point.cells.iter().zip(&given.values) {
                    let sample = samples.entry((point.point.row, *cell)).or_default();
                    sample.runs += 1;
                    sample.values.extend(*value);
                    sample.cap = course.caps[number];
                }
            }
        }
        let experiments =
            self.experiments.iter().zip(&mut measured).map(|(experiment, (measured, missing))| {
                measured.emulated.clone_from(&experiment.emulated);
                if experiment.world == World::Emu {
                    return match measured.emulated {
                        Some(_) => judge(experiment, measured, 0),
                        None => not_run(experiment, "nothing is recorded: needs --world emu"),
                    };
                }
                if *missing > 0 {
                    let why = if stop() { "interrupted" } else { "not all shards are here" };
                    return not_run(experiment, &format!("{why}: {missing} runs are missing"));
                }
                let fewest = self.runs(experiment, experiment.runs_of(Profile::AsPublished));
                if let Some(computed) = experiment.computed {
                    if stop() {
                        return not_run(experiment, "interrupted: nothing was computed");
                    }
                    self.compute(experiment, computed, fewest, measured);
                }
                let samples = measured.profiles.get(&Profile::AsPublished);
                let most = samples.and_then(|samples| samples.values().map(|sample| sample.runs).max());
                let runs = most.and_then(|most| u32::try_from(most).ok()).map_or(fewest, |n| n.max(fewest));
                judge(experiment, measured, runs)
            });
        Results {
            code_version: tfrc_lab::code_version().to_owned(),
            quick: self.wanted.quick,
            experiments: experiments.collect(),
            emulated: Vec::new(),
        }
    }

    /// Computes the values of an experiment's code, with more seeds as long as its rule asks for
    /// them.
    fn compute(
        &self,
        experiment: &Experiment,
        code: &super::computed::Computed,
        fewest: u32,
        measured: &mut Measured,
    ) {
        let of =
            |profile| experiment.profiles.get(&profile).map(|table| table.set.clone()).unwrap_or_default();
        let as_published = of(Profile::AsPublished);
        if experiment.run_profiles.contains(&Profile::Rfc) {
            let (rfc, _) = self.computed(experiment, code, Profile::Rfc, &of(Profile::Rfc), fewest);
            measured.profiles.insert(Profile::Rfc, rfc);
        }
        let (samples, hops) = self.compute_by_rule(experiment, code, &as_published, fewest);
        measured.profiles.insert(Profile::AsPublished, samples);
        measured.packet_hops = hops;
        for (number, samples) in measured.variants.iter_mut().enumerate() {
            let variant = &experiment.variants[number];
            let set: Vec<String> =
                of(variant.profile).into_iter().chain(variant.set.iter().cloned()).collect();
            *samples = match experiment.is_undecided(number) {
                true => self.compute_by_rule(experiment, code, &set, fewest).0,
                false => self.computed(experiment, code, variant.profile, &set, variant.runs).0,
            };
        }
    }

    /// The values as published and the packet hops, with the seeds that the rule asks for.
    fn compute_by_rule(
        &self,
        experiment: &Experiment,
        code: &super::computed::Computed,
        set: &[String],
        fewest: u32,
    ) -> (Samples, u64) {
        let mut seeds = fewest;
        loop {
            let (mut samples, hops) = self.computed(experiment, code, Profile::AsPublished, set, seeds);
            let is_wide = |rule: &SeedRule| {
                samples.iter().any(|((row, column), sample)| {
                    !is_precise(experiment, *row, &experiment.cells[*column], sample, rule.part)
                })
            };
            let rule = experiment.rule.filter(|_| !self.wanted.quick).filter(is_wide);
            let Some(rule) = rule else { return (samples, hops) };
            let grown = |next: u32| hops as f64 * f64::from(next) / f64::from(seeds);
            let cap = match rule.after(seeds) {
                None => Cap::Seeds,
                Some(next) if grown(next) > rule.hops as f64 => Cap::Hops,
                Some(next) => {
                    seeds = next;
                    continue;
                }
            };
            samples.values_mut().for_each(|sample| sample.cap = Some(cap));
            return (samples, hops);
        }
    }

    /// The values of an experiment's code with this many seeds, and the packet hops of its
    /// simulations.
    fn computed(
        &self,
        experiment: &Experiment,
        code: &super::computed::Computed,
        profile: Profile,
        set: &[String],
        runs: u32,
    ) -> (Samples, u64) {
        let rows = &experiment.published.rows;
        let mutated = experiment.mutated.iter().flat_map(|mutation| &mutation.set);
        let quick = experiment.quick.set.iter().filter(|_| self.wanted.quick);
        let set: Vec<String> = set.iter().chain(quick).chain(mutated).cloned().collect();
        let context = Context {
            profile,
            rows: rows.iter().map(|row| (row.name.as_str(), row.keys.as_slice())).collect(),
            columns: experiment.cells.iter().map(|cell| cell.column.as_str()).collect(),
            set: &set,
            seeds: (1..=runs).map(|run| seed_of(1, run)).collect(),
            packet_hops: std::cell::Cell::new(0),
        };
        let values = (code.values)(&context);
        let mut samples = Samples::new();
        for (number, row) in rows.iter().enumerate() {
            for (column, cell) in experiment.cells.iter().enumerate() {
                if !self.has_row(experiment, cell, &row.name) {
                    continue;
                }
                let found = values.get(&(row.name.clone(), cell.column.clone())).cloned().unwrap_or_default();
                let fixed = found.len() == 1;
                let runs = if fixed { 1 } else { runs as usize };
                samples.insert((number, column), Sample { values: found, runs, fixed, cap: None });
            }
        }
        (samples, context.packet_hops.get())
    }
}

/// Returns true if a name is among those wanted; all are where none is named.
pub(super) fn has(names: Option<&Vec<String>>, name: &str) -> bool {
    names.is_none_or(|names| names.iter().any(|one| one == name))
}

/// The values of a cache file, the packet hops last.
fn given(mut values: Vec<Option<f64>>) -> Option<Given> {
    let packet_hops = values.pop()??;
    Some(Given { values, packet_hops })
}

fn empty(experiment: &Experiment, quick: bool) -> Measured {
    let variants = if quick { 0 } else { experiment.variants.len() };
    Measured { variants: vec![Samples::new(); variants], ..Measured::default() }
}
