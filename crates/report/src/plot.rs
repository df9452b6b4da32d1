//! Figures as SVG: panels with axes, and curves that differ in colour, dash and mark. All pages and
//! files draw with it what is not drawn over time by a browser.

use std::fmt::Write;

use serde::Deserialize;

use tfrc_units::saturating;

/// Width and height of a panel, user units: a point each on paper.
const SIZE: (f64, f64) = (420.0, 290.0);
/// Space between the panels of a file.
const SPACE: f64 = 12.0;
/// Marks of curves that are one of several, in their order.
pub const MARKS: [Mark; 5] = [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond, Mark::Cross];
/// Lines of curves that share a colour, in their order.
const LINES: [Line; 4] = [Line::Solid, Line::Dashed("6 3"), Line::Dashed("2 2.5"), Line::Dashed("9 3 2 3")];

/// The lines of curves of these inks: curves that share a colour differ in their line.
#[must_use]
pub fn lines(inks: &[&'static str]) -> Vec<Line> {
    let before = |n: usize| inks[..n].iter().filter(|ink| **ink == inks[n]).count();
    (0..inks.len()).map(|n| LINES[before(n) % LINES.len()]).collect()
}

/// The colour of a kind of flow, by its class: the same on every page.
#[must_use]
pub fn ink_of(kind: &str) -> &'static str {
    match kind.split('-').next() {
        Some("tfrc") => "s0",
        Some("tcp") => "s1",
        Some("dccp") => "s2",
        Some("cbr" | "onoff" | "web") => "s3",
        _ => "s4",
    }
}

/// The colours of [`ink_of`] on white, for other programs that draw.
#[must_use]
pub fn colour_of(kind: &str) -> &'static str {
    match ink_of(kind) {
        "s0" => "#0072b2",
        "s1" => "#b4508f",
        "s2" => "#007f5f",
        "s3" => "#a06a00",
        _ => "#59616b",
    }
}

/// Colours of a figure that stands alone, on white; pages have those of `plot.css` for the same
/// classes.
const STYLE: &str = "text{fill:#16191d;stroke:none}.grid{stroke:#e6e9ec}.axis{stroke:#59616b}\
    .ink,.published{stroke:#16191d}.ns2{stroke:#a06a00}.measured,.s0{stroke:#0072b2}.rfc,.s2{stroke:#007f5f}\
    .emulated,.s1{stroke:#b4508f}.s3{stroke:#a06a00}.s4{stroke:#59616b}.open{fill:#ffffff}";

/// A logarithmic axis where values differ by more than this.
const WIDE: f64 = 30.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
/// Width of a letter of the legend: a guess that is rather too wide.
const LETTER: f64 = 7.0;
const LINE: f64 = 16.0;
/// Labels below the axis that fit next to each other.
const MOST_LABELS: usize = 7;

/// A panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Text above it; may be empty.
    pub title: String,
    /// The axis below.
    pub x: Axis,
    /// The axis at the left.
    pub y: Axis,
    /// The curves, the first below the others.
    pub curves: Vec<Curve>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Its quantity, with the unit.
    pub title: String,
    /// Its division.
    pub scale: Scale,
    /// Labels at their places; round numbers without.
    pub labels: Option<Vec<(f64, String)>>,
    /// Ends of the axis; from the points without.
    pub range: Option<[f64; 2]>,
}

impl Axis {
    /// An axis that its points divide.
    #[must_use]
    pub const fn new(title: String, scale: Scale) -> Self {
        Self { title, scale, labels: None, range: None }
    }

    /// An axis of names at 0, 1, 2 …, whose places are not a quantity.
    #[must_use]
    pub fn of_names(title: String, names: impl IntoIterator<Item = String>) -> Self {
        let labels: Vec<(f64, String)> = (0..).map(f64::from).zip(names).collect();
        let range = Some([-0.5, labels.len() as f64 - 0.5]);
        Self { title, scale: Scale::Linear, labels: Some(labels), range }
    }
}

/// Division of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart.
    Logarithmic,
}

