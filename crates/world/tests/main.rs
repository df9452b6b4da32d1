//! The integration tests of this crate, as one program: a file of this folder is a module here.

mod against_tcp;
mod clean_paths;
mod custom;
mod delay_bound;
mod delays;
mod fixed_point;
mod hops;
mod language;
mod linux_mean;
mod mutants;
mod ns2_nofeedback;
mod ns2_slow_start;
mod rate_control;
mod run;
mod traces;
