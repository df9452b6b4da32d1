//! Published values next to the results of a plan.
//!
//! The file is CSV with a line of names first: a column `quantity` (`flow.NAME.KEY` or
//! `link.NAME.KEY`, with the names of flows, groups and links, and the keys of the results), a
//! column `published`, and for each sweep that distinguishes rows a column with its `set`. Lines
//! that begin with `#` say where the values come from.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::batch::{Means, PointResult, Results};

/// One published value and what was measured for it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The point's values, as far as the row gives them.
    pub at: Vec<(String, String)>,
    /// Name of the quantity that is compared.
    pub quantity: String,
    /// The published value.
    pub published: f64,
    /// The mean over the runs.
    pub measured: Option<f64>,
    /// Half the width of its 95 % interval.
    pub ci95: Option<f64>,
    /// Measured over published.
    pub ratio: Option<f64>,
}

/// Why a table cannot be compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompareError {
    /// A column is missing.
    Column(&'static str),
    /// A published value is not a number.
    Number {
        /// The line, from 1.
        line: usize,
        /// Text in place of the number.
        text: String,
    },
    /// No point has these values.
    Point {
        /// The line, from 1.
        line: usize,
    },
    /// The results have no such quantity.
    Quantity {
        /// The line, from 1.
        line: usize,
        /// Name of the missing quantity.
        quantity: String,
    },
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(name) => {
                write!(f, "the table has no column `{name}`: name the columns in its first line")
            }
            Self::Number { line, text } => write!(f, "line {line}: `{text}` is no number"),
            Self::Point { line } => {
                write!(f, "line {line}: no point has these values: write them as the sweep does")
            }
            Self::Quantity { line, quantity } => write!(
                f,
                "line {line}: there is no `{quantity}`: use flow.NAME.goodput_bps, link.NAME.utilization and the like"
            ),
        }
    }
}

impl std::error::Error for CompareError {}

/// Puts the results next to each row of `csv`.
///
/// # Errors
/// [`CompareError`] with the first row that does not fit.
pub fn compare(csv: &str, results: &Results) -> Result<Vec<Comparison>, CompareError> {
    let mut lines =
        (1..).zip(csv.lines()).filter(|(_, text)| !text.trim().is_empty() && !text.starts_with('#'));
    let names = lines.next().map(|(_, text)| fields(text)).unwrap_or_default();
    let column = |name| names.iter().position(|n| n == name).ok_or(CompareError::Column(name));
    let (quantity_at, published_at) = (column("quantity")?, column("published")?);
    let mut rows = Vec::new();
    for (line, text) in lines {
        let fields = fields(text);
        let field = |i: usize| fields.get(i).cloned().unwrap_or_default();
        let (quantity, written) = (field(quantity_at), field(published_at));
        let published: f64 =
            written.parse().map_err(|_| CompareError::Number { line, text: written.clone() })?;
        let at: Vec<(String, String)> = names
            .iter()
            .enumerate()
            .filter(|(_, name)| results.points.iter().any(|point| point.at.contains_key(*name)))
            .map(|(i, name)| (name.clone(), field(i)))
            .collect();
        let fits = |point: &&PointResult| at.iter().all(|(name, value)| point.at.get(name) == Some(value));
        let point = results.points.iter().find(fits).ok_or(CompareError::Point { line })?;
        let found = point.mean.as_ref().and_then(|means| find(means, &quantity));
        let found = found.ok_or_else(|| CompareError::Quantity { line, quantity: quantity.clone() })?;
        let ratio = found.mean.filter(|_| published != 0.0).map(|mean| mean / published);
        rows.push(Comparison { at, quantity, published, measured: found.mean, ci95: found.ci95, ratio });
    }
    Ok(rows)
}

fn find(means: &Means, quantity: &str) -> Option<crate::statistics::Estimate> {
    let (what, rest) = quantity.split_once('.')?;
    let (id, key) = rest.rsplit_once('.')?;
    let rows: Vec<_> = match what {
        "flow" => means.groups.iter().chain(&means.flows).collect(),
        "link" => means.links.iter().collect(),
        _ => return None,
    };
    rows.into_iter().find(|row| row.id == id)?.values.get(key).copied()
}

/// The fields of a line; one in quotes may have commas and doubled quotes.
pub(crate) fn fields(line: &str) -> Vec<String> {
    let mut options = csv::ReaderBuilder::new();
    let reader = options.has_headers(false).trim(csv::Trim::All).from_reader(line.as_bytes());
    let record = reader.into_records().next().and_then(Result::ok);
    record.iter().flatten().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_and_without_quotes() {
        assert_eq!(fields("a, b ,\"c,\"\"d\"\"\","), ["a", "b", "c,\"d\"", ""]);
    }
}
