use std::path::PathBuf;

use clap::Args;

use super::output::StreamArgs;

/// Arguments of `tfrc sim`: a scenario in virtual time.
#[derive(Debug, Args)]
pub struct SimArgs {
    /// The scenario
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// The seed of all randomness, in place of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// What to print.
    #[command(flatten)]
    pub output: StreamArgs,
}
