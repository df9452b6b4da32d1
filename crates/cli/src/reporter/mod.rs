//! Everything a running command says: records in, words or JSON on standard output, progress on
//! standard error, and the report page at the end.
//!
//! `send`, `recv` and `demo` hand every [`Record`] to one [`Reporter`] and write nothing
//! themselves.

mod means;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use tfrc_lab::record::{Event, EventKind, Interval, Record, Summary};
use tfrc_lab::report::{self, RunRecords, human};
use tfrc_units::Duration;

use self::means::Means;
use crate::Failure;
use crate::args::Format;
use crate::live::{self, Controls, Live};
use crate::schema::{self, OfConnection};
use crate::visible::visible;

/// Where the words of the summary go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummaryTo {
    /// Standard error: standard output carries received data.
    Stderr,
    /// Standard output.
    Stdout,
}

/// Settings of a [`Reporter`].
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
    /// The number of the connection, where several are served at once: each line of JSON has it as
    /// `connection`, and nothing else is said of the run.
    pub connection: Option<u64>,
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

/// Says what a run does while it runs, and what it did.
#[derive(Debug)]
pub struct Reporter<O = io::Stdout, E = io::Stderr> {
    config: ReporterConfig,
    out: O,
    err: E,
    bar: Option<ProgressBar>,
    /// Shows the run in place of the bar and of its lines.
    live: Option<Live>,
    /// The run so far, kept only when a page is wanted.
    run: Option<RunRecords>,
    /// Progress lines are due from here, seconds since the start.
    next_line_s: f64,
    /// The intervals since the last line of progress.
    means: Means,
    /// Bytes sent so far.
    sent_bytes: f64,
    /// The first failure of [`Reporter::say`].
    broken: Option<Failure>,
}

impl Reporter {
    /// A reporter on the standard streams. A progress bar is drawn if standard error is a terminal
    /// and nothing streams; else there is a line of progress every second of the run.
    #[must_use]
    pub fn new(config: ReporterConfig) -> Self {
        let mut reporter = Self::on(config, io::stdout(), io::stderr());
        let quiet = reporter.config.connection.is_some() || reporter.config.format == Format::JsonStream;
        if !quiet && io::stderr().is_terminal() {
            reporter.bar = Some(bar(&reporter.config));
        }
        reporter
    }
}

impl<O: Write, E: Write> Reporter<O, E> {
    /// Shows the run this way in place of a bar or of lines about its own flow alone.
    #[must_use]
    pub fn with_live(mut self, live: Live) -> Self {
        self.clear();
        self.live = Some(live);
        self
    }

    /// Tells the state of the controls to what shows the run.
    pub const fn set_controls(&mut self, controls: Controls) {
        if let Some(live) = &mut self.live {
            live.set_controls(controls);
        }
    }

    /// Tells the number of datagrams that wait at the sender to what shows the run.
    pub fn set_waiting(&mut self, datagrams: usize) {
        if let Some(live) = &mut self.live {
            live.set_waiting(datagrams);
        }
    }

    /// Ends the live view, if there is one; the run goes on in lines.
    pub fn end_live(&mut self) {
        if self.live.is_some() {
            self.clear();
        }
    }

    /// A reporter on other streams, without a progress bar.
    pub fn on(config: ReporterConfig, out: O, err: E) -> Self {
        let means = Means::default();
        Self {
            config,
            out,
            err,
            bar: None,
            live: None,
            run: None,
            next_line_s: 1.0,
            means,
            sent_bytes: 0.0,
            broken: None,
        }
    }

