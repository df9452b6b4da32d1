//! Experiments of the literature: what is run, the published values, and a verdict by one rule.
//!
//! `docs/experiments.md` describes the files; [`library::load`] reads them, [`Prepared`] runs them,
//! [`Results`] is what came of it.

mod cache;
mod cell;
mod claims;
mod computed;
mod emulation;
mod error;
mod expression;
mod file;
mod formulas;
pub mod human;
mod judge;
pub mod library;
mod mutation;
mod paper;
mod publish;
mod reading;
mod results;
mod runner;
mod syntax;
mod table;
mod theta;
mod undecided;
mod verdict;
mod welch;

pub use cache::Cache;
pub use emulation::EmulationResult;
pub use error::{ExperimentError, InvalidExperiment};
pub use file::Experiment;
pub use mutation::{Mutants, MutatedExperiment, MutationOutcome, MutationResult, MutationResults};
pub use publish::Publication;
pub use results::{
    CellResult, ClaimResult, Claims, Count, ExperimentResult, ExperimentVerdict, Over, Results, SetupTally,
    SideClaim, Tally, UndecidedResult, VariantCell, VariantResult,
};
pub use runner::{Hooks, Prepared, Wanted};
pub use syntax::{Profile, World};
#[cfg(test)]
pub(crate) use theta::QUANTITIES as THETA;
pub use verdict::{Band, CellVerdict, FEWEST_RUNS, Verdict};

/// The version of the code that measures: a hash of its sources.
#[must_use]
pub fn code_version() -> &'static str {
    env!("TFRC_CODE_VERSION")
}

#[cfg(test)]
mod tests;
