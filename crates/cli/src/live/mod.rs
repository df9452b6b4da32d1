//! A run as it goes on: a chart on the terminal, or lines that fit 80 columns.
//!
//! The [`Model`] is fed with the records of the run. On a terminal a [`Screen`] draws it; elsewhere
//! there is a line each second.

#[cfg(feature = "live")]
mod chart;
mod closing;
#[cfg(feature = "live")]
mod keys;
mod lines;
mod model;
mod scale;
#[cfg(feature = "live")]
mod screen;
#[cfg(not(feature = "live"))]
mod without;

use std::time::{Duration, Instant};

use tfrc_report::record::Record;
use tfrc_world::results::Interval;
use tfrc_world::watch::Look;

use crate::args::{Format, LiveArgs};

#[cfg(feature = "live")]
pub use chart::draw;
pub use closing::closing;
#[cfg(feature = "live")]
pub use keys::{Keys, command};
pub use lines::WIDTH;
pub use model::{Controls, Curve, LinkLoss, LinkRate, Model, ModelConfig, View};
#[cfg(feature = "live")]
pub use screen::{Screen, is_shown, restore};
#[cfg(not(feature = "live"))]
pub use without::{Keys, Screen, is_shown, restore};

/// Notes that are kept, the latest.
const NOTES: usize = 20;

/// Wish of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// End the run, with its summary.
    End,
    /// Start one TCP flow more.
    OneTcpMore,
    /// Begin or stop random losses.
    SwitchLoss,
    /// Halve the bottleneck's rate, or restore it.
    SwitchRate,
}

/// The course of a run, shown.
#[derive(Debug)]
pub struct Live {
    model: Model,
    screen: Option<Screen>,
    /// Notes for the user that have to wait until the screen is his again.
    notes: Vec<String>,
    /// A line is due from here, seconds since the start.
    next_line_s: f64,
    /// When the chart was drawn last.
    drawn: Option<Instant>,
}

/// Shortest time between two drawings of the chart: a simulation gives moments faster.
const FRAME: Duration = Duration::from_millis(40);

impl Live {
    /// Shows a run on a screen, or in lines.
    #[must_use]
    pub const fn new(model: Model, screen: Option<Screen>) -> Self {
        Self { model, screen, notes: Vec::new(), next_line_s: 1.0, drawn: None }
    }

    /// Takes one record. Returns a line for the user if one is due and nothing is drawn.
    ///
    /// The records of a moment begin with that of the run's own flow, so that the moment before is
    /// complete when it comes: the chart is drawn and the line made then.
    pub fn take(&mut self, record: &Record) -> Option<String> {
        let moment = match record {
            Record::Interval(interval) => interval.flow.is_none() && interval.link.is_none(),
            Record::End(_) | Record::Error { .. } => true,
            _ => false,
        };
        let line = if moment { self.show() } else { None };
        self.model.take(record);
        line
    }

    /// Takes what flows and links did in a stretch of a network's run: the first link is its own.
    /// Returns a line as [`Live::take`] does.
    pub fn look(&mut self, look: &Look) -> Option<String> {
        let link = look.links.first().cloned().unwrap_or_default();
        let own = Interval { link: None, goodput_bps: link.receive_rate_bps, ..link };
        let line = self.take(&Record::Interval(own));
        look.flows.iter().cloned().for_each(|flow| self.model.take(&Record::Interval(flow)));
        line
    }

    /// Sets the state of the controls.
    pub const fn set_controls(&mut self, controls: Controls) {
        self.model.set_controls(controls);
    }

    /// Sets how many datagrams wait at the sender.
    pub fn set_waiting(&mut self, datagrams: usize) {
        self.model.set_waiting(datagrams);
    }

    /// Brings a receiver's view to a moment, seconds since the start, and draws it.
    pub fn advance(&mut self, t_s: f64) {
        self.model.advance(t_s);
        self.show();
    }

    /// Shows a note, and keeps it until the screen is closed; returns false if there is no screen.
    pub fn hold(&mut self, note: &str) -> bool {
        if self.screen.is_some() {
            self.model.set_note(note);
            if self.notes.len() >= NOTES {
                self.notes.remove(0);
            }
            self.notes.push(note.to_owned());
        }
        self.screen.is_some()
    }

    /// Gives the terminal back, and the notes that were kept.
    #[must_use]
    pub fn close(self) -> Vec<String> {
        self.notes
    }

    fn show(&mut self) -> Option<String> {
        match &mut self.screen {
            Some(screen) => {
                if self.drawn.is_none_or(|at| at.elapsed() >= FRAME) {
                    // A chart that cannot be drawn is not a reason to end the run.
                    let _ = screen.draw(&self.model);
                    self.drawn = Some(Instant::now());
                }
                None
            }
            None => {
                let due = self.model.seconds() + 1e-6 >= self.next_line_s;
                due.then(|| {
                    self.next_line_s = (self.model.seconds() + 1e-6).floor() + 1.0;
                    lines::line(&mut self.model)
                })
            }
        }
    }
}

/// The terminal with its keys, if a chart can be shown there together with this output. Without
/// them a run goes on in lines.
#[must_use]
pub fn open(format: Format) -> Option<(Screen, Keys)> {
    if format != Format::Human || !Screen::is_possible() {
        return None;
    }
    let screen = Screen::open().ok()?;
    Keys::read().ok().map(|keys| (screen, keys))
}

/// The view of a network's run and its keys, if it is wanted and can be shown.
#[must_use]
pub fn network(args: LiveArgs, format: Format, title: &str, duration_s: Option<f64>) -> Option<(Live, Keys)> {
    let (screen, keys) = Some(args).filter(|args| args.tui).and_then(|_| open(format))?;
    let (view, title) = (View::Network, title.to_owned());
    let model = Model::new(ModelConfig { view, title, duration_s, queue_limit: None, controls: None });
    Some((Live::new(model, Some(screen)), keys))
}

/// The next wish of the user at the keys; never, if none are read.
pub async fn wish(keys: &mut Option<Keys>) -> Command {
    match keys {
        Some(keys) => keys.next().await,
        None => std::future::pending().await,
    }
}
