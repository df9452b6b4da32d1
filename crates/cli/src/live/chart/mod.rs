//! The chart of a run: rates, loss events, queue and round-trip time over one axis of time.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Line as Stroke, Points};
use tfrc_report::human;
use tfrc_report::plot::ink_of;

use super::model::{Curve, Flow, LinkLoss, LinkRate, Model, View};
use super::scale::{figure, round_up, unit};

/// Columns of the labels at the left of each plot.
const GUTTER: u16 = 6;
/// The least size of a plot; below it there is text only.
const LEAST: (u16, u16) = (50, 9);
/// Heights from which the queue and the round-trip time have plots.
const WITH_QUEUE: u16 = 14;
const WITH_RTT: u16 = 20;

/// Shades of TFRC's colour, of TCP's, and of other flows': the hues of the pages' drawings.
const TFRCS: [Color; 5] = [Color::Cyan, Color::Blue, Color::LightCyan, Color::LightBlue, Color::Indexed(37)];
const TCPS: [Color; 5] =
    [Color::Magenta, Color::LightMagenta, Color::Indexed(133), Color::Indexed(176), Color::Indexed(97)];
const DCCPS: [Color; 2] = [Color::Green, Color::LightGreen];
const OTHERS: [Color; 2] = [Color::Yellow, Color::LightYellow];
const OWN: Color = TFRCS[0];
const REFERENCE: Color = Color::Gray;
const LOSS: Color = Color::Red;
const NOTE: Color = Color::Yellow;

/// Draws a run into an area of any size.
pub fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let (mut top, mut bottom) = (area.top(), area.bottom());
    let row = |y: u16| Rect { y, height: 1, ..area };
    header(model, area.width).render(row(top), buffer);
    top += 1;
    if area.width < LEAST.0 || area.height < LEAST.1 {
        text(model, Rect { y: top, height: bottom - top, ..area }, buffer);
        return;
    }
    legend(model, area.width).render(row(top), buffer);
    top += 1;
    bottom -= 1;
    footer(model, area.width).render(row(bottom), buffer);
    bottom -= 1;
    time_axis(model, row(bottom), buffer);

    let block = ((area.height - 5) / 4).max(4);
    if area.height >= WITH_RTT {
        bottom -= block;
        let rtt_ms: Curve = model.rtt.iter().map(|(at, rtt)| (*at, rtt * 1e3)).collect();
        let most = rtt_ms.iter().map(|(_, ms)| *ms).fold(0.0, f64::max);
        let now = model.rtt.back().map_or("-".to_owned(), |(_, rtt)| human::time(*rtt));
        heading(&format!("round-trip time {}", plain(&now)), row(bottom), buffer);
        let place = Rect { y: bottom + 1, height: block - 1, ..area };
        let plot = Plot { label: "ms", end: round_up(most), curves: vec![(&rtt_ms, OWN)], dotted: None };
        plot.draw(model, place, buffer);
    }
    if area.height >= WITH_QUEUE && model.config.view != View::Receiver {
        bottom -= block;
        let most = model.queue.iter().map(|(_, packets)| *packets).fold(0.0, f64::max);
        let limit = model.config.queue_limit;
        let now = model.queue.back().map_or("-".to_owned(), |(_, packets)| format!("{packets:.0}"));
        let of = limit.map_or(String::new(), |limit| format!(" of {limit:.0}"));
        let words = match model.config.view {
            View::Sender => format!("queue of the sender {now} datagrams"),
            _ => format!("queue {now}{of} packets"),
        };
        heading(&words, row(bottom), buffer);
        let end = limit.map_or(round_up(most), |limit| limit.max(most));
        let place = Rect { y: bottom + 1, height: block - 1, ..area };
        Plot { label: "", end, curves: vec![(&model.queue, Color::White)], dotted: None }
            .draw(model, place, buffer);
    }
    bottom -= 1;
    losses(model, row(bottom), buffer);

    let greatest = model.greatest_rate();
    let (unit, size) = unit(greatest);
    let scaled = |curve: &Curve| -> Curve { curve.iter().map(|(at, rate)| (*at, rate / size)).collect() };
    let rates: Vec<(Curve, Color)> =
        model.flows.iter().map(|flow| (scaled(&flow.rate), colour(model, flow))).collect();
    // The run's own flow is drawn last, over the others.
    let curves = rates.iter().rev().map(|(curve, colour)| (curve, *colour)).collect();
    let reference = scaled(&model.reference);
    let dotted = Some((&reference, REFERENCE));
    let plot = Plot { label: unit, end: round_up(greatest / size), curves, dotted };
    plot.draw(model, Rect { y: top, height: bottom.saturating_sub(top), ..area }, buffer);
}

