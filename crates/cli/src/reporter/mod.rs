//! Everything a running command says: records in, words or JSON on standard output, progress on
//! standard error, and the report page at the end.
//!
//! Every command that runs something hands its [`Record`]s, or what was seen in a stretch of time,
//! to a [`Reporter`] and writes nothing itself.

mod config;
mod means;
mod series;
#[cfg(test)]
mod tests;
mod words;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use indicatif::ProgressBar;
use serde::Serialize;
use tfrc_report::pages::{self, RunRecords};
use tfrc_report::record::{Event, EventKind, Record, Summary, simulated};
use tfrc_units::Duration;
use tfrc_world::results::Interval;
use tfrc_world::watch::Look;

pub(crate) use self::config::{ExistingPage, Page, ReporterConfig, SummaryTo};
use self::means::Means;
pub(crate) use self::series::Series;
use self::words::{bar, left, state, words};
use crate::Failure;
use crate::args::Format;
use crate::document::{self, OfConnection, StreamLine};
use crate::live::{self, Controls, Live};
use crate::session::{Ending, as_f64};
use crate::visible::visible;

/// Says what a run does while it runs, and what it did.
#[derive(Debug)]
pub(crate) struct Reporter<O = io::Stdout, E = io::Stderr, S = BufWriter<File>> {
    config: ReporterConfig,
    out: O,
    err: E,
    bar: Option<ProgressBar>,
    /// Shows the run in place of the bar and of its lines.
    live: Option<Live>,
    /// The run so far, kept only when a page is wanted.
    run: Option<RunRecords>,
    /// Takes the time series.
    series: Option<Series<S>>,
    /// Progress lines are due from here, seconds since the start.
    next_line_s: f64,
    /// The intervals since the last line of progress.
    means: Means,
    /// Bytes sent so far.
    sent_bytes: f64,
    /// Why standard output takes nothing more, if [`Reporter::say`] found out.
    mute: Option<Failure>,
    /// The first failure of the time series in [`Reporter::say`].
    unwritten: Option<Failure>,
}

impl Reporter {
    /// A reporter on the standard streams. A progress bar is drawn if standard error is a terminal
    /// and nothing streams; else there is a line of progress every second of the run.
    #[must_use]
    pub(crate) fn new(config: ReporterConfig) -> Self {
        let mut reporter = Self::on(config, io::stdout(), io::stderr());
        let quiet = reporter.config.connection.is_some() || reporter.config.format == Format::JsonStream;
        if !quiet && io::stderr().is_terminal() {
            reporter.bar = Some(bar(&reporter.config));
        }
        reporter
    }
}

impl<O: Write, E: Write> Reporter<O, E> {
    /// A reporter on other streams, without a progress bar.
    pub(crate) fn on(config: ReporterConfig, out: O, err: E) -> Self {
        Self::with(config, out, err, None)
    }

    /// Writes the time series of the run to a file too, if one is named; settings of the run have
    /// columns of their own.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn with_series(
        mut self,
        path: Option<&Path>,
        at: &[(String, String)],
    ) -> Result<Self, Failure> {
        self.series = path.map(|path| Series::create(path, at)).transpose()?;
        Ok(self)
    }
}

impl<O: Write, E: Write, S: Write> Reporter<O, E, S> {
    /// Shows the run this way in place of a bar or of lines about its own flow alone.
    pub(crate) fn set_live(&mut self, live: Live) {
        self.clear();
        self.live = Some(live);
    }

    /// Passes the state of the controls to the display of the run.
    pub(crate) const fn set_controls(&mut self, controls: Controls) {
        if let Some(live) = &mut self.live {
            live.set_controls(controls);
        }
    }

    /// Passes the number of datagrams that wait at the sender to the display of the run.
    pub(crate) fn set_waiting(&mut self, datagrams: usize) {
        if let Some(live) = &mut self.live {
            live.set_waiting(datagrams);
        }
    }