impl Scale {
    /// A logarithmic scale for positive values of which the largest is more than 30 times the
    /// smallest.
    #[must_use]
    pub fn fitting(values: impl Iterator<Item = f64>) -> Self {
        let (least, most) =
            values.fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(v), most.max(v)));
        match least > 0.0 && most / least > WIDE {
            true => Self::Logarithmic,
            false => Self::Linear,
        }
    }
}

/// A curve; the first of those with one label stands in the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name in the legend; none if empty.
    pub label: String,
    /// Class that has the colour.
    pub ink: &'static str,
    /// Line between its points.
    pub line: Line,
    /// Mark of its points.
    pub mark: Mark,
    /// Width of the line, user units.
    pub width: f64,
    /// The points, from left to right.
    pub points: Vec<Point>,
}

/// Line between the points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// Lengths of its dashes and gaps.
    Dashed(&'static str),
    /// Points on their own.
    None,
    /// A line without gaps.
    Solid,
}

/// Mark of each point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A ring.
    Circle,
    /// Two strokes.
    Cross,
    /// A square on its corner.
    Diamond,
    /// Nothing: the line alone.
    None,
    /// A square.
    Square,
    /// A triangle.
    Triangle,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Value along the axis below.
    pub x: f64,
    /// Value along the axis at the left.
    pub y: f64,
    /// Half the width of its interval.
    pub half: Option<f64>,
}

/// Places of values along an axis of the paper.
struct Ruler {
    scale: Scale,
    /// Values at the ends.
    ends: [f64; 2],
    /// Their places.
    at: [f64; 2],
}

impl Ruler {
    fn place(&self, value: f64) -> f64 {
        let of = |v: f64| match self.scale {
            Scale::Linear => v,
            Scale::Logarithmic => v.max(f64::MIN_POSITIVE).log10(),
        };
        let [low, high] = self.ends.map(of);
        let part = if high > low { (of(value) - low) / (high - low) } else { 0.5 };
        short(self.at[0] + (self.at[1] - self.at[0]) * part.clamp(-0.02, 1.02))
    }

    fn ticks(&self) -> Vec<f64> {
        let [low, high] = self.ends;
        let inside = |tick: &f64| *tick >= low * (1.0 - 1e-9) - 1e-300 && *tick <= high * (1.0 + 1e-9);
        match self.scale {
            Scale::Linear => {
                let step = step(high - low);
                let first = (low / step - 1e-9).ceil();
                (0..10_u8).map(|n| (first + f64::from(n)) * step).filter(inside).collect()
            }
            Scale::Logarithmic => {
                let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
                let parts: &[f64] = if to - from <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let every = |power: i32| parts.iter().map(move |part| part * 10_f64.powi(power));
                (from..=to).flat_map(every).filter(inside).collect()
            }
        }
    }
}

impl Panel {
    /// The panel as an element of a page, whose style has its colours; `about` names it for those
    /// who do not see it, if it has no title.
    #[must_use]
    pub fn element(&self, about: &str) -> String {
        let (width, height) = SIZE;
        let label = if self.title.is_empty() { about } else { &self.title };
        format!(
            "<svg class=\"figure\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
            escaped(label),
            self.group((0.0, 0.0))
        )
    }

    /// The panel as a group with its corner at a place.
    fn group(&self, at: (f64, f64)) -> String {
        let (width, height) = SIZE;
        let mut svg = format!(
            "<g transform=\"translate({} {})\" fill=\"none\" stroke-width=\"1\">\n",
            short(at.0),
            short(at.1)
        );
        let mut top = 8.0;
        if !self.title.is_empty() {
            top += LINE;
            text(
                &mut svg,
                (width / 2.0, top - 3.0),
                "text-anchor=\"middle\" font-weight=\"bold\"",
                &self.title,
            );
        }
        top = self.legend(&mut svg, top) + 6.0;
        let bottom = height - if self.is_slanted() { 92.0 } else { 40.0 };
        let x = self.ruler(&self.x, |p| [p.x, p.x], [LEFT, width - RIGHT]);
        let y = self.ruler(
            &self.y,
            |p| [p.y - p.half.unwrap_or(0.0), p.y + p.half.unwrap_or(0.0)],
            [bottom, top],
        );
        self.axes(&mut svg, &x, &y);
        for curve in &self.curves {
            draw(&mut svg, curve, &x, &y);
        }
        svg.push_str("</g>\n");
        svg
    }

