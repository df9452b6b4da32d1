//! The curves of an experiment: a chart for each column, rows along the axis.

use serde::Serialize;

use crate::experiment::file::Experiment;
use crate::experiment::results::{CellResult, ExperimentResult};
use crate::experiment::table::number;

/// The charts of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Charts {
    /// Where each row stands on the axis.
    x: Vec<f64>,
    /// Names of the rows, where a row's place on the axis is only its number.
    labels: Option<Vec<String>>,
    /// True if the axis is logarithmic.
    log_x: bool,
    /// The name of the first key.
    key: String,
    columns: Vec<Column>,
}

/// One chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Column {
    name: String,
    log_y: bool,
    published: Vec<Option<f64>>,
    ns2: Vec<Option<f64>>,
    measured: Vec<Option<f64>>,
    ci95: Vec<Option<f64>>,
    rfc: Vec<Option<f64>>,
}

/// The most charts of an experiment; more are in its table.
const MOST_CHARTS: usize = 12;
/// A logarithmic axis where values differ by more than this.
const WIDE: f64 = 30.0;

/// The charts of an experiment; `None` if there is nothing to draw.
pub(super) fn charts(experiment: &Experiment, result: &ExperimentResult) -> Option<Charts> {
    let rows = &experiment.published.rows;
    let shown: Vec<usize> =
        (0..rows.len()).filter(|row| result.cells.iter().any(|cell| cell.row == rows[*row].name)).collect();
    if shown.len() < 2 {
        return None;
    }
    let one_key = experiment.published.keys.len() == 1;
    let numbers: Option<Vec<f64>> = shown.iter().map(|row| number(rows[*row].keys.first()?)).collect();
    let rising = |xs: &Vec<f64>| xs.windows(2).all(|pair| pair[0] < pair[1]);
    let numbers = numbers.filter(|xs| one_key && rising(xs));
    let labels =
        numbers.is_none().then(|| shown.iter().map(|row| rows[*row].name.clone()).collect::<Vec<String>>());
    let x = numbers.unwrap_or_else(|| (0..shown.len()).map(|i| i as f64).collect());
    let columns = experiment.cells.iter().map(|cell| {
        let of = |get: fn(&CellResult) -> Option<f64>| -> Vec<Option<f64>> {
            let found = |row: &usize| {
                let name = &rows[*row].name;
                result.cells.iter().find(|one| one.row == *name && one.column == cell.column)
            };
            shown.iter().map(|row| found(row).and_then(get)).collect()
        };
        let (published, ns2, measured) = (of(|c| c.published), of(|c| c.ns2), of(|c| c.measured));
        let all: Vec<f64> = [&published, &ns2, &measured].into_iter().flatten().flatten().copied().collect();
        let log_y = is_wide(&all);
        Column {
            name: cell.column.clone(),
            log_y,
            published,
            ns2,
            measured,
            ci95: of(|c| c.ci95),
            rfc: of(|c| c.rfc_profile),
        }
    });
    let drawn = columns.filter(|column| column.measured.iter().flatten().count() > 1);
    Some(Charts {
        log_x: labels.is_none() && is_wide(&x),
        x,
        labels,
        key: experiment.published.keys.join("/"),
        columns: drawn.take(MOST_CHARTS).collect(),
    })
}

fn is_wide(values: &[f64]) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    least > 0.0 && most / least > WIDE
}
