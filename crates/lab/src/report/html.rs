//! The page as text: fixed parts inlined, everything of the run escaped.

use std::fmt::{Display, Write};

use serde::Serialize;

use super::chart::{self, Chart, Data, Pen};
use super::words::{self, FLOW_HEADS};
use super::{Run, human};
use crate::record::{Event, Start, Summary};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
pub(crate) const UPLOT_STYLE: &str = include_str!("../../vendor/uplot/uPlot.min.css");
pub(crate) const UPLOT_SCRIPT: &str = include_str!("../../vendor/uplot/uPlot.iife.min.js");

/// The most bytes of raw JSON shown; a stream of records is for larger things.
const MOST_RAW_BYTES: usize = 400_000;

/// What stands under "raw data": all but the intervals, which are the charts' own.
#[derive(Serialize)]
struct Raw<'a> {
    start: &'a Start,
    summary: Option<&'a Summary>,
    events: &'a [Event],
}

pub(super) fn page(run: &Run) -> String {
    let data = chart::data(run);
    let mut out = Page(String::with_capacity(200_000));
    out.head(&run.title);
    out.header(run);
    out.charts(&data);
    out.tables(run);
    out.how(run);
    out.raw(run);
    out.scripts(&data);
    out.0
}

/// The beginning of a page, up to and with the start of `main`; nothing from elsewhere may be loaded into it.
pub(crate) fn head(title: &str, styles: &[&str]) -> String {
    let title = escape(title);
    let styles = styles.join("\n");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{styles}</style>\n</head>\n<body>\n<main>\n"
    )
}

/// A page being written. `tag`-like methods write what they are given as it is; `text` escapes.
struct Page(String);

impl Page {
    fn put(&mut self, html: impl Display) -> &mut Self {
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{html}");
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_str(&escape(text));
        self
    }

    fn head(&mut self, title: &str) {
        self.put(head(title, &[UPLOT_STYLE, STYLE]));
    }

    fn header(&mut self, run: &Run) {
        self.put("<header>\n<p class=\"kind\">").text(&run.title).put("</p>\n<h1>");
        self.text(&run.headline()).put("</h1>\n</header>\n");
        let tiles = words::tiles(run);
        if !tiles.is_empty() {
            self.put("<ul class=\"tiles\">\n");
            for tile in tiles {
                self.put("<li><span class=\"label\">")
                    .text(tile.label)
                    .put("</span><strong>")
                    .text(&tile.value);
                self.put("</strong><span class=\"note\">").text(&tile.note).put("</span></li>\n");
            }
            self.put("</ul>\n");
        }
    }

    fn charts(&mut self, data: &Data) {
        self.put("<section id=\"charts\">\n<h2>Over time</h2>\n");
        if data.charts.is_empty() {
            self.put("<p>Nothing was measured over time in this run.</p>\n</section>\n");
            return;
        }
        self.put(
            "<noscript><p>The charts need scripts; the tables below do not.</p></noscript>\n\
             <p class=\"hint\"><span class=\"screen\">All charts share one time axis. Drag across a chart to zoom, \
             double-click to see the whole run again, click a name to hide its curve. ",
        );
        self.put("</span>A gap in a curve means that nothing is known there.");
        if data.merged > 1 {
            let _ = write!(self.0, " Each point is the mean of {} intervals (queue: the most).", data.merged);
        }
        self.put(" <a id=\"csv\" class=\"screen\" download=\"run.csv\" hidden>Download these values as CSV</a></p>\n");
        for (index, chart) in data.charts.iter().enumerate() {
            self.chart(index, chart, data);
        }
        self.put("</section>\n");
    }

    fn chart(&mut self, index: usize, chart: &Chart, data: &Data) {
        let id = chart.id;
        self.put(format_args!("<figure id=\"{id}\">\n<h3>")).text(chart.title);
        self.put("<output class=\"at\"></output></h3>\n<ul class=\"legend\">\n");
        for (n, series) in chart.series.iter().enumerate() {
            self.put(format_args!(
                "<li><button type=\"button\" aria-pressed=\"true\" data-chart=\"{index}\" data-series=\"{}\">",
                n + 1
            ));
            self.put(sample(series.pen)).put("<span>").text(&series.label);
            self.put("</span></button><output></output></li>\n");
        }
        let ticks = id == "loss" && !data.loss_events_s.is_empty();
        if ticks {
            self.put(
                "<li><span class=\"key\"><svg viewBox=\"0 0 28 12\" aria-hidden=\"true\" class=\"tick\">",
            )
            .put("<path d=\"M6 12V3M14 12V3M22 12V3\"/></svg>loss event</span></li>\n");
        }
        self.put(format_args!(
            "</ul>\n<div class=\"plot\" role=\"img\" aria-label=\"{} over time\">",
            chart.title
        ))
        .put("</div>\n<figcaption>");
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
        for (n, (names, text)) in about.iter().enumerate() {
            self.put(if n == 0 { "<b>" } else { "; <b>" }).text(names).put("</b>: ").text(text);
        }
        if ticks {
            self.put("; <b>ticks</b>: the beginnings of loss events");
        }
        self.put(".</figcaption>\n</figure>\n");
    }

