//! Puts the experiments of the repository into programs.

#![allow(clippy::disallowed_macros, reason = "a build script speaks to cargo on standard output")]

#[path = "../scenario/build/table.rs"]
mod table;

fn main() -> std::io::Result<()> {
    table::write("EXPERIMENTS", "experiments", &["csv", "md", "toml"])
}
