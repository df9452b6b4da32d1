//! `cargo xtask peers`: Debian's ns-2 and our simulator on the same scenarios, in the same run.
//!
//! `peers/ns2/` holds the scripts and the scenarios. Each table's samples go to `testdata/ns2-peers/NAME.json`, and
//! `docs/peers.md` is made from what is there.

mod causes;
mod intervals;
mod page;
mod plan;
mod run;
mod verdict;

use std::fs;

use plan::{Length, Ours, Point, Quantity, Table};
pub(crate) use verdict::quantile as student_quantile;
use verdict::{Comparison, Verdict, judge};

use crate::{Outcome, cargo, root};

/// A trace agrees when its largest error is no larger than this share.
const TRACE: f64 = 0.05;

/// Runs the tables of these names, all without any.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let (mut length, mut names) = (Length::Full, Vec::new());
    for argument in arguments {
        match *argument {
            "--quick" => length = Length::Quick,
            "--page" => return page::write(),
            name => names.push(name),
        }
    }
    let tables = plan::tables(length);
    if let Some(name) = names.iter().find(|name| tables.iter().all(|table| table.name != **name)) {
        let known: Vec<&str> = tables.iter().map(|table| table.name).collect();
        return Err(format!("no table `{name}`; there are {}", known.join(", ")));
    }
    let built = cargo().args(["build", "--locked", "--release", "--package", "tfrc-cli"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the command does not build".to_owned());
    }
    for table in tables.iter().filter(|table| names.is_empty() || names.contains(&table.name)) {
        let result = measure(table, length)?;
        print!("{}", page::section(&result));
        let folder = root().join("testdata/ns2-peers");
        let text = serde_json::to_string_pretty(&result).map_err(|e| e.to_string())?;
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(format!("{}.json", table.name)), text + "\n"))
            .map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    page::write()
}

fn measure(table: &Table, length: Length) -> Result<page::Result, String> {
    let mut cells = Vec::new();
    for (index, point) in table.points.iter().enumerate() {
        eprintln!("{}, {} of {}: {}", table.name, index + 1, table.points.len(), point.name);
        if matches!(point.quantities[..], [Quantity { ours: Ours::Trace, .. }]) {
            cells.push(trace(point)?);
        } else {
            cells.extend(sampled(point, table.seeds)?);
        }
    }
    // Traces do not depend on chance, so that nothing is to be corrected for.
    let compared: Vec<Comparison> = cells.iter().filter_map(|cell| cell.comparison()).collect();
    let mut verdicts = judge(&compared).into_iter();
    for cell in &mut cells {
        let verdict = match cell.largest_error {
            Some(error) if error <= TRACE => Verdict::Agrees,
            Some(_) => Verdict::Departs,
            None => verdicts.next().unwrap_or(Verdict::Inconclusive),
        };
        verdict.word().clone_into(&mut cell.verdict);
    }
    Ok(page::Result {
        name: table.name.to_owned(),
        title: table.title.to_owned(),
        about: table.about.to_owned(),
        seeds: table.seeds,
        length: if length == Length::Full { "full" } else { "quick" }.to_owned(),
        cells,
    })
}

fn cell(point: &Point, quantity: &Quantity) -> page::Cell {
    page::Cell {
        point: point.name.clone(),
        quantity: quantity.name.to_owned(),
        ns2: format!("ns {} {}", point.script, point.arguments.join(" ")),
        tfrc: format!("tfrc {}", run::words(point).join(" ")),
        ..page::Cell::default()
    }
}

fn sampled(point: &Point, seeds: u32) -> Result<Vec<page::Cell>, String> {
    let (theirs, ours) = (run::theirs(point, seeds)?, run::ours(point, seeds)?);
    point
        .quantities
        .iter()
        .map(|quantity| {
            let missing = || format!("{}: no {} on one side", point.name, quantity.name);
            let theirs: Option<Vec<f64>> = theirs
                .iter()
                .map(|run| run.get(quantity.theirs)?.parse().ok().map(|v: f64| v / quantity.unit))
                .collect();
            let ours: Option<Vec<f64>> =
                ours.iter().map(|run| run::value(run, quantity.ours).map(|v| v / quantity.unit)).collect();
            Ok(page::Cell {
                theirs: theirs.ok_or_else(missing)?,
                ours: ours.ok_or_else(missing)?,
                ..cell(point, quantity)
            })
        })
        .collect()
}

fn trace(point: &Point) -> Result<page::Cell, String> {
    let quantity = &point.quantities[0];
    let theirs = run::theirs(point, 1)?;
    let theirs: Vec<f64> = theirs
        .first()
        .and_then(|run| run.get(quantity.theirs))
        .map(|list| list.split(',').filter_map(|v| v.parse().ok()).collect())
        .ok_or_else(|| format!("{}: ns-2 gave no trace", point.name))?;
    let ours = run::our_trace(point)?;
    let error =
        largest_error(&theirs, &ours).ok_or_else(|| format!("{}: traces of no length", point.name))?;
    Ok(page::Cell { theirs, ours, largest_error: Some(error), ..cell(point, quantity) })
}

/// The largest difference of two growing counts at the same moment, as a share of the first.
fn largest_error(theirs: &[f64], ours: &[f64]) -> Option<f64> {
    theirs
        .iter()
        .zip(ours)
        .filter(|(theirs, _)| **theirs > 0.0)
        .map(|(theirs, ours)| (ours - theirs).abs() / theirs)
        .reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_error_of_a_trace() {
        assert_eq!(largest_error(&[0.0, 10.0, 20.0, 40.0], &[1.0, 11.0, 19.0, 40.0, 99.0]), Some(0.1));
        assert_eq!(largest_error(&[0.0], &[5.0]), None);
    }

    #[test]
    fn every_table_names_files_that_are_there() {
        for table in plan::tables(Length::Full) {
            assert!(!table.points.is_empty(), "{}", table.name);
            for point in &table.points {
                for file in [point.script, point.scenario] {
                    assert!(root().join("peers/ns2").join(file).is_file(), "{}: {file}", point.name);
                }
            }
        }
    }
}
