//! `--json` and `--json-stream`: what results are written as.

use std::path::PathBuf;

use clap::Args;

/// Output format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Words and tables for a person.
    Human,
    /// One JSON document at the end.
    Json,
    /// One JSON object a line while it runs.
    JsonStream,
}

/// For commands with one result.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct JsonArgs {
    /// Print the result as one JSON document
    #[arg(short = 'J', long)]
    pub json: bool,
}

impl JsonArgs {
    /// The format asked for.
    #[must_use]
    pub(crate) const fn format(self) -> Format {
        if self.json { Format::Json } else { Format::Human }
    }
}

/// For commands that run for a time.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct StreamArgs {
    /// Print the summary as one JSON document at the end
    #[arg(short = 'J', long, conflicts_with = "json_stream")]
    pub json: bool,
    /// Print one JSON object a line while it runs: start, interval, event, end, error
    #[arg(long)]
    pub json_stream: bool,
}

impl StreamArgs {
    /// The format asked for.
    #[must_use]
    pub const fn format(self) -> Format {
        match (self.json_stream, self.json) {
            (true, _) => Format::JsonStream,
            (false, true) => Format::Json,
            (false, false) => Format::Human,
        }
    }
}

/// For commands whose run can be looked at while it goes on and afterwards.
#[derive(Debug, Clone, Default, Args)]
pub struct RecordArgs {
    /// Write a page with the charts of the run
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write time series of every flow and link, a line for each in each interval
    #[arg(long, value_name = "FILE.csv")]
    pub series: Option<PathBuf>,
    /// Output format.
    #[command(flatten)]
    pub stream: StreamArgs,
}

impl RecordArgs {
    /// The format asked for.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.stream.format()
    }

    /// The options that name files, and their files.
    #[must_use]
    pub const fn files(&self) -> [(&'static str, &Option<PathBuf>); 2] {
        [("--report", &self.report), ("--series", &self.series)]
    }
}

/// For runs that can be drawn live.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct LiveArgs {
    /// Draw the run live: rates, loss events, round-trip times or queues; q ends it. Falls back to
    /// plain lines with JSON or when not on a terminal
    #[arg(long)]
    pub tui: bool,
}