    /// Takes one record: streams it, shows it, keeps it for the page. [`Record::End`] and
    /// [`Record::Error`] print the summary and write the page.
    ///
    /// # Errors
    /// When standard output or the page cannot be written; [`Failure::ClosedPipe`] if its reader
    /// has gone.
    pub fn record(&mut self, record: &Record) -> Result<(), Failure> {
        if self.config.format == Format::JsonStream {
            self.json(record)?;
        }
        if let Some(line) = self.live.as_mut().and_then(|live| live.take(record)) {
            self.note(&line);
        }
        match record {
            _ if self.config.connection.is_some() => {}
            Record::Interval(_) if self.live.is_some() => {}
            Record::Interval(interval) => self.progress(interval),
            Record::Event(event) => self.event(event),
            _ => {}
        }
        if self.config.report.is_some() {
            match (&mut self.run, record) {
                (Some(run), record) => run.push(record.clone()),
                (none, Record::Start(start)) => *none = Some(RunRecords::new(start.clone())),
                _ => {}
            }
        }
        match record {
            Record::End(summary) => self.end(summary),
            Record::Error { .. } => {
                self.clear();
                self.page()
            }
            _ => Ok(()),
        }
    }

    /// Takes one record like [`Reporter::record`], for a run that goes on when its words cannot be
    /// written: its data matters more. Once writing has failed nothing more is written but the
    /// page.
    pub fn say(&mut self, record: &Record) {
        let outcome = match (&self.broken, record) {
            (None, _) => self.record(record),
            (Some(_), Record::End(_) | Record::Error { .. }) => self.page(),
            (Some(_), _) => Ok(()),
        };
        if let Err(failure) = outcome
            && self.broken.is_none()
        {
            self.note(&format!("no more records: {failure}"));
            self.broken = Some(failure);
        }
    }

    /// The first failure of [`Reporter::say`], if there was one.
    #[must_use]
    pub const fn broken(&self) -> Option<&Failure> {
        self.broken.as_ref()
    }

    /// A line for the user on standard error, such as where the receiver listens.
    pub fn note(&mut self, text: &str) {
        if self.live.as_mut().is_some_and(|live| live.hold(text)) {
            return;
        }
        // What cannot be said on standard error cannot be said at all.
        match &self.bar {
            Some(bar) => bar.println(visible(text)),
            None => drop(writeln!(self.err, "{}", visible(text))),
        }
    }

    /// A line of JSON, with the number of the connection if there are several.
    fn json(&mut self, told: impl Serialize) -> Result<(), Failure> {
        let line = OfConnection { connection: self.config.connection, told };
        self.line(&serde_json::json!(line).to_string())
    }

    fn line(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.out, "{text}")
            .and_then(|()| self.out.flush())
            .map_err(|e| Failure::io(&"standard output", &e))
    }

    fn progress(&mut self, interval: &Interval) {
        if interval.flow.is_some() {
            return;
        }
        self.means.add(interval);
        self.sent_bytes += interval.send_rate_bps.unwrap_or(0.0) * interval.interval_s / 8.0;
        let due = interval.t_s + 1e-6 >= self.next_line_s;
        if let Some(bar) = &self.bar {
            let position = match self.config.bytes {
                Some(_) => self.sent_bytes as u64,
                None => Duration::from_secs_f64(interval.t_s).as_nanos() / 1_000_000,
            };
            bar.set_position(position.min(bar.length().unwrap_or(u64::MAX)));
        }
        if !due {
            return;
        }
        self.next_line_s = (interval.t_s + 1e-6).floor() + 1.0;
        let words = state(&self.means.take());
        match &self.bar {
            Some(bar) => bar.set_message(words),
            None => self.note(&format!("{:6.1} s  {words}", interval.t_s)),
        }
    }

    fn event(&mut self, event: &Event) {
        let what = match event.event {
            EventKind::Connected => "connected",
            EventKind::Closed => "closed",
            EventKind::MoreConnections => {
                self.note(&format!("... and {}", event.detail.as_deref().unwrap_or_default()));
                return;
            }
            _ => return,
        };
        let detail = event.detail.as_ref().map_or(String::new(), |d| format!(": {d}"));
        let line = format!("{:6.1} s  {what}{detail}", event.t_s);
        self.note(&line);
    }

    fn end(&mut self, summary: &Summary) -> Result<(), Failure> {
        self.clear();
        match (self.config.format, self.config.summary_to) {
            (Format::Human, _) if self.config.connection.is_some() => {}
            (Format::Human, SummaryTo::Stdout) => {
                let text = words(summary);
                self.line(text.trim_end())?;
                if let Some(sentence) = live::closing(summary) {
                    self.line(&format!("\n{sentence}"))?;
                }
            }
            (Format::Human, SummaryTo::Stderr) => self.note(words(summary).trim_end()),
            (Format::Json, _) => self.json(schema::versioned(summary))?,
            (Format::JsonStream, _) => {}
        }
        self.page()
    }

    /// Takes the progress bar off the terminal, where something else is to be drawn.
    pub fn end_bar(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn clear(&mut self) {
        self.end_bar();
        // The terminal is given back before anything is said.
        for note in self.live.take().map(Live::close).unwrap_or_default() {
            self.note(&note);
        }
    }

    fn page(&mut self) -> Result<(), Failure> {
        if let (Some(run), Some(page)) = (self.run.take(), self.config.report.clone()) {
            let mut file = std::fs::OpenOptions::new();
            match page.existing {
                ExistingPage::Keep => file.write(true).create_new(!page.path.exists() || page.path.is_file()),
                ExistingPage::Replace => file.write(true).create(true).truncate(true),
            };
            file.open(&page.path)
                .and_then(|mut file| file.write_all(report::page(&run).as_bytes()))
                .map_err(|error| Failure::Run(format!("{}: {error}", page.path.display())))?;
            self.note(&format!("report written to {}", page.path.display()));
        }
        Ok(())
    }
}

