//! Results of experiments from what their runs gave.

use super::emulation::EmulatedTable;
use super::file::Experiment;
use super::judge::{Measured, Samples, judge, not_run};
use super::results::{ExperimentResult, ExperimentVerdict, Results};
use super::runner::{Part, Prepared};
use super::seeds::Course;
use super::syntax::{Profile, World};
use tfrc_units::u64_from_f64;

impl Prepared<'_> {
    /// The results of all experiments.
    pub(super) fn results(&self, course: &Course, stop: &dyn Fn() -> bool) -> Results {
        let (experiments, emulated) = match self.wanted.world {
            World::Emu => self.emulated_results(course),
            World::Sim => (self.simulated_results(course, stop), Vec::new()),
        };
        let code_version = tfrc_lab::code_version().to_owned();
        Results { code_version, quick: self.wanted.quick, experiments, emulated }
    }

    /// The results of emulated sides, and their tables.
    fn emulated_results(&self, course: &Course) -> (Vec<ExperimentResult>, Vec<Option<EmulatedTable>>) {
        let of = |(index, experiment): (usize, &Experiment)| {
            if experiment.emulation.is_none() {
                return (not_run(experiment, "has no emulated side"), None);
            }
            let table = EmulatedTable::of(index, experiment, &self.points, course);
            let measured = Measured { emulated: Some(table.clone()), ..Measured::default() };
            let result = judge(experiment, &measured, 0);
            let result = match experiment.world {
                World::Emu => result,
                World::Sim => ExperimentResult {
                    verdict_print: None,
                    verdict_ns2: None,
                    verdict: ExperimentVerdict::NotRun,
                    reason: format!("the emulated side alone, on {}", table.about.words()),
                    ..result
                },
            };
            (result, Some(table))
        };
        self.experiments.iter().enumerate().map(of).unzip()
    }

    /// The results of simulations, of computed values and of recorded emulated sides.
    fn simulated_results(&self, course: &Course, stop: &dyn Fn() -> bool) -> Vec<ExperimentResult> {
        let mut measured: Vec<(Measured, usize)> =
            self.experiments.iter().map(|e| (empty(e, self.wanted.quick), 0)).collect();
        for (number, point) in self.points.iter().enumerate() {
            let (measured, missing) = &mut measured[point.point.experiment];
            let samples = match point.part {
                Part::Profile(profile) => measured.profiles.entry(profile).or_default(),
                Part::VariantRun(variant) => &mut measured.variants[variant],
                Part::Emulated => continue,
            };
            for run in 1..=course.seeds[number] {
                let Some(Ok(given)) = course.given.get(&(number, run)) else {
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
        let judged = |(experiment, (measured, missing)): (&Experiment, &mut (Measured, usize))| {
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
        };
        self.experiments.iter().zip(&mut measured).map(judged).collect()
    }
}

fn empty(experiment: &Experiment, quick: bool) -> Measured {
    let variants = if quick { 0 } else { experiment.variants.len() };
    Measured { variants: vec![Samples::new(); variants], ..Measured::default() }
}
