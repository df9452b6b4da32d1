//! Panels over the time of one run: goodput of flows, or the queue of a link.

use std::cell::RefCell;

use super::layout::{TraceLayout, TracePart};
use crate::error::ExperimentError;
use crate::file::Experiment;
use crate::syntax::{Profile, World};
use tfrc_lab::plot::{Axis, Curve, Line, Mark, Panel, Point, Scale, ink_of};
use tfrc_lab::record::Interval;
use tfrc_lab::run_watched;
use tfrc_lab::watch::Watch;

/// Lines and widths of the groups, by their places.
const GROUPS: [(Line, f64); 4] = [
    (Line::Dashed("3 2"), 0.9),
    (Line::Solid, 2.2),
    (Line::Dashed("8 3"), 1.4),
    (Line::Dashed("8 3 2 3"), 1.4),
];

/// Runs a scenario of an experiment as published, and draws the measured part.
///
/// # Errors
/// As for the scenario of a point.
pub(super) fn panel(experiment: &Experiment, layout: &TraceLayout) -> Result<Option<Panel>, ExperimentError> {
    let rows = &experiment.published.rows;
    let wanted = |row: &&crate::table::Row| layout.row.as_ref().is_none_or(|one| *one == row.name);
    let sim = experiment.sims.iter().find(|sim| sim.name == layout.run);
    let (Some(sim), Some(row)) = (sim, rows.iter().find(wanted)) else { return Ok(None) };
    let (_, scenario, _) = experiment.scenario(World::Sim, sim, Profile::AsPublished, row, &[])?;
    let from = match layout.part {
        TracePart::Measured => scenario.warmup.as_secs_f64(),
        TracePart::Whole => 0.0,
    };
    let to = scenario.duration.as_secs_f64();
    let (unit_bps, unit) = layout.unit.in_bps();
    let seen = RefCell::new(Vec::<Interval>::new());
    let keep = |interval: Interval| {
        if interval.t_s >= from {
            seen.borrow_mut().push(interval);
        }
    };
    let outcome = run_watched(
        &scenario,
        &mut [Watch::all(layout.step(), |look| {
            look.flows.into_iter().chain(look.links).for_each(&keep);
        })],
    );
    let seen = seen.into_inner();
    let of = |is_meant: &dyn Fn(&Interval) -> bool, value: &dyn Fn(&Interval) -> Option<f64>| {
        let meant = seen.iter().filter(|interval| is_meant(interval));
        meant
            .filter_map(|interval| Some(Point { x: interval.t_s, y: value(interval)?, half: None }))
            .collect::<Vec<Point>>()
    };
    let mut curves = Vec::new();
    // The dashed look sets one group off from another.
    let looks = GROUPS.into_iter().skip(usize::from(layout.flows.len() == 1));
    for (group, (line, width)) in layout.flows.iter().zip(looks) {
        let mut names: Vec<&str> = Vec::new();
        for name in seen.iter().filter_map(|interval| interval.flow.as_deref()) {
            let number = name.strip_prefix(group.as_str()).map(|rest| rest.strip_prefix('-').unwrap_or(rest));
            let is_member = number.is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()));
            if is_member && !names.contains(&name) {
                names.push(name);
            }
        }
        let kind = outcome.flows.iter().find(|flow| names.first() == Some(&flow.id.as_str()));
        let ink = kind.map_or("ink", |flow| ink_of(&flow.kind));
        for name in names.into_iter().take(layout.each.unwrap_or(usize::MAX)) {
            let points = of(&|i| i.flow.as_deref() == Some(name), &|i| Some(i.goodput_bps? / unit_bps));
            let label = group.to_uppercase();
            curves.push(Curve { label, ink, line, mark: Mark::None, width, points });
        }
    }
    if let Some(link) = &layout.link {
        let points = of(&|i| i.link.as_deref() == Some(link.as_str()), &|i| i.queue_packets);
        let (label, line) = (String::new(), Line::Solid);
        curves.push(Curve { label, ink: "ink", line, mark: Mark::None, width: 1.0, points });
    }
    let axis = |title: String, range| Axis { range, ..Axis::new(title, Scale::Linear) };
    let y = match &layout.link {
        Some(_) => "queue (packets)".to_owned(),
        None => format!("goodput in {} ({unit})", layout.bin),
    };
    let x = axis("time (s)".to_owned(), Some([from, to]));
    let is_empty = curves.iter().all(|curve| curve.points.is_empty());
    let title = layout.title.clone();
    Ok((!is_empty).then_some(Panel { title, x, y: axis(y, layout.y), curves }))
}
