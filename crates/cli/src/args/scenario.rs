//! Arguments of `tfrc scenario`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tfrc_units::Duration;

use super::output::JsonArgs;
use super::values;

/// Arguments of `tfrc scenario`: the built-in scenarios.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "sim, emu and link take a scenario by its name or by its file. A word without a dot or a \
                  slash that is the name of a scenario of the program means that scenario; write \
                  ./NAME for a file of that name.\n\n\
                  Examples:\n  \
                  tfrc sim bottleneck                      run one of the program's\n  \
                  tfrc scenario new my.toml                begin one of your own\n  \
                  tfrc scenario keys flow.tcp              every key of a table, with its words"
)]
pub(crate) struct ScenarioArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: ScenarioCommand,
}

/// Subcommands of `tfrc scenario`.
#[derive(Debug, Subcommand)]
#[non_exhaustive]
pub(crate) enum ScenarioCommand {
    /// Explain the keys of a scenario: those of a table, or name all tables
    Keys {
        /// The table, such as flow, flow.tcp or link.queue.red, with all tables inside it
        #[arg(value_name = "TABLE")]
        table: Option<String>,
        /// Print all as a page of Markdown
        #[arg(long, hide = true, conflicts_with = "table")]
        markdown: bool,
    },
    /// Name the scenarios, each with a sentence
    List {
        /// Output format.
        #[command(flatten)]
        output: JsonArgs,
    },
    /// Print the text of a scenario
    Show {
        /// Its name
        name: String,
    },
    /// Make a delivery trace (mahimahi's format) of a log of rates, or of a recording
    #[command(after_help = "Examples:\n  \
        tfrc scenario trace 5g.csv --time Timestamp --rate DL_bitrate --unit kbit/s > 5g.trace\n  \
        tfrc scenario trace series.csv --only flow=tcp-1 --time t_s --rate goodput_bps > tcp.trace\n\n\
        series.csv is what --series of sim and emu writes. A scenario takes the trace as \
        rate = { trace = \"5g.trace\" }, and a log also as it is (docs/scenarios.md).")]
    Trace(TraceArgs),
    /// Write a commented scenario to start from
    New {
        /// The file, which must not exist; standard output without one
        #[arg(value_name = "FILE.toml")]
        file: Option<PathBuf>,
    },
}

/// Arguments of `tfrc scenario trace`.
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// The log: columns apart by commas, semicolons, tabs or spaces
    #[arg(value_name = "FILE")]
    pub log: PathBuf,
    /// The column of times: its name in the first line, or its number from 1
    #[arg(long, value_name = "COLUMN", required_unless_present = "interval", conflicts_with = "interval")]
    pub time: Option<String>,
    /// The unit of times that are numbers: s, ms, us, ns, min
    #[arg(long, value_name = "UNIT", default_value = "s")]
    pub time_unit: String,
    /// In place of --time: the time between two lines
    #[arg(long, value_name = "TIME", value_parser = values::positive_time)]
    pub interval: Option<Duration>,
    /// The column of rates
    #[arg(long, value_name = "COLUMN")]
    pub rate: String,
    /// The unit of the rates: bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s, GB/s; bit/s for a
    /// column whose name ends with _bps
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<String>,
    /// Only lines with this value in a column; may be given several times
    #[arg(long, value_name = "COLUMN=VALUE")]
    pub only: Vec<String>,
}
