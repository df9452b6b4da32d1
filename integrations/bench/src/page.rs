//! The tables and pictures of the page.

use std::fmt::Write as _;

use tfrc_report::plot::{Axis, Curve, Line, Mark, Panel, Point, Scale, file};
use tfrc_testkit::path::shared::Record;

use crate::browser;
use crate::cases::Case;
use crate::measures::{Figures, between, bits, quantile};
use crate::run::{Control, Run};

/// Colours of media flows in their order.
const INKS: [&str; 5] = ["s0", "s2", "s3", "s4", "ink"];
/// Points of a curve, about.
const POINTS: f64 = 100.0;

/// The table of a case: the mean over the seeds, and their range where it shows.
pub(crate) fn table(case: &Case, rows: &[(Control, [Figures; 3])]) -> String {
    let share = match (case.tcp, case.flows.len()) {
        (Some(_), _) => Some("part next to TCP"),
        (None, 1) => None,
        _ => Some("Jain's index"),
    };
    let mut table = String::from("| control | rate | of the capacity | wait p50 | wait p95 | lost | late |");
    let mut rule = String::from("\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    if let Some(share) = share {
        let _ = write!(table, " {share} |");
        rule.push_str(" ---: |");
    }
    let _ = writeln!(table, " to a new rate |{rule} ---: |");
    for (control, runs) in rows {
        let cell = |value: &dyn Fn(&Figures) -> f64, digits, unit| -> String {
            ranged(&runs.each_ref().map(value), digits, unit)
        };
        let _ = write!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} |",
            control.name(),
            cell(&|f| f.rate, 2, ""),
            cell(&|f| f.utilisation * 100.0, 0, " %"),
            cell(&|f| f.wait[0], 0, ""),
            cell(&|f| f.wait[1], 0, ""),
            cell(&|f| f.loss * 100.0, 1, " %"),
            cell(&|f| f.late * 100.0, 1, " %"),
        );
        if share.is_some() {
            let _ = write!(table, " {} |", cell(&|f| f.share.unwrap_or(0.0), 2, ""));
        }
        let mut times: Vec<f64> = runs.iter().flat_map(|f| f.converged.iter().copied()).collect();
        let (found, wanted) = (times.len(), runs.iter().map(|f| f.wanted).sum::<usize>());
        let time =
            if found == 0 { "never".to_owned() } else { format!("{:.1} s", quantile(&mut times, 0.5)) };
        let _ = writeln!(table, " {time} ({found} of {wanted}) |");
        if *control == Control::Gcc {
            table.push_str(&browser::rows(case, share.is_some()));
        }
    }
    table
}

/// A mean with the range behind it, unless all are the same at this many digits.
pub(crate) fn ranged(values: &[f64], digits: usize, unit: &str) -> String {
    let text = |value: f64| format!("{value:.digits$}");
    let mean = text(values.iter().sum::<f64>() / values.len() as f64);
    let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
    let (least, most) = (text(least), text(most));
    if least == most { format!("{mean}{unit}") } else { format!("{mean}{unit} ({least}–{most})") }
}

/// The pictures of a case: rates and waits over time, for each control.
pub(crate) fn picture(case: &Case, runs: &[(Control, Run)]) -> String {
    let step = (case.time as f64 / POINTS).ceil().max(1.0);
    let most_rate = case.rates.iter().map(|(_, mbit)| *mbit).fold(0.0, f64::max) * 1.25;
    let panels: Vec<Panel> = runs
        .chunks(3)
        .flat_map(|three| {
            let rates = three.iter().map(|(control, run)| rates(case, *control, run, step, most_rate));
            let waits = three.iter().map(|(control, run)| waits(case, *control, run, step));
            rates.chain(waits).collect::<Vec<_>>()
        })
        .collect();
    file(case.title, &panels).unwrap_or_default()
}

fn axis(title: &str, range: [f64; 2]) -> Axis {
    Axis { range: Some(range), ..Axis::new(title.to_owned(), Scale::Linear) }
}

fn curve(label: &str, ink: &'static str, width: f64, points: Vec<Point>) -> Curve {
    Curve { label: label.to_owned(), ink, line: Line::Solid, mark: Mark::None, width, points }
}

fn rates(case: &Case, control: Control, run: &Run, step: f64, most: f64) -> Panel {
    let over_time = |record: &Record| -> Vec<Point> {
        let mean = |at: f64| bits(record, at, at + step) / step / 1e6;
        steps(case, step).map(|at| Point { x: at + step / 2.0, y: mean(at), half: None }).collect()
    };
    let mut line = Vec::new();
    for (n, (from, mbit)) in case.rates.iter().enumerate() {
        let to = case.rates.get(n + 1).map_or(case.time, |(next, _)| *next);
        line.extend([*from, to].map(|x| Point { x: x as f64, y: *mbit, half: None }));
    }
    let mut curves = vec![curve("capacity", "s4", 1.0, line)];
    if let Some(tcp) = &run.tcp {
        curves.push(curve("TCP", "s1", 1.2, over_time(tcp)));
    }
    for (n, record) in run.media.iter().enumerate() {
        let label = if run.media.len() == 1 { "media".to_owned() } else { format!("{}", n + 1) };
        curves.push(curve(&label, INKS[n % INKS.len()], 1.6, over_time(record)));
    }
    let x = axis("time, s", [0.0, case.time as f64]);
    Panel { title: control.name().to_owned(), x, y: axis("rate, Mbit/s", [0.0, most]), curves }
}

fn waits(case: &Case, control: Control, run: &Run, step: f64) -> Panel {
    let at_share = |record: &Record, share: f64| -> Vec<Point> {
        let over = steps(case, step).filter_map(|at| {
            let mut sample: Vec<f64> =
                between(record, at, at + step).iter().map(|one| one.waited.as_secs_f64() * 1e3).collect();
            let some = !sample.is_empty();
            some.then(|| Point { x: at + step / 2.0, y: quantile(&mut sample, share), half: None })
        });
        over.collect()
    };
    let curves = run.media.iter().enumerate().map(|(n, record)| {
        let label = if run.media.len() == 1 { "p95 of a second".to_owned() } else { format!("{}", n + 1) };
        curve(&label, INKS[n % INKS.len()], 1.4, at_share(record, 0.95))
    });
    let x = axis("time, s", [0.0, case.time as f64]);
    let y = axis("wait in the queue, ms", [0.0, (1.2 * case.queue_ms).max(600.0)]);
    Panel { title: format!("{}: waits", control.name()), x, y, curves: curves.collect() }
}

fn steps(case: &Case, step: f64) -> impl Iterator<Item = f64> {
    let last = (case.time as f64 / step) as u32;
    (0..last).map(move |n| f64::from(n) * step)
}
