//! Sentences of the sources as formulas over a table, which may be the measured one, the published
//! one or ns-2's.
//!
//! A function of a column leaves out rows without a value there, and has no value itself if none is
//! left. `argmin` and `argmax` give the first key of a row, as a number: of the first row where
//! several have the extreme value. `inside` is the share of rows whose value is near the recorded
//! one of the emulated side, `same_side` that of rows where both are below, in or above a band
//! around zero.

use super::emulation::{EmulatedTable, EmulatedValue};
use super::table::Table;
use tfrc_lab::formula::number;
use tfrc_lab::formula::{Expression, Function, Given, Kind, Scope, Wrong};
use tfrc_lab::statistics::{self, mean, median};
use tfrc_scenario::hint;

const ROW: Kind = Kind::Text("a row");
const COLUMN: Kind = Kind::Text("a column");

/// The functions of claims.
pub(crate) const FUNCTIONS: [Function; 10] = [
    Function { name: "cell", takes: &[ROW, COLUMN] },
    Function { name: "min", takes: &[COLUMN] },
    Function { name: "max", takes: &[COLUMN] },
    Function { name: "mean", takes: &[COLUMN] },
    Function { name: "median", takes: &[COLUMN] },
    Function { name: "argmin", takes: &[COLUMN] },
    Function { name: "argmax", takes: &[COLUMN] },
    Function { name: "count", takes: &[COLUMN] },
    Function { name: "inside", takes: &[COLUMN, Kind::Number] },
    Function { name: "same_side", takes: &[COLUMN, Kind::Number] },
];

/// A table of values: rows with their names and first keys, and what stands in them.
pub(crate) struct Values<'a> {
    /// Each row's name and the text of its first key.
    pub(crate) rows: Vec<(&'a str, &'a str)>,
    pub(crate) get: Get<'a>,
    /// The emulated side, if it is recorded.
    pub(crate) emulated: Option<&'a EmulatedTable>,
}

/// Gives the value of a row, by its number, in a column.
pub(crate) type Get<'a> = Box<dyn Fn(usize, &str) -> Option<f64> + 'a>;

impl<'a> Values<'a> {
    /// Those of a table of published values; `names` are all rows.
    pub(crate) fn of_table(table: &'a Table) -> Self {
        let rows = table.rows.iter();
        let first = |keys: &'a [String]| keys.first().map_or("", String::as_str);
        Self {
            rows: rows.map(|row| (row.name.as_str(), first(&row.keys))).collect(),
            get: Box::new(|row, column| {
                let at = table.columns.iter().position(|name| name == column)?;
                table.rows[row].values[at].map(|printed| printed.value)
            }),
            emulated: None,
        }
    }

    /// The share of rows whose value is within `band` of the emulated mean, as a part of it, or no
    /// further from it than one standard deviation of the emulated runs. Rows without both values
    /// are left out.
    fn inside(&self, column: &str, band: f64) -> Option<f64> {
        self.share(column, |value, mean, other| {
            let spread =
                other.ci95.and_then(|half| statistics::deviation_of(half, other.runs)).unwrap_or(0.0);
            (value - mean).abs() <= spread.max(band * mean.abs())
        })
    }

    /// The share of rows whose value is on the side of the emulated mean: below −`bound`, above
    /// `bound` or between. Rows without both values are left out.
    fn same_side(&self, column: &str, bound: f64) -> Option<f64> {
        let side = |value: f64| (value > bound, value < -bound);
        self.share(column, |value, mean, _| side(value) == side(mean))
    }

    /// The share of rows, of those with both, whose value and emulated mean fit each other.
    fn share(&self, column: &str, fits: impl Fn(f64, f64, &EmulatedValue) -> bool) -> Option<f64> {
        let fit = |row: usize| {
            let other = self.emulated?.get(self.rows[row].0, column)?;
            Some(f64::from(u8::from(fits((self.get)(row, column)?, other.mean?, other))))
        };
        mean(&(0..self.rows.len()).filter_map(fit).collect::<Vec<f64>>())
    }
}