    /// True while the run is drawn.
    pub(crate) const fn is_drawn(&self) -> bool {
        self.live.is_some()
    }

    /// Shows a note in the live view, and says it when the view is closed. Returns false if there
    /// is no view.
    pub(crate) fn hold(&mut self, text: &str) -> bool {
        self.live.as_mut().is_some_and(|live| live.hold(text))
    }

    /// Brings a live view to a moment, seconds since the start.
    pub(crate) fn advance(&mut self, t_s: f64) {
        if let Some(live) = &mut self.live {
            live.advance(t_s);
        }
    }

    /// Ends the live view, if there is one; the run goes on in lines.
    pub(crate) fn end_live(&mut self) {
        if self.live.is_some() {
            self.clear();
        }
    }

    /// A reporter on other streams, without a progress bar, and where the time series go.
    pub(crate) fn with(config: ReporterConfig, out: O, err: E, series: Option<Series<S>>) -> Self {
        let means = Means::default();
        Self {
            config,
            out,
            err,
            bar: None,
            live: None,
            run: None,
            series,
            next_line_s: 1.0,
            means,
            sent_bytes: 0.0,
            mute: None,
            unwritten: None,
        }
    }

    /// Takes one record: streams it, shows it, keeps it for the page. [`Record::End`] and
    /// [`Record::Error`] write what is left of the files; then the first prints the summary. A
    /// place that cannot be written keeps the record from no other.
    ///
    /// # Errors
    /// When standard output or a file cannot be written; [`Failure::ClosedPipe`] if its reader has
    /// gone.
    pub(crate) fn record(&mut self, record: &Record) -> Result<(), Failure> {
        if let Record::End(summary) = record {
            self.show_end(record);
            self.keep(record);
            self.files()?;
            return self.summary(summary);
        }
        let (told, plotted) = (self.tell(record), self.plot(record));
        self.keep(record);
        let ended = match record {
            Record::Error { .. } => self.break_off(),
            _ => Ok(()),
        };
        told.and(plotted).and(ended)
    }

    /// Ends a run that has no summary: gives the terminal back and writes the files.
    ///
    /// # Errors
    /// When the time series or the page cannot be written.
    pub(crate) fn break_off(&mut self) -> Result<(), Failure> {
        self.clear();
        self.files()
    }

    /// Shows the end of a run, and gives the terminal back.
    fn show_end(&mut self, end: &Record) {
        if let Some(line) = self.live.as_mut().and_then(|live| live.take(end)) {
            self.note(&line);
        }
        self.clear();
    }

    /// Streams and shows one record.
    fn tell(&mut self, record: &Record) -> Result<(), Failure> {
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
        Ok(())
    }

    /// Adds one record to the time series.
    fn plot(&mut self, record: &Record) -> Result<(), Failure> {
        match (&mut self.series, record) {
            (Some(series), Record::Interval(interval)) => {
                let look = Look { flows: vec![interval.clone()], links: Vec::new() };
                series.add(self.config.run.unwrap_or((1, 1)), &look)
            }
            _ => Ok(()),
        }
    }

    /// Keeps one record for the page, if one is wanted, and does nothing else with it.
    pub(crate) fn keep(&mut self, record: &Record) {
        if self.draws() {
            match (&mut self.run, record) {
                (Some(run), record) => run.push(record.clone()),
                (none, Record::Start(start)) => *none = Some(RunRecords::new(start.clone())),
                _ => {}
            }
        }
    }

    /// Writes no page.
    pub(crate) fn forget_page(&mut self) {
        (self.config.report, self.run) = (None, None);
    }

    /// Takes what flows and links did in a stretch of the run: shows it, streams it, keeps it for
    /// the page.
    ///
    /// # Errors
    /// As [`Reporter::record`].
    pub(crate) fn look(&mut self, look: Look) -> Result<(), Failure> {
        self.show(&look);
        let written = self.stretch(&look);
        self.draw(look);
        written
    }

