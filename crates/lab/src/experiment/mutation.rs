//! The algorithm broken on purpose: an experiment that must agree has to turn red for at least one
//! mutation.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ExperimentError;
use super::file::{Claim, Experiment, Sim};
use super::human::word;
use super::reading::Reading;
use super::results::{ExperimentResult, ExperimentVerdict, Results};
use super::syntax::{Profile, World};
use super::verdict::Verdict;

/// A change that breaks the algorithm.
#[derive(Debug, Clone)]
pub(crate) struct Mutation {
    pub(crate) name: String,
    pub(crate) set: Vec<String>,
    pub(crate) rows: Option<Vec<String>>,
    /// The names of the runs that are run; all if there is no list.
    pub(crate) only: Option<Vec<String>>,
}

impl Reading<'_> {
    /// The tables `[[mutation]]`.
    pub(super) fn mutations(&self, sims: &[Sim]) -> Result<Vec<Mutation>, ExperimentError> {
        let mut list: Vec<Mutation> = Vec::new();
        for raw in &self.raw.mutation {
            let name = raw.name.get_ref();
            if list.iter().any(|one| one.name == *name) {
                let message = format!("`{name}` is there twice");
                return Err(self.file.invalid(raw.name.span(), message, "again", ""));
            }
            if raw.set.get_ref().is_empty() {
                return Err(self.file.invalid(raw.set.span(), "nothing is broken", "no change", ""));
            }
            let rows = self.rows(raw.rows.as_deref())?;
            let only = self.runs(sims, raw.only.as_deref())?;
            list.push(Mutation { name: name.clone(), set: raw.set.get_ref().clone(), rows, only });
        }
        Ok(list)
    }
}

/// Experiments as they are, with the seeds that the rule gives them, and with each of their
/// mutations, with the seeds of the first step.
#[derive(Debug)]
pub struct Mutants {
    /// Each experiment, followed by its mutants.
    list: Vec<Experiment>,
}

impl Mutants {
    /// The mutants of these experiments; experiments that have none and need none are left out.
    #[must_use]
    pub fn of(experiments: &[Experiment]) -> Self {
        let mut list = Vec::new();
        for experiment in experiments {
            let is_wanted = experiment.must_agree || !experiment.mutations.is_empty();
            if is_wanted && experiment.world == World::Sim {
                list.push(experiment.alone(None));
                list.extend(experiment.mutations.iter().map(|one| experiment.alone(Some(one.clone()))));
            }
        }
        Self { list }
    }

    /// Experiments for [`Prepared`](super::Prepared) to run.
    #[must_use]
    pub fn experiments(&self) -> &[Experiment] {
        &self.list
    }

    /// Sorts results by experiment and mutation.
    #[must_use]
    pub fn results(&self, results: Results) -> MutationResults {
        let mut experiments: Vec<MutatedExperiment> = Vec::new();
        for (experiment, result) in self.list.iter().zip(results.experiments) {
            match (&experiment.mutated, experiments.last_mut()) {
                (Some(mutation), Some(last)) => last.mutations.push(MutationResult {
                    name: mutation.name.clone(),
                    set: mutation.set.clone(),
                    rows: mutation.rows.clone(),
                    outcome: MutationOutcome::of(&result),
                }),
                _ => experiments.push(MutatedExperiment {
                    id: result.id.clone(),
                    must_agree: result.must_agree,
                    unchanged: MutationOutcome::of(&result),
                    mutations: Vec::new(),
                }),
            }
        }
        MutationResults { code_version: results.code_version, experiments }
    }
}

impl Experiment {
    /// The experiment as published alone, without variants, perhaps broken. Broken it has the seeds
    /// of the first step: red needs no more.
    fn alone(&self, mutation: Option<Mutation>) -> Self {
        let can_tell = |claim: &&Claim| {
            claim.profile == Profile::AsPublished
                && claim.world == World::Sim
                && mutation.as_ref().is_none_or(|mutation| self.is_measured(claim, mutation))
        };
        Self {
            rule: self.rule.filter(|_| mutation.is_none()),
            claims: self.claims.iter().filter(can_tell).cloned().collect(),
            variants: Vec::new(),
            undecided: Vec::new(),
            mutations: Vec::new(),
            emulation: None,
            emulated: None,
            mutated: mutation.clone(),
            run_profiles: &[Profile::AsPublished],
            ..self.clone()
        }
    }

