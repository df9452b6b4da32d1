//! The page of a run as HTML: fixed parts inlined, everything of the run escaped.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::chart::{self, Chart, PageData, Pen};
use super::words::{self, DELAY_HEADS, FLOW_HEADS, LINK_HEADS};
use super::{RunRecords, against};
use crate::human;
use crate::record::{Event, Start, Summary};

pub(super) const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const PLOT_STYLE: &str = include_str!("../plot.css");
const UPLOT_STYLE: &str = include_str!("../../vendor/uplot/uPlot.min.css");
const UPLOT_SCRIPT: &str = include_str!("../../vendor/uplot/uPlot.iife.min.js");

/// The most bytes of raw JSON shown; a stream of records is for larger things.
const MOST_RAW_BYTES: usize = 400_000;
/// Sentences on flows next to TCPs in the head of a page.
const MOST_SENTENCES: usize = 4;

/// The part of a page under "raw data": all but the intervals, which the charts hold.
#[derive(Serialize)]
struct Raw<'a> {
    start: &'a Start,
    summary: Option<&'a Summary>,
    events: &'a [Event],
}

pub(super) fn page(run: &RunRecords) -> String {
    let data = chart::data(run);
    let main = html! {
        (header(run))
        (charts(&data))
        @if let Some(summary) = &run.summary { (tables(summary)) }
        (how(&run.start))
        (raw(run))
    };
    document(&run.title, STYLE, &main, ("run-data", &data), SCRIPT)
}

/// A whole page with charts: its content, the data of its charts under an id, and the script that
/// draws them.
fn document(
    title: &str,
    style: &str,
    main: &Markup,
    (id, data): (&str, &impl Serialize),
    script: &str,
) -> String {
    let scripts = html! {
        script type="application/json" id=(id) { (PreEscaped(json_in_script(data))) }
        script { (PreEscaped(UPLOT_SCRIPT)) }
        script { (PreEscaped(script)) }
    };
    written(title, &[UPLOT_STYLE, PLOT_STYLE, style], main, &scripts)
}

/// A whole page that reads without scripts.
#[must_use]
pub fn still(title: &str, style: &str, main: &Markup, script: &str) -> String {
    written(title, &[PLOT_STYLE, style], main, &html! { script { (PreEscaped(script)) } })
}

/// A whole page. Nothing from elsewhere may be loaded into it.
fn written(title: &str, styles: &[&str], main: &Markup, scripts: &Markup) -> String {
    const POLICY: &str =
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                link rel="icon" href="data:,";
                title { (title) }
                style { @for style in styles { (PreEscaped(style)) "\n" } }
            }
            body {
                main { (main) }
                (scripts)
            }
        }
        "\n"
    };
    // HTML has no way to write NUL; a browser would show a box.
    page.into_string().replace('\u{0}', "\u{fffd}")
}

/// A row of column heads.
#[must_use]
pub fn heads<'a>(names: impl IntoIterator<Item = &'a str>) -> Markup {
    html! { thead { tr { @for name in names { th scope="col" { (name) } } } } }
}

fn header(run: &RunRecords) -> Markup {
    let tiles = words::tiles(run);
    html! {
        header {
            p.kind { (run.title) }
            h1 { (run.headline()) }
            @if let Some(fidelity) = run.summary.as_ref().and_then(|summary| summary.fidelity.as_ref()) {
                p.hint { (fidelity.words()) }
            }
            @for note in run.summary.iter().flat_map(|summary| &summary.notes) { p.hint { (note.to_string()) } }
            @for sentence in run.summary.iter().flat_map(|summary| &summary.flows).filter_map(against::sentence).take(MOST_SENTENCES) {
                p.hint { (sentence) }
            }
        }
        @if !tiles.is_empty() {
            ul.tiles {
                @for tile in tiles {
                    li {
                        span.label { (tile.label) }
                        strong { (tile.value) }
                        span.note { (tile.note) }
                    }
                }
            }
        }
    }
}

fn charts(data: &PageData) -> Markup {
    html! {
        section #charts {
            h2 { "Over time" }
            @if data.charts.is_empty() {
                p { "Nothing was measured over time in this run." }
            } @else {
                noscript { p { "The charts need scripts; the tables below do not." } }
                p.hint {
                    span.screen {
                        "All charts share one time axis. Drag across a chart to zoom, double-click to see \
                         the whole run again, click a name to hide its curve. "
                    }
                    "A gap in a curve means that nothing is known there."
                    @if data.merged > 1 {
                        " Each point is the mean of " (data.merged) " intervals (queue: the most)."
                    }
                    " "
                    a #csv.screen download="run.csv" hidden { "Download these values as CSV" }
                }
                @for (index, one) in data.charts.iter().enumerate() { (figure(index, one, data)) }
            }
        }
    }
}