    fn is_slanted(&self) -> bool {
        self.x.labels.as_ref().is_some_and(|labels| {
            labels.len() > MOST_LABELS
                || labels.iter().any(|(_, name)| name.chars().count() * labels.len() > 58)
        })
    }

    /// The legend, from a height on; returns where it ends.
    fn legend(&self, svg: &mut String, top: f64) -> f64 {
        let mut labels: Vec<&str> = Vec::new();
        let (mut x, mut line) = (LEFT, top + LINE);
        for curve in self.curves.iter().filter(|curve| !curve.label.is_empty()) {
            if labels.contains(&curve.label.as_str()) {
                continue;
            }
            labels.push(&curve.label);
            let long = 42.0 + LETTER * curve.label.chars().count() as f64;
            if x > LEFT && x + long > SIZE.0 {
                (x, line) = (LEFT, line + LINE);
            }
            let y = line - 5.0;
            let _ = writeln!(
                svg,
                "<g class=\"{}\">{}{}</g>",
                curve.ink,
                stroke(curve, &format!("{x} {y}h26")),
                mark(curve.mark, x + 13.0, y)
            );
            text(svg, (x + 31.0, line - 1.0), "", &curve.label);
            x += long;
        }
        if labels.is_empty() { top } else { line }
    }

    fn ruler(&self, axis: &Axis, reach: impl Fn(&Point) -> [f64; 2], at: [f64; 2]) -> Ruler {
        let points = self.curves.iter().flat_map(|curve| &curve.points).flat_map(reach);
        let is_drawn = |v: &f64| v.is_finite() && (axis.scale == Scale::Linear || *v > 0.0);
        let (mut low, mut high) = points
            .filter(is_drawn)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        let is_upright = at[0] > at[1];
        let ends = match (axis.range, axis.scale) {
            (Some(ends), _) => ends,
            (None, Scale::Logarithmic) => [low / 1.15, high * 1.15],
            (None, Scale::Linear) if is_upright => match (low.min(0.0), high.max(0.0)) {
                (low, high) if high > low => [low * 1.06, high * 1.06],
                _ => [0.0, 1.0],
            },
            (None, Scale::Linear) => {
                let margin = if high > low { (high - low) * 0.03 } else { 1.0 };
                [low - margin, high + margin]
            }
        };
        Ruler { scale: axis.scale, ends, at }
    }

    fn axes(&self, svg: &mut String, x: &Ruler, y: &Ruler) {
        let ([left, right], [bottom, top]) = (x.at, y.at);
        for tick in y.ticks() {
            let at = y.place(tick);
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{left} {at}H{right}\"/>");
            text(svg, (left - 6.0, at + 4.0), "text-anchor=\"end\"", &digits(tick));
        }
        match &self.x.labels {
            None => {
                let mut free = f64::NEG_INFINITY;
                for tick in x.ticks() {
                    let (at, label) = (x.place(tick), digits(tick));
                    let half = LETTER * label.len() as f64 / 2.0;
                    let _ = writeln!(svg, "<path class=\"axis\" d=\"M{at} {bottom}v4\"/>");
                    if at - half > free {
                        text(svg, (at, bottom + 16.0), "text-anchor=\"middle\"", &label);
                        free = at + half + 4.0;
                    }
                }
            }
            Some(labels) => {
                let every = labels.len().div_ceil(22).max(1);
                for (place, name) in labels.iter().step_by(every) {
                    let at = x.place(*place);
                    if self.is_slanted() {
                        let style =
                            format!("text-anchor=\"end\" transform=\"rotate(-38 {at} {})\"", bottom + 14.0);
                        text(svg, (at, bottom + 14.0), &style, &cut(name, 14));
                    } else {
                        text(svg, (at, bottom + 16.0), "text-anchor=\"middle\"", name);
                    }
                }
            }
        }
        let _ = writeln!(svg, "<path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/>");
        text(svg, (f64::midpoint(left, right), SIZE.1 - 6.0), "text-anchor=\"middle\"", &self.x.title);
        let middle = f64::midpoint(top, bottom);
        let style = format!("text-anchor=\"middle\" transform=\"rotate(-90 13 {middle})\"");
        text(svg, (13.0, middle), &style, &cut(&self.y.title, 40));
    }
}

