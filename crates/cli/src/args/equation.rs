//! Arguments of `tfrc equation`.

use clap::{ArgGroup, Args};
use tfrc_units::{Duration, Probability, Rate};

use super::output::JsonArgs;
use super::values;

/// Arguments of `tfrc equation`.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("known").required(true).args(["loss_event_rate", "rate"]),
    after_help = "Examples:\n  \
                  tfrc equation --rtt 100ms -s 1460B -p 0.01          the rate at a loss event rate of 1 %\n  \
                  tfrc equation --rtt 100ms -s 1460B --rate 1Mbit/s   the loss event rate that allows 1 Mbit/s"
)]
pub(crate) struct EquationArgs {
    /// Round-trip time R
    #[arg(long, value_name = "TIME", value_parser = values::positive_time)]
    pub rtt: Duration,
    /// Segment size s in bytes
    #[arg(short = 's', long = "segment", value_name = "SIZE", default_value = "1460B", value_parser = values::positive_size)]
    pub segment: u64,
    /// Loss event rate p, above 0 and at most 1
    #[arg(short = 'p', value_name = "P", value_parser = values::loss_event_rate, allow_negative_numbers = true)]
    pub loss_event_rate: Option<Probability>,
    /// Sending rate whose loss event rate is asked
    #[arg(long, value_name = "RATE", value_parser = values::positive_rate, allow_negative_numbers = true)]
    pub rate: Option<Rate>,
    /// TCP's retransmission timeout; without it four round-trip times (RFC 5348 §3.1)
    #[arg(long, value_name = "TIME", value_parser = values::positive_time)]
    pub rto: Option<Duration>,
    /// Output format.
    #[command(flatten)]
    pub output: JsonArgs,
}
