//! `tfrc-count FILE [SETTING…]`: runs a scenario as `tfrc sim` does and prints its packet-hops.
//!
//! Small, and built as the released program is, for valgrind: see `cargo xtask instructions`.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::disallowed_macros,
    reason = "a program reads files and prints"
)]

use std::error::Error;

use tfrc_scenario::Document;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let file = words.next().ok_or("tfrc-count FILE [SETTING…]")?;
    let mut document = Document::new(&file, std::fs::read_to_string(&file)?);
    words.for_each(|setting| document.set(setting));
    let plan = document.plan()?;
    let point = plan.points.first().ok_or("a plan has a point")?;
    println!("{}", tfrc_world::run(&point.scenario).packet_hops);
    Ok(())
}
