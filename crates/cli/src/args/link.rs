//! Arguments of `tfrc link`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::output::JsonArgs;

/// Arguments of `tfrc link`: the network of a scenario in real time, as a relay of UDP datagrams.
#[derive(Debug, Args)]
pub struct LinkArgs {
    /// The scenario whose network is played
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    /// Where datagrams come in
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: SocketAddr,
    /// Where they go after the network
    #[arg(long, value_name = "ADDR:PORT")]
    pub to: SocketAddr,
    /// Output format.
    #[command(flatten)]
    pub output: JsonArgs,
}
