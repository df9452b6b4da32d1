//! The simulator for a web page: the text of a scenario in, the course of its run and its figures
//! out. `docs/playground/` has the page.
//!
//! The border to the page is four exports and two imports of plain numbers, in [`exports`]. All
//! text is UTF-8, all else JSON or 64-bit floats; no clock, file or random number is asked for, so
//! the figures are those of `tfrc sim`, byte for byte.
#![deny(missing_docs)]

mod course;
#[cfg(target_arch = "wasm32")]
mod exports;
mod mistakes;

use serde_json::json;
use std::cell::Cell;
use tfrc::equation::Equation;
use tfrc_report::document::{self, Single};
use tfrc_scenario::Document;
use tfrc_units::{Duration, Probability};
use tfrc_world::Run;
use tfrc_world::keep::{Keep, PacketDelays};
use tfrc_world::note::Note;
use tfrc_world::watch::Watch;

use course::Course;

/// A listener to a run: first its names, then numbers. It answers false to end the run.
pub trait Listener {
    /// Takes the names of flows and links, and the meaning of the numbers, as JSON.
    fn begin(&self, names: &str) -> bool;
    /// Takes the numbers of one look.
    fn look(&self, numbers: &[f64]) -> bool;
}

/// Runs a scenario, or the first point of its sweeps, once. `sets` are changes in the form of
/// `tfrc sim --set`; the listener is given about `looks` looks, none for 0.
///
/// # Errors
/// The mistakes of the scenario as JSON, or an empty list if the listener ended the run.
pub fn run(text: &str, sets: &[&str], looks: u32, listener: &dyn Listener) -> Result<String, String> {
    let mut document = Document::new("scenario", text);
    sets.iter().for_each(|set| document.set(*set));
    let plan = document.plan().map_err(|error| mistakes::listed(&error))?;
    let scenario = &plan.points.first().ok_or("[]")?.scenario;
    let ended = Cell::new(false);
    let course = Course::of(scenario, plan.points.len());
    let stop = || ended.get();
    let mut row = Vec::new();
    let mut run = Run::of(scenario).until(&stop);
    if let Some(every) = scenario.duration.as_nanos().checked_div(u64::from(looks)) {
        ended.set(!listener.begin(&course.names()));
        let every = Duration::from_nanos(every).max(course::SHORTEST);
        run = run.watch(Watch::all(every, |look| {
            course.row(&look, &mut row);
            ended.set(ended.get() || !listener.look(&row));
        }));
    }
    let measured = Keep { delays: PacketDelays::Measured, ..Keep::NOTHING };
    let recording = run.record(measured).ok_or("[]")?;
    let losses = course.losses(&recording);
    let outcome = recording.outcome;
    let notes = Note::of_run(scenario, &outcome);
    let sentences: Vec<String> = notes.iter().map(|note| note.sentence(1, 1)).collect();
    let document = document::text(&Single { outcome, notes, timing: None });
    Ok(json!({ "document": document, "losses": losses, "notes": sentences }).to_string())
}

/// X of the throughput equation (RFC 5348 §3.1), bit/s, for segments of `segment` bytes, a
/// round-trip time in seconds and a loss event rate; not a number if that is no probability.
#[must_use]
pub fn allowed(segment: f64, rtt_s: f64, p: f64) -> f64 {
    let rtt = Duration::from_secs_f64(rtt_s);
    Probability::new(p).map_or(f64::NAN, |p| Equation::default().rate(segment, rtt, p).bytes_per_sec() * 8.0)
}