    /// Passes what flows and links did in a stretch of the run to the live view alone.
    pub(crate) fn show(&mut self, look: &Look) {
        if let Some(line) = self.live.as_mut().and_then(|live| live.look(look)) {
            self.note(&line);
        }
    }

    /// True if somebody hears of each stretch.
    pub(crate) const fn hears_stretches(&self) -> bool {
        matches!(self.config.format, Format::JsonStream) || self.series.is_some()
    }

    /// Streams what flows and links did in a stretch of the run, and adds it to the time series.
    pub(crate) fn stretch(&mut self, look: &Look) -> Result<(), Failure> {
        let listed = match &mut self.series {
            Some(series) => series.add(self.config.run.unwrap_or((1, 1)), look),
            None => Ok(()),
        };
        if self.config.format == Format::JsonStream {
            for interval in look.flows.iter().chain(&look.links).cloned() {
                match self.config.run {
                    Some(_) => self.json(simulated(interval))?,
                    None => self.json(Record::Interval(interval))?,
                }
            }
        }
        listed
    }

    /// True if a page is wanted.
    pub(crate) const fn draws(&self) -> bool {
        self.config.report.is_some() || self.config.keeps_run
    }

    /// Keeps for the page what flows and links did in a stretch of the run.
    pub(crate) fn draw(&mut self, look: Look) {
        if let Some(run) = &mut self.run {
            run.look(look);
        }
    }

    /// Ends a run whose words and document are not those of its summary: `printed` gives them, with
    /// their line ends.
    ///
    /// # Errors
    /// As [`Reporter::record`].
    pub(crate) fn finish(
        &mut self,
        summary: Summary,
        printed: impl FnOnce(Format) -> String,
    ) -> Result<(), Failure> {
        self.clear();
        let end = Record::End(Box::new(summary));
        if let Some(run) = &mut self.run {
            run.push(end.clone());
        }
        self.files()?;
        match self.config.format {
            Format::JsonStream => self.json(&end),
            format => self.print(&printed(format)),
        }
    }

    /// The places that its output and its time series went to, and the run if it was kept.
    pub(crate) fn into_parts(self) -> (O, Option<S>, Option<RunRecords>) {
        (self.out, self.series.map(Series::into_inner), self.run)
    }

    /// Takes one record like [`Reporter::record`], for a session that goes on when its words cannot
    /// be written: its data matters more. `conclude` ends it.
    pub(crate) fn say(&mut self, record: &Record) {
        if self.mute.is_none()
            && let Err(failure) = self.tell(record)
        {
            self.note(&format!("no more records: {failure}"));
            self.mute = Some(failure);
        }
        if let Err(failure) = self.plot(record) {
            self.note(&format!("no more of the time series: {failure}"));
            (self.series, self.unwritten) = (None, Some(failure));
        }
        self.keep(record);
        if let Record::Error { .. } = record
            && let Err(failure) = self.break_off()
        {
            self.note(&failure.to_string());
        }
    }

    /// Ends a session: writes what is left of its files, prints its summary, and says its last line
    /// unless it is one among others. All three, and the exit status, are of the ending returned: a
    /// file or a summary that cannot be written makes the one given a failure.
    pub(crate) fn conclude(&mut self, mut summary: Summary, ending: Ending) -> Ending {
        let mut ending = ending.after(self.mute.as_ref()).after(self.end_series().err().as_ref());
        ending.note(&mut summary);
        let end = Record::End(Box::new(summary.clone()));
        self.show_end(&end);
        self.keep(&end);
        ending = ending.after(self.page().err().as_ref());
        ending.note(&mut summary);
        if self.mute.is_none() {
            self.mute = self.summary(&summary).err();
            ending = ending.after(self.mute.as_ref());
        }
        if self.config.connection.is_none() {
            self.note(&ending.to_string());
        }
        ending
    }

