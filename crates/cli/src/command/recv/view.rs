//! The live view of a receiver: its connections over one axis of time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tfrc_lab::record::{Event, Interval, Record};
use tfrc_units::Instant;

use crate::live::{Live, Model, ModelConfig, Screen, View};
use crate::visible::to_stderr;

/// The view, until it is closed.
#[derive(Debug)]
pub(super) struct ReceiverView {
    live: Mutex<Option<Live>>,
}

impl ReceiverView {
    /// Draws on a screen, under this title.
    pub(super) fn new(title: String, screen: Screen) -> Self {
        let config =
            ModelConfig { view: View::Receiver, title, duration_s: None, queue_limit: None, controls: None };
        Self { live: Mutex::new(Some(Live::new(Model::new(config), Some(screen)))) }
    }

    /// Takes a record of the connection with this name. Returns false if the view is closed.
    pub(super) fn take(&self, now: Instant, name: &str, record: &Record) -> bool {
        let mut live = self.live();
        let Some(live) = live.as_mut() else { return false };
        let (t_s, flow) = (seconds(now), Some(name.to_owned()));
        let record = match record.clone() {
            Record::Interval(interval) => Record::Interval(Interval { t_s, flow, ..interval }),
            Record::Event(event) => Record::Event(Event { t_s, flow, ..event }),
            other => other,
        };
        if let Record::Interval(_) | Record::Event(_) = record {
            live.take(&record);
        }
        true
    }

    /// Shows a note, and says it when the view is closed. Returns false if it is closed.
    pub(super) fn note(&self, text: &str) -> bool {
        self.live().as_mut().is_some_and(|live| live.hold(text))
    }

    /// Redraws now.
    pub(super) fn draw(&self, now: Instant) {
        if let Some(live) = self.live().as_mut() {
            live.advance(seconds(now));
        }
    }

    /// Gives the terminal back, and says the notes.
    pub(super) fn close(&self) {
        let live = self.live().take();
        for note in live.map(Live::close).unwrap_or_default() {
            to_stderr(&note);
        }
    }

    fn live(&self) -> MutexGuard<'_, Option<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds(now: Instant) -> f64 {
    now.saturating_since(Instant::ZERO).as_secs_f64()
}