fn figure(index: usize, chart: &Chart, data: &PageData) -> Markup {
    let ticks = chart.id == "loss" && !data.loss_events_s.is_empty();
    let mut about: Vec<(String, &str)> = Vec::new();
    for series in &chart.series {
        match about.iter_mut().find(|(_, text)| *text == series.about) {
            Some((names, _)) => {
                names.push_str(", ");
                names.push_str(&series.label);
            }
            None => about.push((series.label.clone(), series.about)),
        }
    }
    html! {
        figure id=(chart.id) {
            h3 { (chart.title) output.at {} }
            ul.legend {
                @for (n, series) in chart.series.iter().enumerate() {
                    li {
                        button type="button" aria-pressed="true" data-chart=(index) data-series=(n + 1) {
                            (sample(series.pen, series.ink))
                            span { (series.label) }
                        }
                        output {}
                    }
                }
                @if ticks {
                    li {
                        span.key {
                            svg.tick viewBox="0 0 28 12" aria-hidden="true" {
                                path d="M6 12V3M14 12V3M22 12V3" {}
                            }
                            "loss event"
                        }
                    }
                }
            }
            div.plot role="img" aria-label={ (chart.title) " over time" } {}
            figcaption {
                @for (n, (names, text)) in about.iter().enumerate() {
                    @if n > 0 { "; " }
                    b { (names) } ": " (text)
                }
                @if ticks { "; " b { "ticks" } ": the beginnings of loss events" }
                "."
                @if chart.top.is_some() { " X is cut off at the top." }
            }
        }
    }
}

fn tables(summary: &Summary) -> Markup {
    html! {
        section {
            h2 { "Summary" }
            @if summary.flows.len() > 1 || (!summary.links.is_empty() && !summary.flows.is_empty()) {
                (rows_of(FLOW_HEADS, summary.flows.iter().map(words::flow_row)))
            }
            @if summary.flows.iter().any(words::has_delays) {
                (rows_of(DELAY_HEADS, words::delay_rows(summary)))
            }
            @if !summary.links.is_empty() {
                (rows_of(LINK_HEADS, summary.links.iter().map(words::link_row)))
            }
            div.scroll {
                table.summary {
                    (heads(["Whole run", "Value", "Key in JSON"]))
                    tbody {
                        @for (name, value, key) in words::rows(summary) {
                            tr { th scope="row" { (name) } td { (value) } td { code { (key) } } }
                        }
                    }
                }
            }
        }
    }
}

/// A table of flows or links, of each a row that begins with its name.
pub(super) fn rows_of<const N: usize>(names: [&str; N], rows: impl Iterator<Item = [String; N]>) -> Markup {
    html! {
        div.scroll {
            table.flows {
                (heads(names))
                tbody {
                    @for row in rows {
                        tr {
                            @for (place, cell) in row.iter().enumerate() {
                                @if place == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn how(start: &Start) -> Markup {
    let mut rows = vec![("Version".to_owned(), start.version.clone())];
    rows.extend(start.peer.iter().map(|p| ("Peer".to_owned(), p.clone())));
    rows.extend(start.segment_bytes.map(|n| ("Packet size".to_owned(), format!("{n} bytes of data"))));
    rows.extend(start.bottleneck_bps.map(|b| ("Bottleneck".to_owned(), human::rate(b))));
    rows.extend(start.parameters.iter().map(|(name, value)| (name.clone(), value.clone())));
    html! {
        section {
            h2 { "How to repeat it" }
            pre.command { code { (start.command) } }
            dl { @for (name, value) in rows { div { dt { (name) } dd { (value) } } } }
        }
    }
}

fn raw(run: &RunRecords) -> Markup {
    let mut raw = Raw { start: &run.start, summary: run.summary.as_ref(), events: &run.events };
    let mut json = serde_json::to_string_pretty(&raw).unwrap_or_default();
    if json.len() > MOST_RAW_BYTES {
        raw.events = &[];
        json = serde_json::to_string_pretty(&raw).unwrap_or_default();
    }
    html! { details { summary { "Raw data (JSON)" } pre { code { (json) } } } }
}

/// A short piece of the curve for the legend: dash, marker and colour come from the style sheet and
/// `page.js`.
fn sample(pen: Pen, ink: &str) -> Markup {
    // `Pen` serialises to its lower-case name, which the style sheet uses too.
    let name = serde_json::to_value(pen).ok();
    let name = name.as_ref().and_then(serde_json::Value::as_str).unwrap_or("");
    html! {
        svg viewBox="0 0 28 12" aria-hidden="true" class={ "pen-" (name) } style={ "--pen: var(--" (ink) ")" } {
            path.line d="M0 6H28" {}
            @match pen {
                Pen::Allowed | Pen::Rtt | Pen::Loss | Pen::Queue | Pen::Link => {},
                Pen::Send => circle cx="14" cy="6" r="3.4" {},
                Pen::Receive => path d="M14 1.8l4 7.4h-8z" {},
                Pen::Goodput => rect x="11" y="3" width="6" height="6" {},
                Pen::Other1 => path d="M14 1.6l4.4 4.4-4.4 4.4-4.4-4.4z" {},
                Pen::Other2 => path d="M11 3l6 6M17 3l-6 6" {},
                Pen::Other3 => path d="M14 2v8M10 6h8" {},
                Pen::Other4 => path d="M14 10.2l-4-7.4h8z" {},
            }
        }
    }
}

/// JSON that no text in it can end early: the characters that HTML cares about are written as JSON
/// escapes, which stand only inside strings and so do not change the value.
fn json_in_script(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '&' | '<' | '>' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
