//! Arguments of every session that this program feeds: `send` and `stream` have them.

use std::path::PathBuf;

use clap::{Arg, Args};
use tfrc_net::Profile;
use tfrc_units::{Duration, Rate};

use super::output::{LiveArgs, StreamArgs};
use super::private::PrivateArgs;
use super::values;

pub(super) const RATE: &str = "Rate control";
pub(super) const RECORDS: &str = "Records";

/// A session with one receiver: its keys, its rate and its records.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SessionArgs {
    /// QUIC and keys.
    #[command(flatten)]
    pub private: PrivateArgs,
    /// Wait this long for a receiver that is not there yet, or busy
    #[arg(long, value_name = "TIME", value_parser = values::positive_time)]
    pub wait: Option<Duration>,
    /// Never send faster; without it 50 Mbit/s, and no cap to this host
    #[arg(help_heading = RATE, short = 'b', long = "cap", value_name = "RATE", value_parser = values::positive_rate)]
    pub cap: Option<Rate>,
    /// Keep the queueing delay below this; without it the queue fills
    #[arg(help_heading = RATE, long, value_name = "TIME", value_parser = values::positive_time)]
    pub max_queue_delay: Option<Duration>,
    /// Keep the rate through silences of this time: 100ms for radio links
    #[arg(help_heading = RATE, long, value_name = "TIME", value_parser = values::positive_time)]
    pub no_feedback_floor: Option<Duration>,
    /// balanced, the default, or rfc5348. balanced takes half of a line next to a CUBIC; next to a
    /// Reno with SACK and no CUBIC over twice its rate at 2 of 12 points, at worst 4.6 times
    #[arg(help_heading = RATE, long, value_name = "NAME", hide_possible_values = true, value_parser = values::one_of(values::PROFILES))]
    pub profile: Option<Profile>,
    /// Write a page with charts of the run
    #[arg(help_heading = RECORDS, long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write time series of the session, a line for each tenth of a second
    #[arg(help_heading = RECORDS, long, value_name = "FILE.csv")]
    pub series: Option<PathBuf>,
    /// Replace files that exist of --report, --series, --pcap and --journal
    #[arg(help_heading = RECORDS, long)]
    pub overwrite: bool,
    /// Live view.
    #[command(flatten, next_help_heading = RECORDS)]
    pub live: LiveArgs,
    /// Output format.
    #[command(flatten, next_help_heading = RECORDS)]
    pub output: StreamArgs,
}

/// Has the help list the options with these names in this order.
pub(super) fn in_order(names: &str) -> impl Fn(Arg) -> Arg {
    |option| match names.split_whitespace().position(|name| option.get_id() == name) {
        Some(place) => option.display_order(place),
        None => option,
    }
}
