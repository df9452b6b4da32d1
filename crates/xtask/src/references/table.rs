//! `ns2.csv`: means over seeds, and half the widths of their 95 % intervals.

use std::collections::BTreeMap;
use tfrc_units::saturating;

use tfrc_lab::statistics::{half_width, mean};

use super::data::{self, Data};
use super::plan::{Column, Keys, ReferenceTable, References, filled};
use crate::{Outcome, root};

/// Writes the table of one experiment. A value of one seed alone is left out: it has no interval.
pub(super) fn write(plan: &References, table: &ReferenceTable) -> Outcome {
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
            let interval = mean(&values).zip(half_width(&values, 0.05));
            let (mean, half) =
                interval.map_or_else(Default::default, |(mean, half)| (digits(mean, 4), digits(half, 3)));
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
    let mut lines = data::rows(&text);
    if !lines.next().is_some_and(|names| names.starts_with(keys)) {
        return Err(format!("{}: does not begin with {}", path.display(), keys.join(",")));
    }
    Ok(lines.map(|line| keys.iter().cloned().zip(line).collect()).collect())
}

/// A number rounded to `digits` digits, without zeros at the end.
pub(super) fn digits(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i64 + 1;
    let places = saturating::<usize>(digits as i64 - magnitude);
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
