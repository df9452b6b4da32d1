//! Runs of experiments whose values are computed by code, with the seeds that their rules ask for.

use super::{Computed, Context};
use crate::cell::{is_open, is_precise};
use crate::file::Experiment;
use crate::judge::{Cap, Measured, Sample, Samples};
use crate::paper::SeedRule;
use crate::runner::Prepared;
use crate::syntax::Profile;
use tfrc_lab::batch::seed_of;

impl Prepared<'_> {
    /// Computes the values of an experiment's code, with more seeds as long as its rule asks for
    /// them.
    pub(crate) fn compute(
        &self,
        experiment: &Experiment,
        code: &Computed,
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
        code: &Computed,
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
            let Some(rule) = experiment.rule.filter(|_| !self.wanted.quick) else {
                return (samples, hops);
            };
            let grown = |next: u32| hops as f64 * f64::from(next) / f64::from(seeds);
            let cap = match rule.after(seeds).filter(|_| is_wide(&rule)) {
                None if is_wide(&rule) => Some(Cap::Seeds),
                None => None,
                Some(next) if grown(next) > rule.hops as f64 => Some(Cap::Hops),
                Some(next) => {
                    seeds = next;
                    continue;
                }
            };
            let is_open = samples
                .iter()
                .any(|((row, column), sample)| is_open(experiment, *row, &experiment.cells[*column], sample));
            let open = rule.open.filter(|step| is_open && seeds < step.seeds);
            if let Some(step) = open.filter(|step| grown(step.seeds) <= step.hops as f64) {
                seeds = step.seeds;
                continue;
            }
            samples.values_mut().for_each(|sample| sample.cap = cap);
            return (samples, hops);
        }
    }

    /// The values of an experiment's code with this many seeds, and the packet hops of its
    /// simulations.
    fn computed(
        &self,
        experiment: &Experiment,
        code: &Computed,
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
