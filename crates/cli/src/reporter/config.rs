//! Settings of a reporter.

use std::path::PathBuf;

use tfrc_units::Duration;

use crate::args::{Format, RecordArgs};

/// Where the words of the summary go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummaryTo {
    /// Standard error: standard output carries received data.
    Stderr,
    /// Standard output.
    Stdout,
}

/// Settings of a [`Reporter`](super::Reporter).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReporterConfig {
    /// Output format, for standard output.
    pub format: Format,
    /// Where [`Format::Human`] puts the summary.
    pub summary_to: SummaryTo,
    /// How long the run will last if nobody ends it; the progress bar needs it.
    pub duration: Option<Duration>,
    /// Bytes that the run will send if nobody ends it; the progress bar shows the part sent and the
    /// time that is left.
    pub bytes: Option<u64>,
    /// Where to write the page of the run.
    pub report: Option<Page>,
    /// True if the run is kept for a page that somebody else makes.
    pub keeps_run: bool,
    /// The number of the connection, where several are served at once: each line of JSON has it as
    /// `connection`, and nothing else is said of the run.
    pub connection: Option<u64>,
    /// The numbers of the point and of its run, where there may be several: each line of JSON has
    /// them as `point` and `run`.
    pub run: Option<(usize, u32)>,
}

impl ReporterConfig {
    /// A run alone, of which no page is written, and whose length nobody knows.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self {
            format,
            summary_to: SummaryTo::Stdout,
            duration: None,
            bytes: None,
            report: None,
            keeps_run: false,
            connection: None,
            run: None,
        }
    }
}

impl From<&RecordArgs> for ReporterConfig {
    fn from(args: &RecordArgs) -> Self {
        let report = args.report.clone().map(|path| Page { path, existing: ExistingPage::Replace });
        Self { report, ..Self::new(args.format()) }
    }
}

/// The page of a run, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The file.
    pub path: PathBuf,
    /// Policy for a file that has this name already.
    pub existing: ExistingPage,
}

/// Policy for an older page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExistingPage {
    /// It stays, and no page is written.
    Keep,
    /// The new page replaces it.
    Replace,
}