impl Scope for Values<'_> {
    fn call(&self, name: &str, given: &[Given<'_>]) -> Result<Option<f64>, (String, String)> {
        let text = |i: usize| given.get(i).map_or("", Given::text);
        let bound = given.get(1).map_or(0.0, Given::number);
        match name {
            "inside" => return Ok(self.inside(text(0), bound)),
            "same_side" => return Ok(self.same_side(text(0), bound)),
            _ => {}
        }
        if name == "cell" {
            let row = self.rows.iter().position(|(row, _)| *row == text(0));
            return Ok(row.and_then(|row| (self.get)(row, text(1))));
        }
        let column: Vec<(usize, f64)> =
            (0..self.rows.len()).filter_map(|row| Some((row, (self.get)(row, text(0))?))).collect();
        let by_value = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
        // Of equal values the first row counts: `min_by` takes it by itself, `max_by` the last.
        let least = column.iter().min_by(by_value);
        let greatest = column.iter().rev().max_by(by_value);
        let key = |row: usize| number(self.rows[row].1);
        Ok(match name {
            "count" => Some(column.len() as f64),
            "min" => least.map(|x| x.1),
            "max" => greatest.map(|x| x.1),
            "argmin" => least.and_then(|x| key(x.0)),
            "argmax" => greatest.and_then(|x| key(x.0)),
            "mean" => mean(&column.iter().map(|x| x.1).collect::<Vec<f64>>()),
            "median" => median(column.iter().map(|x| x.1).collect()),
            _ => None,
        })
    }
}

/// Checks that the rows and columns in a claim exist.
pub(crate) fn check(claim: &Expression, rows: &[&str], columns: &[&str]) -> Result<(), Wrong> {
    for function in &FUNCTIONS {
        for (index, kind) in function.takes.iter().enumerate() {
            let (what, known) =
                if *kind == ROW { ("row of published.csv", rows) } else { ("column of [[cells]]", columns) };
            for (place, text) in claim.texts(function.name, index) {
                if !known.contains(&text.as_str()) {
                    return Err(Wrong {
                        place,
                        message: format!("`{text}` is no {what}"),
                        hint: hint(&text, known),
                    });
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::error::NamedText;
    use super::*;

    #[test]
    fn formulas_over_a_table() {
        let text = "n,kind,x,y\n10%,a,3,\n20%,a,1,5\n30%,b,4,6\n40%,b,4,\n50%,b,1,\n".to_owned();
        let table = Table::parse(&NamedText { name: "t".to_owned(), text }, &["n", "kind"]).expect("right");
        let values = Values::of_table(&table);
        let of = |text: &str| {
            Expression::parse(text, &FUNCTIONS, &[]).expect(text).value(&values).expect("no error")
        };
        for (text, expected) in [
            ("cell('30%/b','x') / cell('20%/a','x')", Some(4.0)),
            ("cell('10%/a','y')", None),
            ("min('x')", Some(1.0)),
            ("max('y') - min('y')", Some(1.0)),
            ("argmax('x')", Some(0.3)),
            ("argmin('x')", Some(0.2)),
            ("median('x')", Some(3.0)),
            ("mean('x')", Some(2.6)),
            ("mean('y')", Some(5.5)),
            ("count('y')", Some(2.0)),
            ("max('z')", None),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
        // Rows 10 % and 20 % are recorded: 3.2 is within a tenth of 3, and 1.5 ± 0.1 of 5 is not.
        let value = |mean, ci95| EmulatedValue { mean: Some(mean), ci95, runs: 3, note: None };
        let recorded = |row: &str, value| ((row.to_owned(), "x".to_owned()), value);
        let mut emulated = EmulatedTable::default();
        emulated
            .values
            .extend([recorded("10%/a", value(3.2, None)), recorded("20%/a", value(1.5, Some(0.1)))]);
        let inside = |emulated: &EmulatedTable| {
            let values = Values { emulated: Some(emulated), ..Values::of_table(&table) };
            let formula = Expression::parse("inside('x', 0.1)", &FUNCTIONS, &[]).expect("right");
            formula.value(&values).expect("no error")
        };
        assert_eq!(inside(&emulated), Some(0.5));
        // Three runs 0.6 apart: half a width of 95 % of 1.49.
        emulated.values.extend([recorded("20%/a", value(1.5, Some(1.49)))]);
        assert_eq!(inside(&emulated), Some(1.0));
        // 3 is above 2 as 3.2 is, and below 3.1; 1 and 1.5 are in both.
        for (bound, share) in [("2", 1.0), ("3.1", 0.5), ("1.2", 0.5), ("9", 1.0)] {
            let values = Values { emulated: Some(&emulated), ..Values::of_table(&table) };
            let formula = format!("same_side('x', {bound})");
            let formula = Expression::parse(&formula, &FUNCTIONS, &[]).expect("right");
            assert_eq!(formula.value(&values).expect("no error"), Some(share), "{bound}");
        }
        let claim = Expression::parse("cell('60%/b','x')", &FUNCTIONS, &[]).expect("well formed");
        let wrong = check(&claim, &["30%/b"], &["x"]).expect_err("no such row");
        assert!(wrong.message.contains("60%/b") && wrong.hint.contains("30%/b"), "{wrong}");
    }
}
