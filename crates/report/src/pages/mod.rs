//! The page of one run: a single HTML file that opens from disk and needs no network.
//!
//! It is made only from the records of [`crate::record`], so that a figure and the numbers next to
//! it cannot differ. [uPlot](../../vendor/uplot/README.md) draws the charts; everything else on the
//! page is readable without scripts.

mod against;
mod chart;
mod compared;
pub mod figures;
mod grid;
mod html;
mod sweep;
mod words;

pub use html::{heads, still};
pub use sweep::page as sweep_page;

use std::collections::BTreeMap;

use crate::record::{Event, EventKind, Record, Role, Start, Summary};
use tfrc_world::results::Interval;
use tfrc_world::watch::Look;

/// The records of one run, sorted by kind.
///
/// Make one with [`RunRecords::new`], hand it every record with [`RunRecords::push`], and give it
/// to [`page`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunRecords {
    /// Title of the page.
    pub title: String,
    /// Description of the run, from its start.
    pub start: Start,
    /// Measurements of intervals, in the order they came; see [`Interval::flow`] for the flow.
    pub intervals: Vec<Interval>,
    /// Events of the run.
    pub events: Vec<Event>,
    /// The figures of the whole; `None` until the run has ended.
    pub summary: Option<Summary>,
    /// When the run failed, seconds since the start, and why.
    pub failure: Option<(f64, String)>,
}

impl RunRecords {
    /// A run that has begun and measured nothing yet.
    #[must_use]
    pub fn new(start: Start) -> Self {
        let title = match start.role {
            Role::Demo => "TFRC through an emulated bottleneck",
            Role::Recv => "TFRC receiver",
            Role::Send => "TFRC sender",
            Role::Emu => "TFRC beside the kernel's TCP",
            Role::Link => "A network between programs",
            Role::Sim => "TFRC simulation",
        };
        Self {
            title: title.to_owned(),
            start,
            intervals: Vec::new(),
            events: Vec::new(),
            summary: None,
            failure: None,
        }
    }

    /// Adds what flows and links did in a stretch of a run; a flow that had loss events in it has
    /// one marked at its end.
    pub fn look(&mut self, look: Look) {
        for flow in &look.flows {
            if flow.loss_events.is_some_and(|events| events > 0) {
                let (t_s, flow) = (flow.t_s, flow.flow.clone());
                self.events.push(Event { t_s, event: EventKind::LossEvent, flow, detail: None });
            }
        }
        self.intervals.extend(look.flows);
        self.intervals.extend(look.links);
    }

    /// The kind of each flow, if the run has ended and says it.
    fn kinds(&self) -> BTreeMap<&str, &str> {
        let flows = self.summary.iter().flat_map(|summary| &summary.flows);
        flows.map(|flow| (flow.id.as_str(), flow.kind.as_str())).collect()
    }

    /// Adds a record. A second [`Record::Start`] or [`Record::End`] replaces the first. The end has
    /// an event for each flow that a rule of its own has stopped.
    pub fn push(&mut self, record: Record) {
        match record {
            Record::Start(start) => self.start = start,
            Record::Interval(interval) => self.intervals.push(interval),
            Record::Event(event) => self.events.push(event),
            Record::End(summary) => {
                let stops = summary.flows.iter().filter_map(|flow| Some((flow, flow.stopped?)));
                self.events.extend(stops.map(|(flow, stop)| Event {
                    t_s: stop.at_s,
                    event: EventKind::Stopped,
                    flow: Some(flow.id.clone()),
                    detail: Some(stop.to_string()),
                }));
                self.summary = Some(*summary);
            }
            Record::Error { t_s, message } => self.failure = Some((t_s, message)),
        }
    }

    /// Sums up the run in one sentence.
    #[must_use]
    pub fn headline(&self) -> String {
        words::headline(self)
    }
}

impl Extend<Record> for RunRecords {
    fn extend<I: IntoIterator<Item = Record>>(&mut self, records: I) {
        for record in records {
            self.push(record);
        }
    }
}

/// Every known figure of a summary: its name, its value with the unit, and its key in JSON.
#[must_use]
pub fn rows(summary: &Summary) -> Vec<(&'static str, String, &'static str)> {
    words::rows(summary)
}

/// The HTML page of a run, complete: write it to a file and open it.
///
/// Long runs are thinned to about 1500 points a curve, and the page then says so. No input, however
/// odd, breaks the page or runs as a script in it.
#[must_use]
pub fn page(run: &RunRecords) -> String {
    html::page(run)
}