    /// Writes what is left of the time series.
    ///
    /// # Errors
    /// The first failure to write them since the last call.
    pub(crate) fn end_series(&mut self) -> Result<(), Failure> {
        match self.unwritten.take() {
            Some(failure) => Err(failure),
            None => self.series.take().map_or(Ok(()), |mut series| series.flush()),
        }
    }

    /// Why standard output takes nothing more, if so.
    #[must_use]
    pub(crate) const fn mute(&self) -> Option<&Failure> {
        self.mute.as_ref()
    }

    /// A line for the user on standard error, such as where the receiver listens.
    pub(crate) fn note(&mut self, text: &str) {
        if self.hold(text) {
            return;
        }
        // What cannot be said on standard error cannot be said at all.
        match &self.bar {
            Some(bar) => bar.println(visible(text)),
            None => drop(writeln!(self.err, "{}", visible(text))),
        }
    }

    /// A line of JSON, with the number of the connection or run if there are several.
    fn json(&mut self, told: impl Serialize) -> Result<(), Failure> {
        let line = match self.config.run {
            Some((point, run)) => {
                serde_json::json!(StreamLine { point, run, record: serde_json::json!(told) })
            }
            None => serde_json::json!(OfConnection { connection: self.config.connection, told }),
        };
        self.line(&line.to_string())
    }

    fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.print(&format!("{text}\n"))
    }

    fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.out
            .write_all(text.as_bytes())
            .and_then(|()| self.out.flush())
            .map_err(|e| Failure::standard_output(&e))
    }

    fn progress(&mut self, interval: &Interval) {
        if interval.flow.is_some() || interval.link.is_some() {
            return;
        }
        self.means.add(interval);
        // What is sent again brings the run no further.
        let again = interval.repaired_bytes.map_or(0.0, as_f64);
        self.sent_bytes += interval.send_rate_bps.unwrap_or(0.0) * interval.interval_s / 8.0 - again;
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
        let mean = self.means.take();
        let words = state(&mean);
        let to_send = self.config.bytes.map(|bytes| (as_f64(bytes) - self.sent_bytes).max(0.0));
        match (&self.bar, to_send.and_then(|bytes| left(bytes, mean.send_rate_bps?))) {
            (Some(bar), _) => bar.set_message(words),
            (None, None) => self.note(&format!("{:6.1} s  {words}", interval.t_s)),
            (None, Some(left)) => self.note(&format!("{:6.1} s  {words}  {left}", interval.t_s)),
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

    /// Prints the summary.
    fn summary(&mut self, summary: &Summary) -> Result<(), Failure> {
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
            (Format::Json, _) => self.json(document::versioned(summary))?,
            (Format::JsonStream, _) => self.json(Record::End(Box::new(summary.clone())))?,
        }
        Ok(())
    }

    /// Takes the progress bar off the terminal, where something else is to be drawn.
    pub(crate) fn end_bar(&mut self) {
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

    /// Writes what is left of the time series, and the page.
    fn files(&mut self) -> Result<(), Failure> {
        self.series.as_mut().map_or(Ok(()), Series::flush)?;
        self.page()
    }

    fn page(&mut self) -> Result<(), Failure> {
        if let (Some(page), Some(run)) = (self.config.report.clone(), &self.run) {
            let mut file = std::fs::OpenOptions::new();
            match page.existing {
                ExistingPage::Keep => file.write(true).create_new(!page.path.exists() || page.path.is_file()),
                ExistingPage::Replace => file.write(true).create(true).truncate(true),
            };
            file.open(&page.path)
                .and_then(|mut file| file.write_all(pages::page(run).as_bytes()))
                .map_err(|error| Failure::Run(format!("{}: {error}", page.path.display())))?;
            let what = if run.failure.is_some() { "report of the failure" } else { "report" };
            self.note(&format!("{what} written to {}", page.path.display()));
        }
        Ok(())
    }
}
