//! The words about a connection, within the limit for all of them.

use tfrc_lab::record::{Record, Summary};
use tfrc_units::Instant;

use crate::Failure;
use crate::reporter::{Reporter, ReporterConfig};
use crate::session::{Ending, LogLimit};

/// Speaks of one connection, if the limit lets it.
pub(super) struct Speaker<'a> {
    reporter: Reporter,
    log: &'a mut LogLimit,
    standing: SpeakerState,
}

enum SpeakerState {
    /// Nothing has been said; the first records wait. A connection that lasts is spoken of as soon
    /// as there is room.
    Silent(Vec<Record>),
    Speaks,
}

impl<'a> Speaker<'a> {
    pub(super) fn new(config: ReporterConfig, log: &'a mut LogLimit) -> Self {
        Self { reporter: Reporter::new(config), log, standing: SpeakerState::Silent(Vec::new()) }
    }

    /// Passes a record on, or drops it.
    pub(super) fn say(&mut self, now: Instant, record: &Record) {
        // The beginning waits, and all that is measured passes.
        if let SpeakerState::Silent(waiting) = &mut self.standing
            && !matches!(record, Record::Interval(_))
            && waiting.len() < 2
        {
            waiting.push(record.clone());
        }
        let first = matches!(record, Record::Start(_));
        match &mut self.standing {
            SpeakerState::Speaks => self.reporter.say(record),
            SpeakerState::Silent(waiting) if first || matches!(record, Record::Interval(_)) => {
                if self.log.admit(now) {
                    for waited in std::mem::take(waiting) {
                        self.reporter.say(&waited);
                    }
                    self.standing = SpeakerState::Speaks;
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
        if matches!(self.standing, SpeakerState::Speaks) {
            self.reporter.note(text);
        }
    }

    /// The summary and the last line; why records can no longer be written, if so.
    pub(super) fn end(&mut self, summary: Summary, ending: &Ending) -> Option<Failure> {
        match &self.standing {
            SpeakerState::Silent(_) => self.log.passed_over(ending.has_failed()),
            SpeakerState::Speaks => {
                self.reporter.say(&Record::End(Box::new(summary)));
                self.reporter.note(&ending.to_string());
            }
        }
        self.reporter.broken().cloned()
    }
}
