//! Arguments of `tfrc demo`.

use clap::Args;
use tfrc_units::Duration;

use super::output::RecordArgs;
use super::values;

/// Arguments of `tfrc demo`: sender, receiver and an emulated bottleneck (2 Mbit/s, round-trip time
/// 40 ms, 25 packets) in one process, over the loopback interface, without privileges.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
                        tfrc demo                                           one TCP beside TFRC\n  \
                        tfrc demo --tcp 4 --tcp-start 10s --report d.html   four, the last after ten seconds, and a page")]
pub(crate) struct DemoArgs {
    /// How long to run
    #[arg(short = 't', long, alias = "time", value_name = "TIME", default_value = "20s", value_parser = values::positive_time)]
    pub duration: Duration,
    /// Simulated TCP flows (SACK, delayed acknowledgements) that compete for the bottleneck; 0 for
    /// none
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=64))]
    pub tcp: u16,
    /// When the last TCP flow begins; without this all begin within the first second
    #[arg(long, value_name = "TIME", value_parser = values::positive_time)]
    pub tcp_start: Option<Duration>,
    /// Print a line each second, also on a terminal, in place of the live chart
    #[arg(long)]
    pub plain: bool,
    /// Records and output format.
    #[command(flatten)]
    pub output: RecordArgs,
}
