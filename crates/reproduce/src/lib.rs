//! Experiments of the literature, run again: a verdict for each published value.
#![doc = include_str!("../README.md")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "experiments face the real world: files, clocks and people"
)]
#![forbid(unsafe_code)]

mod cell;
mod claims;
mod computed;
mod emulation;
mod error;
mod file;
mod folder;
pub mod human;
mod judge;
pub mod library;
mod measure;
mod mutation;
mod outcome;
mod paper;
mod points;
mod publish;
mod reading;
mod results;
mod runner;
mod seeds;
mod syntax;
mod table;
mod undecided;
mod verdict;
mod welch;

pub use emulation::EmulationResult;
pub use error::{ExperimentError, InvalidExperiment};
pub use file::Experiment;
pub use folder::{ExperimentEntry, ExperimentList, Experiments};
pub use mutation::{Mutants, MutatedExperiment, MutationOutcome, MutationResult, MutationResults};
pub use publish::Publication;
pub use results::{
    CellResult, ClaimResult, Claims, Count, ExperimentResult, ExperimentVerdict, Over, Results, SetupTally,
    SideClaim, Tally, UndecidedResult, VariantCell, VariantResult,
};
pub use runner::{Hooks, Prepared, Wanted};
pub use syntax::{Profile, World};
pub use verdict::{Band, CellVerdict, FEWEST_RUNS, Verdict};

#[cfg(test)]
mod tests;
