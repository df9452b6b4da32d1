//! Runs experiments: every point of every row, seed, profile and variant, in either world, on
//! several threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::emulation::Emulation;
use super::emulation::answer::key;
use super::error::ExperimentError;
use super::file::{Cell, Experiment};
use super::measure::Outcomes;
use super::paper::SeedRule;
use super::points::{self, Point};
use super::reading::fits;
use super::results::Results;
use super::seeds::Course;
use super::syntax::{Profile, Quick, World};
use tfrc_lab::batch::Shard;
use tfrc_lab::cache::{self, Cache};
use tfrc_lab::emulated::{EmulatedWorld, EmulationJob};
use tfrc_lab::jobs::Workers;

/// Emulated runs at once unless the command line says otherwise. Each is nearly idle: on two
/// processors four keep the limits of fidelity.
const EMULATED_JOBS: usize = 4;

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
    pub(super) experiments: &'a [Experiment],
    pub(super) wanted: Wanted,
    pub(super) points: Vec<PlannedPoint>,
}

/// Profile, variant or emulated side that a point belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Emulated,
    Profile(Profile),
    VariantRun(usize),
}

/// One scenario with several seeds.
#[derive(Debug)]
pub(super) struct PlannedPoint {
    pub(super) point: Point,
    pub(super) part: Part,
    /// Everything except the number of a run that determines it: points with the same share their
    /// runs.
    pub(super) world: String,
    /// Everything except the seed that determines the values of a simulated run.
    pub(super) text: String,
    /// Seeds of the first step.
    pub(super) runs: u32,
    /// The rule for more, if there is one.
    pub(super) rule: Option<SeedRule>,
    /// The job of an emulated point, but for its seed.
    pub(super) job: Option<EmulationJob>,
}

/// A run by its point and its number there, from 1.
pub(super) type RunId = (usize, u32);

/// A run, by the points that it gives values to.
#[derive(Debug, Default)]
pub(super) struct SharedRun {
    /// Those that ask for it now.
    pub(super) wanted: Vec<RunId>,
    /// Those that may ask for it later.
    pub(super) beside: Vec<RunId>,
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

impl<'a> Prepared<'a> {
    /// Reads the scenario of every point.
    ///
    /// # Errors
    /// [`ExperimentError`] with the first that is not right.
    pub fn new(experiments: &'a [Experiment], wanted: Wanted) -> Result<Self, ExperimentError> {
        let mut prepared = Self { experiments, wanted, points: Vec::new() };
        for (index, experiment) in experiments.iter().enumerate() {
            match (wanted.world, &experiment.emulation) {
                (World::Emu, Some(emulation)) => prepared.add_emulated(index, emulation)?,
                (World::Sim, _) if experiment.computed.is_none() && experiment.world == World::Sim => {
                    prepared.add_simulated(index)?;
                }
                _ => {}
            }
        }
        Ok(prepared)
    }

    /// Returns the number of runs before rules of seeds ask for more.
    #[must_use]
    pub fn total(&self) -> usize {
        let course = Course::new(&self.points);
        self.work(&vec![0; course.seeds.len()], &course).len()
    }

    /// Returns the number of runs of an experiment at each point.
    pub(super) fn runs(&self, experiment: &Experiment, runs: u32) -> u32 {
        match (self.wanted.quick, experiment.quick.runs) {
            (true, Some(quick)) => runs.min(quick),
            (true, None) => runs.min(3),
            (false, _) => runs,
        }
        .max(1)
    }

    /// Adds the points of an experiment in virtual time.
    fn add_simulated(&mut self, index: usize) -> Result<(), ExperimentError> {
        let experiment = &self.experiments[index];
        for &profile in experiment.run_profiles {
            let runs = self.runs(experiment, experiment.runs_of(profile));
            self.add(index, Part::Profile(profile), runs)?;
        }
        if !self.wanted.quick {
            for (number, variant) in experiment.variants.iter().enumerate() {
                // The other set-up of what is undecided takes as many seeds as the first.
                let runs = match experiment.is_undecided(number) {
                    true => experiment.runs_of(Profile::AsPublished),
                    false => variant.runs,
                };
                self.add(index, Part::VariantRun(number), runs)?;
            }
        }
        Ok(())
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
            Part::Emulated => return Ok(()),
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
            let identity = cache::identity(&point.scenario);
            let world = format!("{identity}\nseed {}", point.scenario.seed.0);
            let text = format!("{identity}\nrow {row}");
            self.points.push(PlannedPoint { point, part, world, text, runs, rule, job: None });
        }
        Ok(())
    }

