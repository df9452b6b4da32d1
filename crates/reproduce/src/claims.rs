//! Sentences of the sources as formulas over a table, which may be the measured one, the published
//! one or ns-2's.
//!
//! A function of a column leaves out rows without a value there, and has no value itself if none is
//! left. `argmin` and `argmax` give the first key of a row, as a number: of the first row where
//! several have the extreme value.

use super::table::Table;
use tfrc_lab::formula::number;
use tfrc_lab::formula::{Expression, Function, Given, Kind, Scope, Wrong};
use tfrc_lab::statistics::{mean, median};
use tfrc_scenario::hint;

const ROW: Kind = Kind::Text("a row");
const COLUMN: Kind = Kind::Text("a column");

/// The functions of claims.
pub(crate) const FUNCTIONS: [Function; 8] = [
    Function { name: "cell", takes: &[ROW, COLUMN] },
    Function { name: "min", takes: &[COLUMN] },
    Function { name: "max", takes: &[COLUMN] },
    Function { name: "mean", takes: &[COLUMN] },
    Function { name: "median", takes: &[COLUMN] },
    Function { name: "argmin", takes: &[COLUMN] },
    Function { name: "argmax", takes: &[COLUMN] },
    Function { name: "count", takes: &[COLUMN] },
];

/// A table of values: rows with their names and first keys, and what stands in them.
pub(crate) struct Values<'a> {
    /// Each row's name and the text of its first key.
    pub(crate) rows: Vec<(&'a str, &'a str)>,
    pub(crate) get: Get<'a>,
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
        }
    }
}

impl Scope for Values<'_> {
    fn call(&self, name: &str, given: &[Given<'_>]) -> Result<Option<f64>, (String, String)> {
        let text = |i: usize| given.get(i).map_or("", Given::text);
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
        let claim = Expression::parse("cell('60%/b','x')", &FUNCTIONS, &[]).expect("well formed");
        let wrong = check(&claim, &["30%/b"], &["x"]).expect_err("no such row");
        assert!(wrong.message.contains("60%/b") && wrong.hint.contains("30%/b"), "{wrong}");
    }
}
