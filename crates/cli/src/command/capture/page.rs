//! The page of a recording: curves of rates, of p and of R.

use tfrc_capture::Recording;
use tfrc_capture::document::{Direction, QuicConnection, ReportSeen, RtpFlow, RtpRow, Stretch};
use tfrc_report::pages::figures::{self, Part};
use tfrc_report::plot::{Axis, Curve, Line, Mark, Panel, Point, Scale};

/// The page as HTML.
pub(super) fn page(name: &str, recording: &Recording, text: &str) -> String {
    let mut parts = Vec::new();
    for connection in &recording.connections {
        for direction in connection.directions.iter().filter(|direction| direction.reports.count > 0) {
            let (client, server, from) = (&connection.client, &connection.server, &direction.from);
            let title = format!("{client} to {server}: data of the {from}");
            parts.push(Part { title, panels: panels(direction) });
        }
    }
    for flow in recording.rtp.iter().filter(|flow| !flow.series.is_empty()) {
        parts.push(Part { title: format!("RTP from {} to {}", flow.from, flow.to), panels: of_rtp(flow) });
    }
    for connection in recording.quic.iter().filter(|connection| !connection.rates.series.is_empty()) {
        let (name, side) = (&connection.name, &connection.side);
        parts.push(Part { title: format!("QUIC {name}, recorded by: {side}"), panels: of_quic(connection) });
    }
    figures::page(name, &parts, text)
}

/// Rates, losses, round-trip times and window of a connection of QUIC.
fn of_quic(connection: &QuicConnection) -> Vec<Panel> {
    let stretches = &connection.rates.series;
    let of = |label, ink, value: fn(&Stretch) -> Option<f64>| {
        curve(label, ink, stretches.iter().filter_map(|stretch| Some((stretch.time_s, value(stretch)?))))
    };
    let lost = vec![of("declared lost", "s0", |stretch| stretch.lost.map(|lost| lost as f64))];
    let windows = vec![of("window", "s0", |stretch| stretch.window_bytes.map(|window| window as f64 / 1e3))];
    let panels = vec![panel("Losses", "packets in a row", lost), panel("Congestion window", "kB", windows)];
    let mut all = of_stretches(stretches);
    all.extend(panels);
    all.retain(|panel| !panel.curves.is_empty());
    all
}

/// Rates, losses and queueing delay of a flow of RTP.
fn of_rtp(flow: &RtpFlow) -> Vec<Panel> {
    let of = |label, ink, value: fn(&RtpRow) -> Option<f64>| {
        curve(label, ink, flow.series.iter().filter_map(|row| Some((row.time_s, value(row)?))))
    };
    let rates = vec![
        of("sent", "s0", |row| Some(row.sent_bps / 1e3)),
        of("received", "s1", |row| row.received_bps.map(|rate| rate / 1e3)),
    ];
    let losses = vec![
        of("before the tap", "s0", |row| Some(row.missing_before_tap as f64)),
        of("after the tap", "s1", |row| row.lost.map(|lost| lost as f64)),
    ];
    let waits = vec![of("queueing", "s0", |row| row.queueing_s.map(|delay| delay * 1e3))];
    let panels = [
        panel("Rates", "kbit/s", rates),
        panel("Losses", "packets in a row", losses),
        panel("Queueing delay", "ms", waits),
    ];
    panels.into_iter().filter(|panel| !panel.curves.is_empty()).collect()
}

/// Rates, 1/p and R of one direction.
fn panels(direction: &Direction) -> Vec<Panel> {
    let reports = &direction.reports.series;
    let told = |label, ink, value: fn(&ReportSeen) -> Option<f64>| {
        curve(label, ink, reports.iter().filter_map(|report| Some((report.time_s, value(report)?))))
    };
    let losses = vec![
        told("reported", "s0", |report| report.inverse_p),
        told("RFC 5348 §5.4", "s1", |report| report.inverse_p_rfc5348),
        told("with §5.5", "s2", |report| report.inverse_p_discounted),
        told("Linux 6.1", "s3", |report| report.inverse_p_linux),
    ];
    let mut panels = of_stretches(&direction.rates.series);
    panels.insert(1, panel("Loss event rate", "1/p, packets", losses));
    panels.retain(|panel| !panel.curves.is_empty());
    panels
}

/// Rates, R and queueing delay of stretches.
fn of_stretches(stretches: &[Stretch]) -> Vec<Panel> {
    let of = |label, ink, value: fn(&Stretch) -> Option<f64>| {
        curve(label, ink, stretches.iter().filter_map(|stretch| Some((stretch.time_s, value(stretch)?))))
    };
    let rates = vec![
        of("sent", "s0", |stretch| Some(stretch.sent_bps / 1e3)),
        of("allowed", "s1", |stretch| Some(stretch.allowed_bps / 1e3)),
        of("equation", "s2", |stretch| stretch.equation_bps.map(|rate| rate / 1e3)),
        of("2 X_recv", "s3", |stretch| stretch.twice_receive_rate_bps.map(|rate| rate / 1e3)),
        of("balanced", "s4", |stretch| Some(stretch.balanced_bps / 1e3)),
    ];
    let trips = vec![of("R", "s0", |stretch| Some(stretch.r_s * 1e3))];
    let waits = vec![of("queueing", "s0", |stretch| stretch.queueing_s.map(|delay| delay * 1e3))];
    vec![
        panel("Rates", "kbit/s", rates),
        panel("Round-trip time", "R, ms", trips),
        panel("Queueing delay", "ms", waits),
    ]
}

fn panel(title: &str, unit: &str, curves: Vec<Curve>) -> Panel {
    let curves: Vec<_> = curves.into_iter().filter(|curve| !curve.points.is_empty()).collect();
    let values = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.y));
    let scale = Scale::fitting(values);
    Panel {
        title: title.to_owned(),
        x: Axis::new("time, s".to_owned(), Scale::Linear),
        y: Axis::new(unit.to_owned(), scale),
        curves,
    }
}

fn curve(label: &str, ink: &'static str, points: impl Iterator<Item = (f64, f64)>) -> Curve {
    let points = points.map(|(x, y)| Point { x, y, half: None }).collect();
    Curve { label: label.to_owned(), ink, line: Line::Solid, mark: Mark::None, width: 1.5, points }
}
