//! Puts the scenarios of the repository into programs.

#![allow(clippy::disallowed_macros, reason = "a build script speaks to cargo on standard output")]

mod table;

fn main() -> std::io::Result<()> {
    // The traces of the program travel with its code.
    table::write("SCENARIOS", "scenarios", &["toml"])
}
