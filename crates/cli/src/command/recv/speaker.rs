//! The words about a connection, within the limit for all of them.

use std::io;
use std::sync::{Mutex, PoisonError};

use tfrc_report::record::{Record, Summary};
use tfrc_units::Instant;

use super::overview::Overview;
use crate::Failure;
use crate::reporter::{Reporter, ReporterConfig};
use crate::session::{Ending, LogLimit};

/// Speaks of one connection, if the limit lets it: of a connection alone in full, of one among
/// others in a line at its end.
pub(super) struct Speaker<'a> {
    reporter: Reporter,
    log: &'a Mutex<LogLimit>,
    state: SpeakerState,
    /// The connection's number and peer, if it is one among others.
    among_others: Option<(u64, String)>,
    /// The live view and the time series, and the connection's name there. While the view is open,
    /// words wait.
    overview: Option<(&'a Overview, String)>,
}

enum SpeakerState {
    /// Nothing has been said; the first records wait. A connection that lasts is spoken of as soon
    /// as there is room.
    Silent(Vec<Record>),
    Speaks,
}

impl<'a> Speaker<'a> {
    pub(super) fn new(
        config: ReporterConfig,
        peer: String,
        log: &'a Mutex<LogLimit>,
        overview: Option<&'a Overview>,
    ) -> Self {
        let name = config.connection.map_or(peer.clone(), |number| format!("{number} {peer}"));
        let among_others = config.connection.map(|number| (number, peer));
        let (reporter, state) = if overview.is_some_and(Overview::is_drawn) {
            // A progress bar would draw over the view.
            (Reporter::on(config, io::stdout(), io::stderr()), SpeakerState::Speaks)
        } else {
            (Reporter::new(config), SpeakerState::Silent(Vec::new()))
        };
        Self { reporter, log, state, among_others, overview: overview.map(|all| (all, name)) }
    }

    /// Passes a record on, or drops it.
    pub(super) fn say(&mut self, now: Instant, record: &Record) {
        if let Some((overview, name)) = &self.overview
            && overview.take(now, name, record)
        {
            self.reporter.keep(record);
            return;
        }
        // The beginning waits, and all that is measured passes.
        if let SpeakerState::Silent(waiting) = &mut self.state
            && !matches!(record, Record::Interval(_))
            && waiting.len() < 2
        {
            waiting.push(record.clone());
        }
        let first = matches!(record, Record::Start(_));
        match &mut self.state {
            SpeakerState::Speaks => self.reporter.say(record),
            SpeakerState::Silent(waiting) if first || matches!(record, Record::Interval(_)) => {
                if self.log.lock().unwrap_or_else(PoisonError::into_inner).admit(now) {
                    for waited in std::mem::take(waiting) {
                        self.reporter.say(&waited);
                    }
                    self.state = SpeakerState::Speaks;
                    if !first {
                        self.reporter.say(record);
                    }
                }
            }
            SpeakerState::Silent(_) => {}
        }
    }

    /// A line for the user.
    pub(super) fn note(&mut self, text: &str) {
        if let Some((overview, name)) = &self.overview
            && overview.note(&format!("{name}: {text}"))
        {
            return;
        }
        match (&self.state, &self.among_others) {
            (SpeakerState::Silent(_), _) => {}
            (SpeakerState::Speaks, None) => self.reporter.note(text),
            (SpeakerState::Speaks, Some((number, peer))) => {
                tracing::warn!("connection {number} from {peer}: {text}");
            }
        }
    }

    /// Leaves the page to a connection that brings data.
    pub(super) fn forget_page(&mut self) {
        self.reporter.forget_page();
    }

    /// The summary and the last line, both of the ending returned; why records can no longer be
    /// written, if so.
    pub(super) fn end(&mut self, summary: Summary, ending: Ending) -> (Ending, Option<Failure>) {
        if let Some((overview, name)) = &self.overview
            && overview.note(&format!("{name} {}", line(&summary, &ending)))
        {
            return (ending, None);
        }
        let ending = match &self.state {
            SpeakerState::Silent(_) => {
                let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
                log.passed_over(ending.has_failed());
                ending
            }
            SpeakerState::Speaks => self.reporter.conclude(summary.clone(), ending),
        };
        if let (SpeakerState::Speaks, Some((number, peer))) = (&self.state, &self.among_others) {
            let line = line(&summary, &ending);
            if ending.has_failed() {
                tracing::warn!("connection {number} from {peer} {line}");
            } else {
                tracing::info!("connection {number} from {peer} {line}");
            }
        }
        (ending, self.reporter.mute().cloned())
    }
}

/// A connection in one line, with plain digits for other programs.
fn line(summary: &Summary, ending: &Ending) -> String {
    let known = |n: Option<u64>| n.unwrap_or(0);
    let mut counts = format!(
        "{}: {:.1} s, {} datagrams, {} bytes, {} lost",
        ending.word(),
        summary.duration_s,
        known(summary.received_packets),
        known(summary.received_bytes),
        known(summary.lost_packets)
    );
    for (n, what) in [(summary.late_packets, "late"), (summary.dropped_by_reader_packets, "dropped here")] {
        if known(n) > 0 {
            counts.push_str(&format!(", {} {what}", known(n)));
        }
    }
    format!("{counts}; {}", ending.reason)
}
