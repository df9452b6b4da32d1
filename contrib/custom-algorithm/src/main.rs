//! Runs the scenario of this folder, and prints the goodput of each flow.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (flow, bps) in custom_algorithm::goodputs(include_str!("../custom.toml"))? {
        println!("{flow:<8} {:.2} Mbit/s", bps / 1e6);
    }
    Ok(())
}