/// One plot over the common axis of time; values go from zero to `end`.
struct Plot<'a> {
    label: &'a str,
    end: f64,
    curves: Vec<(&'a Curve, Color)>,
    dotted: Option<(&'a Curve, Color)>,
}

impl Plot<'_> {
    fn draw(&self, model: &Model, area: Rect, buffer: &mut Buffer) {
        let inner = graph(area);
        let span = model.span();
        if inner.is_empty() {
            return;
        }
        gutter(&label(self.end), area.top(), area, buffer);
        if area.height > 2 {
            gutter(self.label, area.top() + 1, area, buffer);
        }
        gutter("0", area.bottom() - 1, area, buffer);
        let dots = self.dotted.map(|(curve, colour)| (dots(curve, span, inner.width), colour));
        let canvas =
            Canvas::default().x_bounds([span.0, span.1]).y_bounds([0.0, self.end]).paint(|painter| {
                if let Some((coords, color)) = &dots {
                    painter.draw(&Points { coords, color: *color });
                }
                for (curve, color) in &self.curves {
                    for (a, b) in curve.iter().zip(curve.iter().skip(1)) {
                        let high = |value: f64| value.min(self.end);
                        painter.draw(&Stroke {
                            x1: a.0,
                            y1: high(a.1),
                            x2: b.0,
                            y2: high(b.1),
                            color: *color,
                        });
                    }
                }
            });
        canvas.render(inner, buffer);
    }
}

/// The part of a plot's area that is right of the labels.
fn graph(area: Rect) -> Rect {
    let gutter = GUTTER.min(area.width);
    Rect { x: area.x + gutter, width: (area.width - gutter).saturating_sub(1), ..area }
}

/// One point of a curve for every second column of a graph of `width` columns.
fn dots(curve: &Curve, span: (f64, f64), width: u16) -> Vec<(f64, f64)> {
    let step = (span.1 - span.0) / f64::from(width.max(1)) * 2.0;
    let last = curve.back().map_or(span.0, |(at, _)| *at);
    let mut points = Vec::new();
    let mut at = span.0;
    while at <= last {
        let next = curve.partition_point(|(t, _)| *t <= at);
        if let Some((_, value)) = curve.get(next.saturating_sub(1)) {
            points.push((at, *value));
        }
        at += step;
    }
    points
}

/// The colour of a flow: one of its kind's shades.
fn colour(model: &Model, flow: &Flow) -> Color {
    let others = flow.number.saturating_sub(1);
    let (shades, n): (&[Color], usize) = match (model.config.view, flow.number, ink_of(&flow.name)) {
        (View::Receiver | View::Sender, n, _) | (View::Contest, n @ 0, _) => (&TFRCS, n),
        (View::Network, 0, _) => (&[Color::White], 0),
        (.., "s0") => (&TFRCS, others),
        (.., "s1") => (&TCPS, others),
        (.., "s2") => (&DCCPS, others),
        _ => (&OTHERS, others),
    };
    shades.get(n % shades.len().max(1)).copied().unwrap_or(OWN)
}

