//! `ns2.csv`: means over seeds, and half the widths of their 95 % intervals.

use std::collections::BTreeMap;

use super::data::Data;
use super::plan::{Column, Keys, Plan, Table, filled};
use crate::peers::student_quantile;
use crate::{Outcome, root};

/// Writes the table of one experiment. A value of one seed alone is left out: it has no interval.
pub(super) fn write(plan: &Plan, table: &Table) -> Outcome {
    let folder = root().join("experiments").join(&table.experiment);
    let mut sets = BTreeMap::new();
    for column in &table.columns {
        let runs = plan.runs.get(&column.runs).ok_or(format!("{}: no such set of runs", column.runs))?;
        sets.insert(column.runs.as_str(), Data::read(runs)?);
    }
    let mut lines = Vec::new();
    let mut seeds = Vec::new();
    for row in rows(&folder.join("published.csv"), &table.keys)? {
        let texts: Vec<String> = table.keys.iter().filter_map(|key| row.get(key).cloned()).collect();
        let mut fields = Vec::new();
        let mut most = 0;
        for column in &table.columns {
            let Some(data) = sets.get(column.runs.as_str()) else { continue };
            let values = values(column, data, &row, texts.first())?;
            most = most.max(values.len());
            let (mean, half) = interval(&values)
                .map_or_else(Default::default, |(mean, half)| (digits(mean, 4), digits(half, 3)));
            fields.extend([mean, half]);
        }
        if fields.iter().any(|field| !field.is_empty()) {
            lines.push(format!("{},{}", texts.join(","), fields.join(",")));
        }
        seeds.push((texts.first().cloned().unwrap_or_default(), most));
    }
    let files: Vec<&str> = {
        let mut files: Vec<&str> = table
            .columns
            .iter()
            .filter_map(|c| plan.runs.get(&c.runs))
            .map(|runs| runs.file.as_str())
            .collect();
        files.dedup();
        files
    };
    let mut text: String = table.about.iter().map(|line| format!("# {line}\n")).collect();
    text += &format!(
        "# ns-2.35, means over the seeds of {} (cargo xtask references); seeds: {}\n",
        files.join(", "),
        told(&seeds)
    );
    let names: Vec<String> =
        table.columns.iter().flat_map(|c| [c.name.clone(), format!("{}_ci95", c.name)]).collect();
    text += &format!("{},{}\n", table.keys.join(","), names.join(","));
    lines.iter().for_each(|line| text += &format!("{line}\n"));
    std::fs::write(folder.join("ns2.csv"), text).map_err(|e| format!("{}: {e}", table.experiment))
}

/// The values of one cell, of as many runs as have them.
fn values(column: &Column, data: &Data, row: &Keys, first: Option<&String>) -> Result<Vec<f64>, String> {
    if !column.rows.is_empty() && !first.is_some_and(|first| column.rows.contains(first)) {
        return Ok(Vec::new());
    }
    let mut keys = column.only.clone();
    for key in data.keys() {
        if let Some(text) = row.get(key) {
            keys.entry(key.clone()).or_insert_with(|| text.clone());
        }
    }
    let values = data.values(&keys, &filled(&column.of, row))?;
    let over = match &column.over {
        Some(over) => data.values(&keys, &filled(over, row))?,
        None => vec![Some(1.0); values.len()],
    };
    Ok(values.into_iter().zip(over).filter_map(|(value, over)| Some(value? / over? - column.less)).collect())
}

/// The rows of a `published.csv` by the names of their keys.
fn rows(path: &std::path::Path, keys: &[String]) -> Result<Vec<Keys>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    if names.iter().zip(keys).any(|(name, key)| name != key) {
        return Err(format!("{}: does not begin with {}", path.display(), keys.join(",")));
    }
    Ok(lines.map(|line| keys.iter().cloned().zip(line.split(',').map(str::to_owned)).collect()).collect())
}

/// The mean and half the width of its 95 % interval by Student's t; none for fewer than two values.
fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some((mean, student_quantile(0.05, n - 1.0) * (variance / n).sqrt()))
}

/// A number rounded to so many digits, without zeros at the end.
pub(super) fn digits(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i64 + 1;
    let places = usize::try_from(digits as i64 - magnitude).unwrap_or(0);
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The numbers of seeds: one, or each with the first keys of its rows. Rows without any are left
/// out.
fn told(seeds: &[(String, usize)]) -> String {
    let mut groups: Vec<(usize, Vec<&str>)> = Vec::new();
    for (row, n) in seeds.iter().filter(|(_, n)| *n > 0) {
        let rows = match groups.iter().position(|(known, _)| known == n) {
            Some(place) => &mut groups[place].1,
            None => {
                groups.push((*n, Vec::new()));
                let last = groups.len() - 1;
                &mut groups[last].1
            }
        };
        if rows.last() != Some(&row.as_str()) {
            rows.push(row);
        }
    }
    match groups.as_slice() {
        [(n, _)] => n.to_string(),
        _ => {
            groups.iter().map(|(n, rows)| format!("{n} ({})", rows.join(", "))).collect::<Vec<_>>().join("; ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_students() {
        let (mean, half) = interval(&[1.0, 2.0, 3.0]).expect("three values");
        assert!((mean - 2.0).abs() < 1e-12 && (half - 4.3027 / 3.0_f64.sqrt()).abs() < 1e-4);
        assert_eq!(interval(&[1.0]), None);
    }

    #[test]
    fn seeds_are_told_by_row_where_they_differ() {
        let row = |key: &str, n| (key.to_owned(), n);
        assert_eq!(told(&[row("4", 30), row("8", 30), row("16", 0)]), "30");
        assert_eq!(told(&[row("4", 10), row("4", 10), row("8", 5), row("9", 10)]), "10 (4, 9); 5 (8)");
    }

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!(
            ["1961.21", "0.005922", "0", "12", "0.5"].map(|text| digits(text.parse().expect("a number"), 4)),
            ["1961", "0.005922", "0", "12", "0.5"]
        );
    }
}