    /// Adds the points of an experiment's emulated side.
    fn add_emulated(&mut self, index: usize, emulation: &Emulation) -> Result<(), ExperimentError> {
        let experiment = &self.experiments[index];
        let quick = Some(&emulation.quick).filter(|_| self.wanted.quick);
        let mut set: Vec<String> = quick.map(|quick| quick.set.clone()).unwrap_or_default();
        set.extend(emulation.set.iter().cloned());
        let runs = match quick {
            Some(quick) => emulation.runs.min(quick.runs.unwrap_or(1)).max(1),
            None => emulation.runs,
        };
        let points = experiment.points(
            index,
            &points::Part {
                world: World::Emu,
                profile: emulation.profile,
                set: &set,
                has_sim: &|name| has(emulation.only.as_ref(), name),
                has_row: &|name| {
                    has(emulation.rows.as_ref(), name) && quick.is_none_or(|one| is_quick(one, name))
                },
                has_cell: &|cell, row| experiment.measures(cell, row),
            },
        )?;
        for point in points {
            let (sim, row) = (&experiment.sims[point.sim], &experiment.published.rows[point.row]);
            let job = EmulationJob {
                name: format!("{}: {}, row {}", experiment.id, sim.scenario_name, row.name),
                text: sim.scenario_text.clone(),
                folder: sim.document.folder().to_owned(),
                traces: point.document.traces(),
                set: experiment.assignments(sim, emulation.profile, row, &set),
                seed: point.scenario.seed.0,
                looks: point.keep.looks,
                link_flows: point.keep.link_flows,
            };
            let (part, world, text) = (Part::Emulated, key(&job, ""), String::new());
            self.points.push(PlannedPoint { point, part, world, text, runs, rule: None, job: Some(job) });
        }
        Ok(())
    }

    /// Returns true if a column is measured in a row.
    pub(super) fn has_row(&self, experiment: &Experiment, cell: &Cell, row: &str) -> bool {
        if self.wanted.quick && !is_quick(&experiment.quick, row) {
            return false;
        }
        let mutated = experiment.mutated.as_ref().and_then(|mutation| mutation.rows.as_ref());
        if mutated.is_some_and(|rows| !rows.iter().any(|one| one == row)) {
            return false;
        }
        experiment.measures(cell, row) && !experiment.is_emulated_alone(row)
    }

    /// The runs of this shard from those done to those wanted, but for those whose values are
    /// known. Points of any experiments share the runs of one scenario, and each is done once.
    fn work(&self, done: &[u32], course: &Course) -> Vec<SharedRun> {
        let mut sharing: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, point) in self.points.iter().enumerate() {
            sharing.entry(&point.world).or_default().push(number);
        }
        let (mut work, mut known) = (Vec::new(), BTreeSet::new());
        for (number, point) in self.points.iter().enumerate() {
            for run in done[number] + 1..=course.seeds[number] {
                if course.given.contains_key(&(number, run)) || !known.insert((&point.world, run)) {
                    continue;
                }
                let users = sharing.get(point.world.as_str()).into_iter().flatten();
                let (wanted, beside) = users
                    .map(|user| (*user, run))
                    .filter(|user| !course.given.contains_key(user))
                    .partition(|(user, run)| *run <= course.seeds[*user]);
                work.push(SharedRun { wanted, beside });
            }
        }
        self.wanted.shard.share(work.into_iter()).collect()
    }

    /// Runs everything that the cache does not have, in steps as long as rules of seeds ask for
    /// more. Once `hooks.stop` says so, no further run begins and those under way are given up;
    /// experiments that miss runs then say so.
    ///
    /// # Errors
    /// [`ExperimentError`] if a formula cannot be computed.
    pub fn run(&self, cache: Option<&Cache>, hooks: &Hooks<'_>) -> Result<Results, ExperimentError> {
        let mut done = vec![0; self.points.len()];
        let mut course = Course::new(&self.points);
        let workers = Workers::new(match (self.wanted.world, self.wanted.jobs) {
            (World::Emu, 0) => EMULATED_JOBS,
            (_, jobs) => jobs,
        });
        loop {
            let work = self.work(&done, &course);
            let outcomes = workers.run(&work, |shared| self.one(shared, cache, hooks))?;
            course.given.extend(outcomes.into_iter().flatten());
            if let (Some(cache), true) = (cache, self.wanted.shard != Shard::WHOLE) {
                self.add_other_shards(cache, &mut course);
            }
            done.clone_from(&course.seeds);
            if (hooks.stop)() || course.step(self.experiments, &self.points) == 0 {
                break;
            }
            (hooks.more)(self.work(&done, &course).len());
        }
        Ok(self.results(&course, hooks.stop))
    }

    /// Outcomes of a run for the points that share it; none once the runner is to stop.
    fn one(
        &self,
        shared: &SharedRun,
        cache: Option<&Cache>,
        hooks: &Hooks<'_>,
    ) -> Result<Outcomes, ExperimentError> {
        if (hooks.stop)() {
            return Ok(Vec::new());
        }
        let given = self.measured(shared, cache, hooks)?;
        if let (Some((point, _)), false) = (shared.wanted.first(), given.is_empty()) {
            (hooks.done)(&self.experiments[self.points[*point].point.experiment].id);
        }
        Ok(given)
    }
}

/// Returns true if a name is among those wanted; all are where none is named.
fn has(names: Option<&Vec<String>>, name: &str) -> bool {
    names.is_none_or(|names| names.iter().any(|one| one == name))
}

/// Returns true if the quick form has a row.
fn is_quick(quick: &Quick, row: &str) -> bool {
    quick.rows.as_ref().is_none_or(|rows| rows.iter().any(|one| fits(one.get_ref(), row)))
}
