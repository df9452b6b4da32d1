//! The integration tests of this crate, as one program: a file of this folder is a module here.

mod code_version;
mod emulated_sides;
mod fixed_point;
mod language;
mod mutants;
mod mutations;
mod ns2_nofeedback;
mod ns2_slow_start;
mod rate_control;
mod report;
mod run;
mod scenario;
mod sensitivity;
mod traces;
