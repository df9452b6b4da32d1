//! The live view and the time series of a receiver: all its connections over one axis of time.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tfrc_report::record::{Event, Record};
use tfrc_units::Instant;
use tfrc_world::results::Interval;

use crate::Failure;
use crate::args::Format;
use crate::live::{Live, Model, ModelConfig, Screen, View};
use crate::reporter::{Reporter, ReporterConfig};

/// A reporter to which each connection is a flow. It says nothing of any by itself.
#[derive(Debug)]
pub(super) struct Overview(Mutex<Reporter<io::Sink>>);

impl Overview {
    /// Draws on a screen under this title, if there is one, and writes time series, if a file is
    /// named.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub(super) fn new(title: String, screen: Option<Screen>, series: Option<&Path>) -> Result<Self, Failure> {
        let config = ReporterConfig { connection: Some(0), ..ReporterConfig::new(Format::Human) };
        let mut reporter = Reporter::on(config, io::sink(), io::stderr()).with_series(series, &[])?;
        if let Some(screen) = screen {
            let config = ModelConfig {
                view: View::Receiver,
                title,
                duration_s: None,
                queue_limit: None,
                controls: None,
            };
            reporter.set_live(Live::new(Model::new(config), Some(screen)));
        }
        Ok(Self(Mutex::new(reporter)))
    }

    /// Takes a record of the connection with this name. Returns true if it is drawn.
    pub(super) fn take(&self, now: Instant, name: &str, record: &Record) -> bool {
        let mut reporter = self.reporter();
        let (t_s, flow) = (seconds(now), Some(name.to_owned()));
        match record.clone() {
            Record::Interval(interval) => {
                reporter.say(&Record::Interval(Interval { t_s, flow, ..interval }));
            }
            Record::Event(event) => reporter.say(&Record::Event(Event { t_s, flow, ..event })),
            _ => {}
        }
        reporter.is_drawn()
    }

    /// Returns true while the view is open.
    pub(super) fn is_drawn(&self) -> bool {
        self.reporter().is_drawn()
    }

    /// Shows a note, and says it when the view is closed. Returns false if there is none.
    pub(super) fn note(&self, text: &str) -> bool {
        self.reporter().hold(text)
    }

    /// Redraws now.
    pub(super) fn draw(&self, now: Instant) {
        self.reporter().advance(seconds(now));
    }

    /// Gives the terminal back, and says the notes.
    pub(super) fn close_view(&self) {
        self.reporter().end_live();
    }

    /// Writes what is left of the time series.
    ///
    /// # Errors
    /// The first failure to write them since the last call.
    pub(super) fn end(&self) -> Result<(), Failure> {
        self.reporter().end_series()
    }

    fn reporter(&self) -> MutexGuard<'_, Reporter<io::Sink>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(now: Instant) -> f64 {
    now.saturating_since(Instant::ZERO).as_secs_f64()
}
