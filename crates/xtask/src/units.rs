//! Compile units: how often `./check` starts the compiler, counted by `crates/xtask/count` and held
//! against a recorded number, so that adding a dependency shows its price.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::{Outcome, root};

/// The file that `crates/xtask/count` writes, a line for each unit; `./check` names it.
const VARIABLE: &str = "TFRC_UNITS";
/// The number of units of a check from nothing.
const RECORD: &str = "crates/xtask/units.txt";
/// The growth that is too much, in parts of a hundred.
const GROWTH: usize = 3;

/// The count of one check.
pub(crate) struct Units {
    list: Option<PathBuf>,
    started: SystemTime,
}

impl Units {
    /// Goes on with the list that `./check` began.
    ///
    /// # Errors
    /// When the record is not a number: before an hour is spent.
    pub(crate) fn start() -> Result<Self, String> {
        recorded()?;
        let list = std::env::var_os(VARIABLE).map(PathBuf::from);
        if list.is_none() {
            println!("units are not counted: ./check does that");
        }
        Ok(Self { list, started: SystemTime::now() })
    }

    /// The units so far.
    pub(crate) fn count(&self) -> usize {
        let text = self.list.as_ref().and_then(|list| std::fs::read_to_string(list).ok());
        text.map_or(0, |text| text.lines().count())
    }

    /// The time from the list's beginning to [`Units::start`]; its first line is when that was.
    pub(crate) fn before(&self) -> Duration {
        let begun = self.list.as_ref().map(|list| list.with_extension("begun"));
        let begun = begun.and_then(|file| std::fs::metadata(file).and_then(|file| file.modified()).ok());
        begun.and_then(|begun| self.started.duration_since(begun).ok()).unwrap_or_default()
    }
}

/// Says whether this many units are within the record.
pub(crate) fn judged(units: usize) -> Outcome {
    verdict(units, recorded()?)
}

fn verdict(units: usize, recorded: usize) -> Outcome {
    if units * 100 > recorded * (100 + GROWTH) {
        return Err(format!(
            "{units} units compiled, {recorded} recorded: that is what new dependencies, features or \
             programs cost; if they are worth it, write {units} into {RECORD}"
        ));
    }
    println!("{units} units compiled; {recorded} recorded, {GROWTH} % more would be too many");
    Ok(())
}

fn recorded() -> Result<usize, String> {
    let text = std::fs::read_to_string(root().join(RECORD)).map_err(|error| format!("{RECORD}: {error}"))?;
    text.trim().parse().map_err(|_| format!("{RECORD}: not a number"))
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn three_in_a_hundred_more_are_too_many() {
        assert_eq!([0, 1000, 1030].map(|units| verdict(units, 1000).is_ok()), [true; 3]);
        assert!(verdict(1031, 1000).is_err());
    }
}