/// Panels as a file of its own, several in rows; `None` without panels.
#[must_use]
pub fn file(title: &str, panels: &[Panel]) -> Option<String> {
    let across = match panels.len() {
        0 => return None,
        1 => 1,
        2..=4 => 2,
        _ => 3,
    };
    let place = |n: usize| ((n % across) as f64 * (SIZE.0 + SPACE), (n / across) as f64 * (SIZE.1 + SPACE));
    let (width, height) = (
        across as f64 * (SIZE.0 + SPACE) - SPACE,
        panels.len().div_ceil(across) as f64 * (SIZE.1 + SPACE) - SPACE,
    );
    let panels: String = panels.iter().enumerate().map(|(n, panel)| panel.group(place(n))).collect();
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" \
         font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\" \
         font-size=\"12\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{panels}</svg>\n",
        escaped(title)
    ))
}

fn draw(svg: &mut String, curve: &Curve, x: &Ruler, y: &Ruler) {
    let is_drawn = |point: &&Point| y.scale == Scale::Linear || point.y > 0.0;
    let points: Vec<(&Point, f64, f64)> =
        curve.points.iter().filter(is_drawn).map(|p| (p, x.place(p.x), y.place(p.y))).collect();
    let _ = write!(svg, "<g class=\"{}\">", curve.ink);
    if points.len() > 1 {
        let line: Vec<String> = points.iter().map(|(_, x, y)| format!("{x} {y}")).collect();
        svg.push_str(&stroke(curve, &line.join("L")));
    }
    for (point, x_at, y_at) in points {
        svg.push_str(&mark(curve.mark, x_at, y_at));
        // Over the mark, and wider: a narrow interval would be hidden behind it.
        if let Some(half) = point.half.filter(|half| *half > 0.0) {
            let (low, high) = (y.place(point.y - half), y.place(point.y + half));
            let left = short(x_at - 4.5);
            let _ = write!(svg, "<path d=\"M{x_at} {low}V{high}M{left} {low}h9M{left} {high}h9\"/>");
        }
    }
    svg.push_str("</g>\n");
}

/// The line of a curve; nothing if its points are not joined.
fn stroke(curve: &Curve, path: &str) -> String {
    let width = curve.width;
    match curve.line {
        Line::None => String::new(),
        Line::Solid => format!("<path d=\"M{path}\" stroke-width=\"{width}\"/>"),
        Line::Dashed(dash) => {
            format!("<path d=\"M{path}\" stroke-width=\"{width}\" stroke-dasharray=\"{dash}\"/>")
        }
    }
}

fn mark(mark: Mark, x: f64, y: f64) -> String {
    let path = match mark {
        Mark::Circle => {
            return format!("<circle class=\"open\" cx=\"{x}\" cy=\"{y}\" r=\"3\" stroke-width=\"1.4\"/>");
        }
        Mark::None => return String::new(),
        Mark::Cross => "m-3 -3l6 6m0 -6l-6 6",
        Mark::Diamond => "m0 -4l4 4l-4 4l-4 -4z",
        Mark::Square => "m-3 -3h6v6h-6z",
        Mark::Triangle => "m0 -4l4 7h-8z",
    };
    format!("<path class=\"open\" d=\"M{x} {y}{path}\" stroke-width=\"1.4\"/>")
}

