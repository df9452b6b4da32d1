//! Recordings of packets, read for rate control.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tfrc_capture::document::{Direction, Rates, ReportSeen, Stretch};
use tfrc_capture::{CaptureError, Options, Recording, Tap};
use tfrc_report::document;

use crate::table::{Rows, Table};

/// The meaning of a recording.
#[pyclass(frozen, get_all, name = "NativeCapture", module = "tfrc._native")]
#[derive(Debug)]
pub(crate) struct NativeCapture {
    /// The document that `tfrc capture --json` prints, a line of JSON.
    text: String,
    /// The document in words, as `tfrc capture` prints it.
    words: String,
    /// Rates of each stretch from report to report, at least a round-trip time.
    rounds: Table,
    /// Reports of the receivers.
    reports: Table,
}

/// Reads a capture file. `side` is the place of the tap, `ports` are UDP ports that carry DCCP,
/// `lost` are numbers of the client's data packets that were lost after the tap.
#[pyfunction]
pub(crate) fn capture(
    py: Python<'_>,
    path: PathBuf,
    side: Option<&str>,
    ports: BTreeSet<u16>,
    lost: Option<BTreeSet<u64>>,
) -> PyResult<NativeCapture> {
    let tap = match side {
        None => None,
        Some("client") => Some(Tap::Client),
        Some("server") => Some(Tap::Server),
        Some("middle") => Some(Tap::Middle),
        Some(other) => {
            let text = format!("side {other:?}: it is \"client\", \"server\" or \"middle\"");
            return Err(PyValueError::new_err(text));
        }
    };
    let options = Options { ports, tap, lost };
    let file = File::open(&path)?;
    let recording = py.detach(|| tfrc_capture::read(file, &options)).map_err(|error| match error {
        CaptureError::Read(error) => error.into(),
        error => PyValueError::new_err(format!("{}: {error}", path.display())),
    })?;
    Ok(NativeCapture {
        text: document::text(&recording),
        words: tfrc_capture::text::text(&recording),
        rounds: rounds(&recording).into(),
        reports: reports(&recording).into(),
    })
}

/// The directions of all connections, each with the number of its connection, from 1.
fn directions(recording: &Recording) -> impl Iterator<Item = (u64, &Direction)> {
    (1..)
        .zip(&recording.connections)
        .flat_map(|(n, connection)| connection.directions.iter().map(move |direction| (n, direction)))
}

type Column<T> = (&'static str, fn(&T) -> Option<f64>);

const ROUNDS: [Column<Stretch>; 11] = [
    ("time_s", |round| Some(round.time_s)),
    ("sent_bps", |round| Some(round.sent_bps)),
    ("allowed_bps", |round| Some(round.allowed_bps)),
    ("balanced_bps", |round| Some(round.balanced_bps)),
    ("equation_bps", |round| round.equation_bps),
    ("equation_by_arrivals_bps", |round| round.equation_by_arrivals_bps),
    ("twice_receive_rate_bps", |round| round.twice_receive_rate_bps),
    ("r_s", |round| Some(round.r_s)),
    ("queueing_s", |round| round.queueing_s),
    ("window_bytes", |round| round.window_bytes.map(|window| window as f64)),
    ("lost", |round| round.lost.map(|lost| lost as f64)),
];

const REPORTS: [Column<ReportSeen>; 8] = [
    ("time_s", |report| Some(report.time_s)),
    ("inverse_p", |report| report.inverse_p),
    ("inverse_p_rfc5348", |report| report.inverse_p_rfc5348),
    ("inverse_p_discounted", |report| report.inverse_p_discounted),
    ("inverse_p_same_first", |report| report.inverse_p_same_first),
    ("inverse_p_linux", |report| report.inverse_p_linux),
    ("receive_rate_bps", |report| report.receive_rate_bps),
    ("passed_bps", |report| report.passed_bps),
];

fn rounds(recording: &Recording) -> RecordBatch {
    let words = ["from", "limit", "balanced_limit"];
    let mut rows = Rows::new(&["connection"], &[], words, ROUNDS.map(|(name, _)| name));
    let of_dccp = directions(recording).map(|(n, direction)| (n, &direction.from, &direction.rates));
    let of_quic = (1..).zip(&recording.quic).map(|(n, seen)| (n, &seen.side, &seen.rates));
    let all: Vec<(u64, &String, &Rates)> = of_dccp.chain(of_quic).collect();
    for (n, from, rates) in all {
        for round in &rates.series {
            let row = rows.row().count(n).word(Some(from));
            let row = row.word(Some(&round.limit)).word(Some(&round.balanced_limit));
            ROUNDS.iter().fold(row, |row, (_, value)| row.number(value(round)));
        }
    }
    rows.finish()
}

fn reports(recording: &Recording) -> RecordBatch {
    let counts = ["connection", "packet", "acknowledges"];
    let mut rows = Rows::new(&counts, &[], ["from"], REPORTS.map(|(name, _)| name));
    for (n, direction) in directions(recording) {
        for report in &direction.reports.series {
            let row = rows.row().count(n).count(report.packet).count(report.acknowledges);
            let row = row.word(Some(&direction.from));
            REPORTS.iter().fold(row, |row, (_, value)| row.number(value(report)));
        }
    }
    rows.finish()
}
