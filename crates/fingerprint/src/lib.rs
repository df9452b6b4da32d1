//! A hash of the code that decides what is measured, which comments, layout and tests do not
//! change. The build script of `tfrc-world` puts it into the keys of cached runs, and `cargo xtask
//! playground` into the module of the playground.

#![forbid(unsafe_code)]

mod code;
pub mod locked;
pub mod sources;

pub use code::Code;