    fn tables(&mut self, run: &Run) {
        let Some(summary) = &run.summary else { return };
        self.put("<section>\n<h2>Summary</h2>\n");
        if summary.flows.len() > 1 {
            self.put("<div class=\"scroll\"><table class=\"flows\">\n<thead><tr>");
            for head in FLOW_HEADS {
                self.put("<th scope=\"col\">").text(head).put("</th>");
            }
            self.put("</tr></thead>\n<tbody>\n");
            for flow in &summary.flows {
                self.put("<tr>");
                for (n, cell) in words::flow_row(flow).iter().enumerate() {
                    let (open, close) =
                        if n == 0 { ("<th scope=\"row\">", "</th>") } else { ("<td>", "</td>") };
                    self.put(open).text(cell).put(close);
                }
                self.put("</tr>\n");
            }
            self.put("</tbody>\n</table></div>\n");
        }
        self.put(
            "<div class=\"scroll\"><table class=\"summary\">\n<thead><tr><th scope=\"col\">Whole run</th>",
        )
        .put("<th scope=\"col\">Value</th><th scope=\"col\">Key in JSON</th></tr></thead>\n<tbody>\n");
        for (name, value, key) in words::rows(summary) {
            self.put("<tr><th scope=\"row\">")
                .text(name)
                .put("</th><td>")
                .text(&value)
                .put("</td><td><code>");
            self.text(key).put("</code></td></tr>\n");
        }
        self.put("</tbody>\n</table></div>\n</section>\n");
    }

    fn how(&mut self, run: &Run) {
        let start = &run.start;
        self.put("<section>\n<h2>How to repeat it</h2>\n<pre class=\"command\"><code>").text(&start.command);
        self.put("</code></pre>\n<dl>\n");
        let mut rows = vec![("Version".to_owned(), start.version.clone())];
        rows.extend(start.peer.iter().map(|p| ("Peer".to_owned(), p.clone())));
        rows.extend(start.segment_bytes.map(|n| ("Packet size".to_owned(), format!("{n} bytes of data"))));
        rows.extend(start.bottleneck_bps.map(|b| ("Bottleneck".to_owned(), human::rate(b))));
        rows.extend(start.parameters.iter().map(|(name, value)| (name.clone(), value.clone())));
        for (name, value) in rows {
            self.put("<div><dt>").text(&name).put("</dt><dd>").text(&value).put("</dd></div>\n");
        }
        self.put("</dl>\n</section>\n");
    }

    fn raw(&mut self, run: &Run) {
        let mut raw = Raw { start: &run.start, summary: run.summary.as_ref(), events: &run.events };
        let mut json = serde_json::to_string_pretty(&raw).unwrap_or_default();
        if json.len() > MOST_RAW_BYTES {
            raw.events = &[];
            json = serde_json::to_string_pretty(&raw).unwrap_or_default();
        }
        self.put("<details>\n<summary>Raw data (JSON)</summary>\n<pre><code>").text(&json);
        self.put("</code></pre>\n</details>\n</main>\n");
    }

    fn scripts(&mut self, data: &Data) {
        self.put("<script type=\"application/json\" id=\"run-data\">").put(json_in_script(data));
        self.put("</script>\n<script>").put(UPLOT_SCRIPT).put("</script>\n<script>\n").put(SCRIPT);
        self.put("</script>\n</body>\n</html>\n");
    }
}

/// A short piece of the curve for the legend: dash, marker and colour come from the style sheet and `page.js`.
fn sample(pen: Pen) -> String {
    let marker = match pen {
        Pen::Allowed | Pen::Rtt | Pen::Loss | Pen::Queue | Pen::Link => "",
        Pen::Send => "<circle cx=\"14\" cy=\"6\" r=\"3.4\"/>",
        Pen::Receive => "<path d=\"M14 1.8l4 7.4h-8z\"/>",
        Pen::Goodput => "<rect x=\"11\" y=\"3\" width=\"6\" height=\"6\"/>",
        Pen::Other1 => "<path d=\"M14 1.6l4.4 4.4-4.4 4.4-4.4-4.4z\"/>",
        Pen::Other2 => "<path d=\"M11 3l6 6M17 3l-6 6\"/>",
        Pen::Other3 => "<path d=\"M14 2v8M10 6h8\"/>",
        Pen::Other4 => "<path d=\"M14 10.2l-4-7.4h8z\"/>",
    };
    // `Pen` serialises to its lower-case name, which the style sheet uses too.
    let name = serde_json::to_value(pen).ok();
    let name = name.as_ref().and_then(serde_json::Value::as_str).unwrap_or("");
    format!(
        "<svg viewBox=\"0 0 28 12\" aria-hidden=\"true\" class=\"pen-{name}\"><path class=\"line\" d=\"M0 6H28\"/>{marker}</svg>"
    )
}

/// Text made safe between tags and inside quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // HTML has no way to write these; a browser would show a box.
            '\u{0}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JSON that no text in it can end early: the characters HTML cares about are written as JSON escapes, which stand
/// only inside strings and so do not change the value.
pub(crate) fn json_in_script(value: &impl Serialize) -> String {
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