/// A line of text, escaped.
fn text(svg: &mut String, at: (f64, f64), style: &str, words: &str) {
    let gap = if style.is_empty() { "" } else { " " };
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\"{gap}{style}>{}</text>",
        short(at.0),
        short(at.1),
        escaped(words)
    );
}

/// Text as SVG and HTML take it.
fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn cut(words: &str, most: usize) -> String {
    match words.chars().count() > most {
        true => format!("{}…", words.chars().take(most - 1).collect::<String>()),
        false => words.to_owned(),
    }
}

/// A round step that divides a length into four to nine parts.
fn step(length: f64) -> f64 {
    if !(length > 0.0 && length.is_finite()) {
        return 1.0;
    }
    let power = 10_f64.powf((length / 4.0).log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|m| m * power).find(|step| length / step >= 4.0).unwrap_or(power)
}

/// The label of a tick: three digits.
fn digits(x: f64) -> String {
    if x == 0.0 || x.abs() < 1e-300 {
        return "0".to_owned();
    }
    let magnitude = x.abs().log10().floor() as i32;
    if !(-3..=5).contains(&magnitude) {
        return format!("{x:.0e}");
    }
    let decimals = saturating::<usize>((2 - magnitude).max(0));
    let text = format!("{x:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A coordinate to a tenth.
fn short(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale) -> Axis {
        Axis::new("a & b".to_owned(), scale)
    }

    fn panel(scale: Scale, values: &[(f64, f64)]) -> Panel {
        let point = |(x, y): &(f64, f64)| Point { x: *x, y: *y, half: Some(0.5) };
        let curve = |label: &str| Curve {
            label: label.to_owned(),
            ink: "s0",
            line: Line::Solid,
            mark: Mark::Circle,
            width: 1.6,
            points: values.iter().map(point).collect(),
        };
        let (x, y) = (axis(scale), axis(Scale::Linear));
        Panel { title: "<T>".to_owned(), x, y, curves: vec![curve("one"), curve("one")] }
    }

    #[test]
    fn a_kind_has_one_colour_in_each_place() {
        for kind in ["tfrc", "tfrc-sp", "tcp-cubic", "dccp", "web", "ping"] {
            let (ink, colour) = (ink_of(kind), colour_of(kind));
            let class = STYLE.split('}').find(|rule| rule.contains(&format!(".{ink}{{")));
            assert!(class.is_some_and(|rule| rule.contains(colour)), "{kind}: {ink}, {colour}");
        }
        assert_ne!(ink_of("tfrc"), ink_of("tcp-sack"));
    }

    #[test]
    fn every_point_has_its_place_and_the_legend_names_each_label_once() {
        let panel = panel(Scale::Linear, &[(0.0, 0.0), (10.0, 4.0)]);
        let svg = panel.group((0.0, 0.0));
        // Two curves of two points, and the sample in the legend.
        assert_eq!(svg.matches("<circle").count(), 5);
        assert_eq!(svg.matches(">one</text>").count(), 1);
        assert!(svg.contains("&lt;T&gt;") && svg.contains("a &amp; b"));
    }

    #[test]
    fn rulers_and_ticks() {
        let log = Ruler { scale: Scale::Logarithmic, ends: [0.1, 10.0], at: [0.0, 100.0] };
        assert_eq!([0.1, 1.0, 10.0].map(|v| log.place(v)), [0.0, 50.0, 100.0]);
        assert_eq!(log.ticks(), [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]);
        let line = Ruler { scale: Scale::Linear, ends: [0.0, 1.06], at: [100.0, 0.0] };
        assert_eq!(line.ticks().len(), 6);
        assert_eq!(line.place(0.53), 50.0);
        assert_eq!([0.0, 0.2, 1500.0, 1e-5, 0.025].map(digits), ["0", "0.2", "1500", "1e-5", "0.025"]);
    }

    #[test]
    fn logarithmic_axes_leave_out_what_is_not_positive() {
        let svg = panel(Scale::Logarithmic, &[(0.1, 1.0), (100.0, 2.0)]).group((0.0, 0.0));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