    /// Returns true if a claim is about rows and runs of a mutation alone: a whole column needs all
    /// rows.
    fn is_measured(&self, claim: &Claim, mutation: &Mutation) -> bool {
        let has_run = |column: &str| {
            let cell = self.cells.iter().find(|cell| cell.column == column);
            let sims = cell.and_then(|cell| self.sims.get(cell.sims.clone()));
            mutation
                .only
                .as_ref()
                .is_none_or(|only| sims.is_some_and(|sims| sims.iter().all(|sim| only.contains(&sim.name))))
        };
        let has_row = |row: &String| mutation.rows.as_ref().is_none_or(|rows| rows.contains(row));
        let of = |function: &str, index| claim.value.texts(function, index);
        let columns = OF_COLUMNS.iter().flat_map(|function| of(function, 0));
        of("cell", 0).iter().all(|(_, row)| has_row(row))
            && of("cell", 1).iter().all(|(_, column)| has_run(column))
            && columns.into_iter().all(|(_, column)| mutation.rows.is_none() && has_run(&column))
    }
}

/// The functions of claims that look at all rows of a column.
const OF_COLUMNS: [&str; 7] = ["min", "max", "mean", "median", "argmin", "argmax", "count"];

/// Results of mutations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MutationResults {
    /// The version of the code that ran.
    pub code_version: String,
    /// In the order of their ids.
    pub experiments: Vec<MutatedExperiment>,
}

/// Results of the mutations of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MutatedExperiment {
    /// `<paper>/<name>`.
    pub id: String,
    /// True if the experiment must agree.
    pub must_agree: bool,
    /// Without a mutation, with the seeds of the rule.
    pub unchanged: MutationOutcome,
    /// With each mutation.
    pub mutations: Vec<MutationResult>,
}

impl MutatedExperiment {
    /// Returns true if it is green without a mutation and red for at least one.
    #[must_use]
    pub fn can_fail(&self) -> bool {
        let red = |one: &MutationResult| one.outcome.verdict == ExperimentVerdict::Disagrees;
        self.unchanged.verdict.is_agreement() && self.mutations.iter().any(red)
    }
}

/// Result of one mutation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MutationResult {
    /// Its name.
    pub name: String,
    /// Changes that are made.
    pub set: Vec<String>,
    /// The rows that were run; all if there is no list.
    pub rows: Option<Vec<String>>,
    /// Verdict and its reason.
    #[serde(flatten)]
    pub outcome: MutationOutcome,
}

/// The verdicts of a run with or without a mutation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MutationOutcome {
    /// Against the print.
    pub verdict_print: Option<Verdict>,
    /// Against ns-2.
    pub verdict_ns2: Option<Verdict>,
    /// Both in one word.
    pub verdict: ExperimentVerdict,
    /// Why, in words.
    pub reason: String,
}

impl MutationOutcome {
    fn of(result: &ExperimentResult) -> Self {
        Self {
            verdict_print: result.verdict_print,
            verdict_ns2: result.verdict_ns2,
            verdict: result.verdict,
            reason: result.reason.clone(),
        }
    }
}

const HEAD: &str = "\
# Mutations of the experiments

Each experiment that must agree, unchanged and with the algorithm broken, written by `cargo xtask results --mutations`.
A row without a mutation has to agree with the print or with ns-2, with the seeds of results.md, and at least one below
it has to disagree, with the seeds of the first step.

";

impl MutationResults {
    /// The experiments that must agree and that no mutation turns red, or that are not green
    /// without one.
    #[must_use]
    pub fn blind(&self) -> Vec<&str> {
        let blind = self.experiments.iter().filter(|one| one.must_agree && !one.can_fail());
        blind.map(|one| one.id.as_str()).collect()
    }

    /// The page of `docs/mutations.md`.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = HEAD.to_owned();
        text += "| experiment | mutation | changes | print | ns-2 | verdict | why |\n\
                 | --- | --- | --- | --- | --- | --- | --- |\n";
        let mut line = |id: &str, name: &str, set: &str, outcome: &MutationOutcome| {
            let _ = writeln!(
                text,
                "| {id} | {name} | {set} | {} | {} | {} | {} |",
                word(outcome.verdict_print),
                word(outcome.verdict_ns2),
                outcome.verdict.word(),
                outcome.reason.replace('|', "\\|")
            );
        };
        for one in &self.experiments {
            let star = if one.must_agree { " *" } else { "" };
            line(&format!("{}{star}", one.id), "", "", &one.unchanged);
            for mutation in &one.mutations {
                let set = mutation.set.iter().map(|set| format!("`{}`", set.replace('|', "\\|")));
                line("", &mutation.name, &set.collect::<Vec<_>>().join(", "), &mutation.outcome);
            }
        }
        let blind = self.blind();
        if !blind.is_empty() {
            let _ = write!(text, "\nNot shown to be able to fail: {}.\n", blind.join(", "));
        }
        text
    }
}