fn plain(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

/// A number at the end of an axis.
fn label(value: f64) -> String {
    if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn gutter(text: &str, y: u16, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(GUTTER.min(area.width));
    let text = format!("{text:>w$} ", w = width.saturating_sub(1));
    buffer.set_stringn(area.x, y, text, width, Style::new().fg(REFERENCE));
}

fn heading(text: &str, row: Rect, buffer: &mut Buffer) {
    buffer.set_stringn(row.x + 1, row.y, text, usize::from(row.width).saturating_sub(1), Style::new());
}

fn header(model: &Model, width: u16) -> Line<'static> {
    let time = match model.config.duration_s {
        Some(duration) => format!("{:.1} of {duration} s", model.seconds()),
        None => format!("{:.1} s", model.seconds()),
    };
    let link = model.link_rate_bps.map(|rate| format!("link {}", plain(&human::rate(rate))));
    let loss = model.config.controls.map(|controls| match controls.loss {
        LinkLoss::Off => "no random loss".to_owned(),
        LinkLoss::On => "2 % random loss".to_owned(),
    });
    let open = match (model.config.view, model.open()) {
        (View::Receiver, 1) => Some("1 connection".to_owned()),
        (View::Receiver, open) => Some(format!("{open} connections")),
        _ => None,
    };
    let late = match (model.config.view, model.late) {
        (View::Sender, (late, all)) => {
            Some(format!("dropped late {}", plain(&human::percent(late as f64 / all.max(1) as f64))))
        }
        _ => None,
    };
    // The loss event rate of one of several connections would say little.
    let p = model.loss_event_rate.filter(|_| model.open() == 1 || model.config.view != View::Receiver);
    let p = p.map(|p| format!("p {}", human::number(p)));
    let mut spans =
        vec![Span::styled(format!(" {}", model.config.title), Style::new().add_modifier(Modifier::BOLD))];
    let mut used = spans.iter().map(Span::width).sum::<usize>();
    for part in [Some(time), open, link, loss, p, late].into_iter().flatten() {
        let span = Span::raw(format!("   {part}"));
        if used + span.width() <= usize::from(width) {
            used += span.width();
            spans.push(span);
        }
    }
    Line::from(spans)
}

/// The colours and rates of the flows, as many as fit. A fair share leaves its room to them; the
/// allowed rate of a sender does not.
fn legend(model: &Model, width: u16) -> Line<'static> {
    let (unit, size) = unit(model.greatest_rate());
    let reference = model.reference.back().map(|(_, rate)| {
        let words = format!("   ┈┈ {} {}", reference_name(model), figure(rate / size));
        Span::styled(words, Style::new().fg(REFERENCE))
    });
    let unit = Span::raw(format!("   {unit}"));
    let flows = model.running().enumerate();
    let all: Vec<Span<'static>> = flows
        .map(|(n, flow)| {
            let before = if n == 0 { " " } else { "   " };
            let words = format!("{before}━━ {} {}", flow.name, figure(flow.now() / size));
            Span::styled(words, Style::new().fg(colour(model, flow)))
        })
        .collect();
    let columns = |spans: &[Span<'_>]| spans.iter().map(Span::width).sum::<usize>();
    let fits_beside = |one: &Span<'_>| columns(&all) + one.width() + unit.width() <= usize::from(width);
    let reference = reference.filter(|one| model.config.view == View::Sender || fits_beside(one));
    let ends: Vec<Span<'static>> = reference.into_iter().chain([unit]).collect();
    let room = usize::from(width).saturating_sub(columns(&ends));
    let more = |shown: usize| format!("   +{} more", all.len() - shown);
    let fits = |shown: usize| {
        let words = if shown == all.len() { 0 } else { more(shown).len() };
        columns(all.get(..shown).unwrap_or_default()) + words <= room
    };
    let shown = (0..=all.len()).rev().find(|shown| fits(*shown)).unwrap_or(0);
    let mut spans: Vec<Span<'static>> = all.iter().take(shown).cloned().collect();
    if shown < all.len() {
        spans.push(Span::raw(more(shown)));
    }
    spans.extend(ends);
    Line::from(spans)
}

/// Name of the rate that the others are compared with.
const fn reference_name(model: &Model) -> &'static str {
    match model.config.view {
        View::Sender => "allowed",
        _ => "fair share",
    }
}