fn bar(config: &ReporterConfig) -> ProgressBar {
    let milliseconds = config.duration.map(|d| d.as_nanos() / 1_000_000);
    let (bar, template) = match (config.bytes, milliseconds) {
        (Some(bytes), _) => (ProgressBar::new(bytes), "{percent:>3} % {bar:16} {eta:>4} left  {wide_msg}"),
        (None, Some(length)) => (ProgressBar::new(length), "{elapsed:>4} {bar:24} {wide_msg}"),
        (None, None) => (ProgressBar::no_length(), "{elapsed:>4} {spinner} {wide_msg}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Describes the state of an interval in one line.
fn state(i: &Interval) -> String {
    let parts = [
        i.allowed_rate_bps.map(|x| format!("allowed {}", human::rate(x))),
        i.send_rate_bps.map(|x| format!("sent {}", human::rate(x))),
        i.goodput_bps.map(|x| format!("goodput {}", human::rate(x))),
        i.loss_event_rate.map(|x| format!("p {}", human::number(x))),
        i.rtt_s.map(|x| format!("RTT {}", human::time(x))),
        i.queue_packets.map(|x| format!("queue {x:.0}")),
        share(i.lost_packets, i.received_packets).map(|x| format!("lost {}", human::percent(x))),
        share(i.late_dropped_packets, i.sent_packets)
            .filter(|x| *x > 0.0)
            .map(|x| format!("dropped late here {}", human::percent(x))),
        share(i.dropped_by_reader_packets, i.sent_packets.or(i.received_packets))
            .filter(|x| *x > 0.0)
            .map(|x| format!("dropped by a slow reader {}", human::percent(x))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

/// Share of some packets in these and the others together; `None` if one is unknown or there are
/// none.
fn share(some: Option<u64>, others: Option<u64>) -> Option<f64> {
    let (some, all) = (some?, some?.saturating_add(others?));
    (all > 0).then(|| some as f64 / all as f64)
}

/// The summary as a table.
fn words(summary: &Summary) -> String {
    let mut text: String =
        report::rows(summary).iter().map(|(name, value, _)| format!("{name:<38} {value}\n")).collect();
    if summary.flows.len() > 1 {
        text.push_str("\nflow              kind          goodput         loss        variation\n");
        for f in &summary.flows {
            let or_dash = |x: Option<String>| x.unwrap_or_else(|| "-".to_owned());
            text.push_str(&format!(
                "{:<17} {:<13} {:<15} {:<11} {}\n",
                f.id,
                f.kind,
                or_dash(f.goodput_bps.map(human::rate)),
                or_dash(f.packet_loss_rate.map(human::percent)),
                or_dash(f.cov.map(human::number)),
            ));
        }
    }
    // Thousands stand apart for people; another program reads plain digits.
    text.replace('\u{a0}', if io::stdout().is_terminal() { " " } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_lab::record::{Role, Start};

    fn config(format: Format) -> ReporterConfig {
        ReporterConfig {
            format,
            summary_to: SummaryTo::Stdout,
            duration: None,
            bytes: None,
            report: None,
            connection: None,
        }
    }

    fn records() -> Vec<Record> {
        let mut records = vec![Record::Start(Start::new(Role::Send, "tfrc 0.1.0", "tfrc send h"))];
        for tick in 1..=25u32 {
            records.push(Record::Interval(Interval {
                t_s: f64::from(tick) / 10.0,
                interval_s: 0.1,
                allowed_rate_bps: Some(1e6),
                ..Interval::default()
            }));
        }
        records.push(Record::End(Box::new(Summary {
            sent_packets: Some(250),
            duration_s: 2.5,
            ..Summary::default()
        })));
        records
    }

    fn run(config: ReporterConfig) -> (String, String) {
        let mut reporter = Reporter::on(config, Vec::new(), Vec::new());
        for record in records() {
            reporter.record(&record).expect("memory takes everything");
        }
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (text(reporter.out), text(reporter.err))
    }

    #[test]
    fn progress_is_one_line_a_second_on_stderr() {
        let (_, err) = run(config(Format::Human));
        assert_eq!(err, "   1.0 s  allowed 1.00 Mbit/s\n   2.0 s  allowed 1.00 Mbit/s\n");
    }

    #[test]
    fn a_stream_is_every_record_on_a_line() {
        let (out, _) = run(config(Format::JsonStream));
        let read: Vec<Record> = out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
        assert_eq!(read, records());
    }

    #[test]
    fn json_is_one_document() {
        let (out, _) = run(config(Format::Json));
        let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(document["sent_packets"], 250);
        assert_eq!(document["goodput_bps"], serde_json::Value::Null);
    }

    #[test]
    fn the_summary_leaves_stdout_to_the_data() {
        let (out, err) = run(ReporterConfig { summary_to: SummaryTo::Stderr, ..config(Format::Human) });
        assert_eq!(out, "");
        assert!(err.contains("Packets sent                           250"), "{err}");
    }

    #[test]
    fn the_page_is_written_at_the_end() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("run.html");
        let (_, err) = run(ReporterConfig {
            report: Some(Page { path: path.clone(), existing: ExistingPage::Keep }),
            ..config(Format::Human)
        });
        let page = std::fs::read_to_string(&path).expect("the page");
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        assert!(err.contains("report written to"));
        let page =
            |path, existing| ReporterConfig { report: Some(Page { path, existing }), ..config(Format::Json) };
        let nowhere = page(dir.path().join("no/run.html"), ExistingPage::Replace);
        let mut reporter = Reporter::on(nowhere, Vec::new(), Vec::new());
        let outcome: Vec<_> = records().iter().map(|r| reporter.record(r)).collect();
        assert!(matches!(outcome.last(), Some(Err(Failure::Run(why))) if why.contains("run.html")));
        // A page that came to be while the run ran.
        std::fs::write(&path, "somebody's").expect("written");
        for (existing, kept) in [(ExistingPage::Keep, true), (ExistingPage::Replace, false)] {
            let mut reporter = Reporter::on(page(path.clone(), existing), Vec::new(), Vec::new());
            let outcome: Vec<_> = records().iter().map(|r| reporter.record(r)).collect();
            assert_eq!(matches!(outcome.last(), Some(Err(Failure::Run(_)))), kept);
            assert_eq!(std::fs::read(&path).expect("there") == b"somebody's", kept);
        }
    }
}
