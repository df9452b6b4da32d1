//! The report of mutants tried, for reading: a run over some of them changes their rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::mutants::{Mutant, MutantFate};

/// A row of the report: a mutant, what became of it and at which commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MutantRow {
    pub(crate) name: String,
    /// File and change as the report shows them.
    pub(crate) change: String,
    verdict: String,
    commit: String,
}

const KILLED: &str = "killed";
const EXPLAINED: &str = "survives (explained)";
const SURVIVES: &str = "**survives**";
const OTHER: &str = "**other**";

/// The rows of a report.
pub(crate) fn rows(text: &str) -> Vec<MutantRow> {
    let table = text.split_once("\n## All\n").map_or("", |(_, table)| table);
    table
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
            let (rest, commit) = rest.strip_suffix(" |")?.rsplit_once(" | ")?;
            let (change, verdict) = rest.rsplit_once(" | ")?;
            let row = MutantRow {
                name: name.to_owned(),
                change: change.to_owned(),
                verdict: verdict.to_owned(),
                commit: commit.to_owned(),
            };
            (row.name.contains('/')).then_some(row)
        })
        .collect()
}

/// The change of a mutant as the report shows it.
pub(crate) fn change(mutant: &Mutant) -> String {
    let file = mutant.file.trim_start_matches("crates/tfrc/src/").trim_start_matches("crates/");
    format!("{file} | {} → {}", code(&mutant.find), code(&mutant.replace))
}

/// The rows of `all` mutants: of those just tried at `commit`, and of the rest as `old` has them,
/// if they are the same changes.
pub(super) fn merged(
    all: &[Mutant],
    old: &[MutantRow],
    results: &[(Mutant, MutantFate)],
    commit: &str,
) -> Vec<MutantRow> {
    all.iter()
        .filter_map(|mutant| {
            let change = change(mutant);
            match results.iter().find(|(tried, _)| tried.name == mutant.name) {
                Some((_, fate)) => Some(MutantRow {
                    name: mutant.name.clone(),
                    change,
                    verdict: verdict(mutant, fate).to_owned(),
                    commit: commit.to_owned(),
                }),
                None => old.iter().find(|row| row.name == mutant.name && row.change == change).cloned(),
            }
        })
        .collect()
}

/// `compliance/mutants.md`. The same rows give the same bytes.
pub(super) fn markdown(rows: &[MutantRow], all: &[Mutant]) -> String {
    let mut text = "# Mutants\n\nWritten by `cargo xtask mutants`; do not edit. Each line is a change of the code that breaks one rule of the lists in\n\
                    this folder, tried at the commit in the last column. *Killed* means that a test named for the rule fails with it.\n\n\
                    | section | mutants | killed | survive, explained | survive | other |\n| --- | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    let mut sections: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    for row in rows {
        let section = row.name.rsplit_once('/').map_or("", |(section, _)| section);
        for counts in [section, "~all"] {
            let counts = sections.entry(counts).or_default();
            counts[0] += 1;
            counts[column(&row.verdict)] += 1;
        }
    }
    for (section, row) in &sections {
        let name = if *section == "~all" { "**all**".to_owned() } else { section.replacen('/', " §", 1) };
        let [mutants, killed, explained, survive, other] = row;
        line(
            &mut text,
            format_args!("| {name} | {mutants} | {killed} | {explained} | {survive} | {other} |"),
        );
    }
    let missing: Vec<_> =
        all.iter().filter(|m| rows.iter().all(|row| row.name != m.name)).map(|m| m.name.as_str()).collect();
    if !missing.is_empty() {
        line(&mut text, format_args!("\nNot tried yet: {}.", missing.join(", ")));
    }
    let survivors: Vec<_> = rows.iter().filter(|row| row.verdict != KILLED).collect();
    if !survivors.is_empty() {
        line(&mut text, format_args!("\n## Not killed by a test of the rule\n"));
        for row in survivors {
            let reason = all.iter().find(|m| m.name == row.name).and_then(|m| m.survives.as_deref());
            let why = reason.unwrap_or("not explained");
            line(&mut text, format_args!("* `{}`: {}", row.name, why));
        }
    }
    line(
        &mut text,
        format_args!("\n## All\n\n| mutant | file | change | | commit |\n| --- | --- | --- | --- | --- |"),
    );
    for MutantRow { name, change, verdict, commit } in rows {
        line(&mut text, format_args!("| {name} | {change} | {verdict} | {commit} |"));
    }
    text
}

fn verdict(mutant: &Mutant, fate: &MutantFate) -> &'static str {
    match (fate, &mutant.survives) {
        (MutantFate::Killed, None) => KILLED,
        (MutantFate::Survived, Some(_)) => EXPLAINED,
        (MutantFate::Survived, None) => SURVIVES,
        (MutantFate::Killed | MutantFate::KilledByOthers(_) | MutantFate::Broken(_), _) => OTHER,
    }
}

/// Which column of the table counts it.
fn column(verdict: &str) -> usize {
    [KILLED, EXPLAINED, SURVIVES].iter().position(|known| *known == verdict).map_or(4, |i| i + 1)
}

/// Code in a cell of a table.
fn code(text: &str) -> String {
    let text = flat(text).replace('|', "\\|");
    if text.is_empty() { "nothing".to_owned() } else { format!("`{text}`") }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(name: &str, find: &str) -> Mutant {
        Mutant {
            name: name.to_owned(),
            rule: String::new(),
            package: crate::mutants::PACKAGES[0],
            file: "crates/tfrc/src/a.rs".to_owned(),
            find: find.to_owned(),
            replace: "x | y".to_owned(),
            tests: Vec::new(),
            survives: None,
        }
    }

    /// A run over one mutant changes its row; the row of a text that has changed since is dropped.
    #[test]
    fn rows_outlast_a_run_over_others() {
        let all = [mutant("5348/1/a:1", "a"), mutant("5348/1/b:1", "b"), mutant("5348/1/c:1", "c")];
        let tried: Vec<_> = all.iter().map(|m| (m.clone(), MutantFate::Killed)).collect();
        let first = merged(&all, &[], &tried, "one");
        let page = markdown(&first, &all);
        assert_eq!(rows(&page), first);
        let now = [mutant("5348/1/a:1", "a"), mutant("5348/1/b:1", "B"), mutant("5348/1/c:1", "c")];
        let again = [(now[2].clone(), MutantFate::Survived)];
        let second = merged(&now, &rows(&page), &again, "two");
        let commits: Vec<_> = second.iter().map(|row| (row.name.as_str(), row.commit.as_str())).collect();
        assert_eq!(commits, [("5348/1/a:1", "one"), ("5348/1/c:1", "two")]);
        let page = markdown(&second, &now);
        assert!(page.contains("Not tried yet: 5348/1/b:1."), "{page}");
        assert!(page.contains("| **all** | 2 | 1 | 0 | 1 | 0 |"), "{page}");
    }
}