/// Without room for plots: a flow on each line.
fn text(model: &Model, area: Rect, buffer: &mut Buffer) {
    let (unit, size) = unit(model.greatest_rate());
    let flows = model.running();
    let mut lines: Vec<Line<'_>> = flows
        .map(|flow| {
            let words = format!(" {} {} {unit}", flow.name, figure(flow.now() / size));
            Line::styled(words, Style::new().fg(colour(model, flow)))
        })
        .collect();
    if let Some((_, rate)) = model.reference.back() {
        let words = format!(" {} {} {unit}", reference_name(model), figure(rate / size));
        lines.insert(lines.len().min(1), Line::raw(words));
    }
    for (line, y) in lines.into_iter().zip(area.top()..area.bottom()) {
        line.render(Rect { y, height: 1, ..area }, buffer);
    }
}

/// A tick for each loss event, below the rates.
fn losses(model: &Model, row: Rect, buffer: &mut Buffer) {
    gutter("loss", row.y, row, buffer);
    let inner = graph(row);
    for at in &model.losses {
        if let Some(x) = column(*at, model.span(), inner) {
            buffer.set_string(x, row.y, "│", Style::new().fg(LOSS));
        }
    }
}

/// The column of a time.
fn column(at: f64, (from, to): (f64, f64), inner: Rect) -> Option<u16> {
    if inner.width == 0 || !(from..=to).contains(&at) || to <= from {
        return None;
    }
    let part = (at - from) / (to - from) * f64::from(inner.width - 1);
    Some(inner.x + (part.round() as u16).min(inner.width - 1))
}

fn time_axis(model: &Model, row: Rect, buffer: &mut Buffer) {
    let inner = graph(row);
    let (from, to) = model.span();
    let labels = f64::from(inner.width) / 12.0;
    let step = round_up((to - from) / labels.max(1.0)).max(1.0).ceil();
    let mut at = (from / step).ceil() * step;
    while at <= to {
        let text = format!("{at:.0} s");
        if let Some(x) = column(at, (from, to), inner)
            && usize::from(x) + text.len() <= usize::from(row.right())
        {
            buffer.set_string(x, row.y, text, Style::new().fg(REFERENCE));
        }
        at += step;
    }
}

/// The keys and the latest note.
fn footer(model: &Model, width: u16) -> Line<'static> {
    let mut keys = Vec::new();
    if let Some(controls) = model.config.controls {
        keys.push((
            "h",
            if controls.rate == LinkRate::Whole { "halve the rate" } else { "restore the rate" },
        ));
        keys.push(("l", if controls.loss == LinkLoss::Off { "lose 2 %" } else { "stop the loss" }));
        if controls.spare_tcps > 0 {
            keys.push(("t", "one TCP more"));
        }
    }
    keys.push(("q", "end"));
    let spans = keys.into_iter().flat_map(|(key, words)| {
        let key = Span::styled(format!(" {key} "), Style::new().add_modifier(Modifier::REVERSED));
        [Span::raw(" "), key, Span::raw(format!(" {words} "))]
    });
    let mut spans: Vec<Span<'static>> = spans.collect();
    if let Some(note) = &model.note {
        let used = spans.iter().map(Span::width).sum::<usize>();
        let room = usize::from(width).saturating_sub(used + 3);
        let note = fitted(note, room);
        spans.push(Span::styled(format!("  {note}"), Style::new().fg(NOTE)));
    }
    Line::from(spans)
}

/// A text in this many columns: whole words, and `…` for those that have no room. Nothing if less
/// than half of it has.
fn fitted(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut shown = String::new();
    for word in text.split(' ') {
        if shown.chars().count() + word.chars().count() + 1 >= room {
            break;
        }
        shown += word;
        shown.push(' ');
    }
    if 2 * shown.chars().count() < text.chars().count() { String::new() } else { shown + "…" }
}

#[cfg(test)]
mod tests;
