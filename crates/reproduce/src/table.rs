//! Tables of published and of reference values: CSV with `#` lines that say where it comes from, a
//! line of names, rows.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::{ExperimentError, NamedText};
use tfrc_lab::formula::Printed;
use tfrc_lab::statistics::mean;

/// A table: the key columns identify the rows, the others hold values.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// The `#` lines.
    pub(crate) notes: Vec<String>,
    pub(crate) keys: Vec<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// One row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The texts of its keys with `/` between.
    pub(crate) name: String,
    /// The texts of its keys.
    pub(crate) keys: Vec<String>,
    /// A value for each column; `None` if the field is empty.
    pub(crate) values: Vec<Option<Printed>>,
}

/// The column that distinguishes the runs of one row.
pub(crate) const SEED: &str = "seed";

/// Values of runs by row and column.
pub(crate) type SeedValues = BTreeMap<(String, String), Vec<f64>>;

/// Returns true if a file of ns-2's values has a line for each run.
pub(crate) fn has_seeds(path: &Path) -> bool {
    let text = tfrc_scenario::files::read_file(path).unwrap_or_default();
    let names = text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
    fields(names).iter().any(|name| name == SEED)
}

impl Table {
    /// Reads a file; its first columns are these keys, in any order.
    pub(crate) fn load(path: &Path, keys: &[&str], needed: &'static str) -> Result<Self, ExperimentError> {
        let name = path.display().to_string();
        let text = tfrc_scenario::files::read_file(path).map_err(|source| ExperimentError::Read {
            name: name.clone(),
            hint: needed,
            source,
        })?;
        Self::parse(&NamedText { name, text }, keys)
    }

    pub(crate) fn parse(source: &NamedText, keys: &[&str]) -> Result<Self, ExperimentError> {
        let mut at = 0;
        let mut lines = source.text.split_inclusive('\n').map(|line| {
            let place = at..at + line.trim_end().len();
            at += line.len();
            (place, line.trim())
        });
        let mut notes = Vec::new();
        let mut header = None;
        for (place, line) in lines.by_ref() {
            match line.strip_prefix('#') {
                Some(note) => notes.push(note.trim().to_owned()),
                None if line.is_empty() => {}
                None => {
                    header = Some((place, fields(line)));
                    break;
                }
            }
        }
        let Some((place, names)) = header else {
            let end = source.text.len();
            return Err(source.invalid(
                end..end,
                "the table is empty",
                "no line of names",
                "name its columns",
            ));
        };
        let (first, rest) = names.split_at(keys.len().min(names.len()));
        if !keys.iter().all(|key| first.iter().any(|name| name == key)) || first.is_empty() {
            let wanted = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            let hint = format!("the first columns are the keys of experiment.toml: {wanted}");
            return Err(source.invalid(
                place,
                "the key columns are not there",
                "these are the columns",
                hint,
            ));
        }
        let mut table = Self { notes, keys: first.to_vec(), columns: rest.to_vec(), rows: Vec::new() };
        for (place, line) in lines {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fields = fields(line);
            if fields.len() != names.len() {
                let message = format!("{} fields for {} columns", fields.len(), names.len());
                return Err(source.invalid(place, message, "this row", "leave a field empty for no value"));
            }
            let (keys, values) = fields.split_at(first.len());
            let values = values
                .iter()
                .map(|field| match field.as_str() {
                    "" => Ok(None),
                    written => Printed::parse(written).map(Some).ok_or_else(|| {
                        let message = format!("`{written}` is no number");
                        source.invalid(place.clone(), message, "in this row", "leave it empty for no value")
                    }),
                })
                .collect::<Result<Vec<_>, _>>()?;
            let name = keys.join("/");
            if table.rows.iter().any(|row| row.name == name) {
                let message = format!("the row `{name}` is there twice");
                return Err(source.invalid(place, message, "again", "keys tell rows apart"));
            }
            table.rows.push(Row { name, keys: keys.to_vec(), values });
        }
        Ok(table)
    }

    /// The means over the seeds of each row, and the values that they are made of.
    pub(crate) fn over_seeds(self) -> (Self, SeedValues) {
        let at = self.keys.iter().position(|key| key == SEED).unwrap_or(self.keys.len());
        let without = |keys: &[String]| -> Vec<String> {
            keys.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, text)| text.clone()).collect()
        };
        let mut rows: Vec<Row> = Vec::new();
        let mut runs = SeedValues::new();
        for row in &self.rows {
            let keys = without(&row.keys);
            let name = keys.join("/");
            for (column, value) in self.columns.iter().zip(&row.values) {
                let values = runs.entry((name.clone(), column.clone())).or_default();
                values.extend(value.map(|printed| printed.value));
            }
            if rows.iter().all(|row| row.name != name) {
                rows.push(Row { name, keys, values: Vec::new() });
            }
        }
        for row in &mut rows {
            let mean = |column: &String| mean(&runs[&(row.name.clone(), column.clone())]);
            let values =
                self.columns.iter().map(|column| Some(Printed { value: mean(column)?, half_unit: 0.0 }));
            row.values = values.collect();
        }
        (Self { keys: without(&self.keys), rows, ..self }, runs)
    }

    /// The value of a column in a row.
    pub(crate) fn get(&self, row: &str, column: &str) -> Option<Printed> {
        let at = self.columns.iter().position(|name| name == column)?;
        self.rows.iter().find(|one| one.name == row)?.values[at]
    }
}

/// The fields of a line of CSV; one in quotes may have commas and doubled quotes.
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

    fn parse(text: &str) -> Result<Table, ExperimentError> {
        Table::parse(&NamedText { name: "published.csv".to_owned(), text: text.to_owned() }, &["n", "buffer"])
    }

    #[test]
    fn rows_by_their_keys() {
        let table = parse("# from there\nbuffer,n,x,y\n12,5,1.0,\n\n24,5,2.0,3\n").expect("right");
        assert_eq!(table.notes, ["from there"]);
        assert_eq!(table.keys, ["buffer", "n"]);
        assert_eq!(table.get("24/5", "y").map(|p| p.value), Some(3.0));
        assert_eq!(table.get("12/5", "y"), None);
        assert_eq!(table.get("5/12", "x"), None);
    }

    #[test]
    fn means_over_seeds() {
        let text = "n,seed,x,y\n1,1,2,\n1,2,4,5\n2,1,7,\n".to_owned();
        let source = NamedText { name: "ns2.csv".to_owned(), text };
        let (means, runs) = Table::parse(&source, &["n", SEED]).expect("right").over_seeds();
        let of = |row: &str, column: &str| means.get(row, column).map(|printed| printed.value);
        assert_eq!(
            (of("1", "x"), of("1", "y"), of("2", "x"), of("2", "y")),
            (Some(3.0), Some(5.0), Some(7.0), None)
        );
        assert_eq!(runs[&("1".to_owned(), "x".to_owned())], [2.0, 4.0]);
        assert_eq!(means.keys, ["n"]);
    }

    #[test]
    fn mistakes() {
        for (text, says) in [
            ("", "empty"),
            ("x,y\n", "key columns"),
            ("n,buffer,x\n1,2\n", "2 fields for 3"),
            ("n,buffer,x\n1,2,a\n", "`a` is no number"),
            ("n,buffer,x\n1,2,3\n1,2,4\n", "twice"),
        ] {
            assert!(parse(text).is_err_and(|error| error.to_string().contains(says)), "{text}");
        }
    }
}
