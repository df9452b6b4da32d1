//! Does the code do what the specifications ask? Every item of `compliance/` must name code that
//! cites the section and tests that exist, or an exception with its reason.

pub(crate) mod known_tests;
pub(crate) mod lists;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::mutants::{self, Mutant, report};
use crate::{Outcome, root};
use lists::{Item, ItemState, Level, Lists, Section};

/// Totals of one section.
#[derive(Debug, Default, Serialize)]
struct SectionCount {
    rfc: u16,
    section: String,
    title: String,
    items: usize,
    /// Items with code and tests.
    done: usize,
    /// Items with a reason instead.
    exceptions: usize,
    /// Items still to be done.
    planned: usize,
    /// Changes that a test must notice.
    mutations: usize,
}

#[derive(Debug, Serialize)]
struct Summary {
    sections: Vec<SectionCount>,
    requirements: Vec<words::LevelCount>,
    subtle_points: usize,
    subtle_points_with_test: usize,
    holes: Vec<String>,
}

/// `cargo xtask compliance`: the tally per section; an error when there is a hole.
pub(crate) fn check() -> Outcome {
    let summary = summary()?;
    println!(
        "   {:<8} {:>5} {:>5} {:>10} {:>8} {:>9}",
        "section", "items", "done", "exceptions", "planned", "mutations"
    );
    for t in &summary.sections {
        println!(
            "   {:<8} {:>5} {:>5} {:>10} {:>8} {:>9}  {}",
            format!("{} {}", t.rfc, t.section),
            t.items,
            t.done,
            t.exceptions,
            t.planned,
            t.mutations,
            t.title
        );
    }
    for count in &summary.requirements {
        println!("   {count}");
    }
    let sum = |part: fn(&SectionCount) -> usize| summary.sections.iter().map(part).sum::<usize>();
    println!(
        "   {} items: {} done, {} exceptions, {} planned; {} mutations; {} subtle points, {} with a test",
        sum(|t| t.items),
        sum(|t| t.done),
        sum(|t| t.exceptions),
        sum(|t| t.planned),
        sum(|t| t.mutations),
        summary.subtle_points,
        summary.subtle_points_with_test
    );
    verdict(&summary)
}

/// `cargo xtask compliance --json`: the same as one document.
pub(crate) fn json() -> Outcome {
    let summary = summary()?;
    println!("{}", serde_json::to_string_pretty(&summary).map_err(|e| e.to_string())?);
    verdict(&summary)
}

fn verdict(summary: &Summary) -> Outcome {
    if summary.holes.is_empty() {
        Ok(())
    } else {
        Err(format!("{} holes\n  {}", summary.holes.len(), summary.holes.join("\n  ")))
    }
}

fn summary() -> Result<Summary, String> {
    let lists = lists::read(&root().join("compliance"))?;
    let tests = known_tests::of(&packages(&lists))?;
    let read = |name: &str| std::fs::read_to_string(root().join(name)).ok();
    let mut holes = holes(&lists, &tests, &read);
    holes.extend(words::holes(&lists));
    let requirements = words::tally(&lists);
    holes.extend(words::missing_rows(&read(words::PAGE).unwrap_or_default(), &requirements));
    let page = read(mutants::REPORT).unwrap_or_default();
    holes.extend(stale_rows(&mutants::mutants(&lists)?, &mutants::report::rows(&page)));
    Ok(Summary {
        sections: lists.sections.iter().map(|section| tally(section, &lists.exceptions)).collect(),
        requirements,
        subtle_points: lists.points.len(),
        subtle_points_with_test: lists.points.iter().filter(|p| !p.tests.is_empty()).count(),
        holes,
    })
}

/// The packages whose tests are named.
fn packages(lists: &Lists) -> BTreeSet<String> {
    let items = lists.sections.iter().flat_map(|s| &s.items).flat_map(|i| &i.tests);
    let points = lists.points.iter().flat_map(|p| &p.tests);
    items
        .chain(points)
        .filter_map(|test| test.split_once("::"))
        .map(|(package, _)| package.to_owned())
        .collect()
}

fn tally(section: &Section, exceptions: &BTreeMap<String, String>) -> SectionCount {
    let mut tally = SectionCount {
        rfc: section.rfc,
        section: section.section.clone(),
        title: section.title.clone(),
        ..SectionCount::default()
    };
    for item in &section.items {
        tally.items += 1;
        tally.mutations += item.mutations.len();
        if exceptions.contains_key(&section.name_of(item)) {
            tally.exceptions += 1;
        } else if item.state == ItemState::Planned {
            tally.planned += 1;
        } else {
            tally.done += 1;
        }
    }
    tally
}

/// Everything that is wrong with the lists, given the tests there are and a way to read a file.
fn holes(lists: &Lists, tests: &BTreeSet<String>, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut holes = Vec::new();
    let mut names = BTreeSet::new();
    for section in &lists.sections {
        for item in &section.items {
            let name = section.name_of(item);
            let mut faults = if lists.exceptions.contains_key(&name) {
                Vec::new()
            } else if item.state == ItemState::Planned {
                vec!["planned, not done".to_owned()]
            } else {
                faults_of(section, item, tests, read)
            };
            if item.text.trim().is_empty() {
                faults.push("says nothing".to_owned());
            }
            if !names.insert(name.clone()) {
                faults.push("is there twice".to_owned());
            }
            holes.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
        }
    }
    for (item, reason) in &lists.exceptions {
        if !names.contains(item) {
            holes.push(format!("exceptions: there is no item {item}"));
        }
        if reason.trim().is_empty() {
            holes.push(format!("exceptions: {item} gives no reason"));
        }
    }
    for point in &lists.points {
        let name = format!("subtle point {} {} ({})", point.rfc, point.section, first_words(&point.text));
        match (&point.reason, point.state) {
            (_, ItemState::Planned) => holes.push(format!("{name}: planned, not done")),
            (Some(reason), _) if point.tests.is_empty() && !reason.trim().is_empty() => {}
            (Some(_), _) => holes.push(format!("{name}: either tests or a reason")),
            (None, _) => holes.extend(missing_tests(&point.tests, tests).map(|f| format!("{name}: {f}"))),
        }
    }
    holes
}

/// Rows of the report on mutants whose text no longer occurs: they say nothing of the code as it
/// is.
fn stale_rows(mutants: &[Mutant], rows: &[report::MutantRow]) -> Vec<String> {
    let known: BTreeSet<_> = mutants.iter().map(|m| (m.name.clone(), report::change(m))).collect();
    rows.iter()
        .filter(|row| !known.contains(&(row.name.clone(), row.change.clone())))
        .map(|row| {
            format!(
                "{}: {} is no mutation of the lists: cargo xtask mutants {}",
                mutants::REPORT,
                row.name,
                row.name
            )
        })
        .collect()
}

fn faults_of(
    section: &Section,
    item: &Item,
    tests: &BTreeSet<String>,
    read: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut faults: Vec<String> = missing_tests(&item.tests, tests).collect();
    match item.code.as_deref().map(|code| (code, read(code))) {
        None => faults.push("names no code".to_owned()),
        Some((code, None)) => faults.push(format!("there is no file {code}")),
        Some((code, Some(text))) => {
            let anchor = section.anchor_of(item);
            if !is_cited(&text, &anchor) {
                faults.push(format!("no comment in {code} cites {anchor}"));
            }
        }
    }
    if item.level == Level::Branch && item.mutations.is_empty() {
        faults.push("a branch needs a mutation".to_owned());
    }
    for (number, mutation) in item.mutations.iter().enumerate() {
        let fault = match mutation.file.as_deref().or(item.code.as_deref()) {
            None => Some("names no file".to_owned()),
            Some(file) => match read(file).map(|text| text.matches(&mutation.find).count()) {
                None => Some(format!("there is no file {file}")),
                Some(1) if mutation.find != mutation.replace => None,
                Some(1) => Some("changes nothing".to_owned()),
                Some(times) => {
                    Some(format!("its text occurs {times} times in {file}: `{}`", mutation.find.trim()))
                }
            },
        };
        faults.extend(fault.map(|fault| format!("mutation {}: {fault}", number + 1)));
    }
    faults
}

fn missing_tests<'a>(named: &'a [String], tests: &'a BTreeSet<String>) -> impl Iterator<Item = String> + 'a {
    let none = named.is_empty().then(|| "names no test".to_owned());
    none.into_iter()
        .chain(named.iter().filter(|t| !tests.contains(*t)).map(|t| format!("there is no test {t}")))
}

/// Returns true if a comment cites exactly this: `§4.3` is not cited by `§4.31`, `§4.3.1` or code.
fn is_cited(text: &str, anchor: &str) -> bool {
    text.lines().filter_map(|line| line.split_once("//")).any(|(_, comment)| {
        comment.match_indices(anchor).any(|(at, _)| {
            let rest = comment.get(at + anchor.len()..).unwrap_or_default();
            let mut next = rest.chars();
            match next.next() {
                Some('.') => !next.next().is_some_and(|c| c.is_ascii_digit()),
                Some(c) => !c.is_ascii_digit(),
                None => true,
            }
        })
    })
}

fn first_words(text: &str) -> String {
    text.split_whitespace().take(6).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "// RFC 5348 §4.3 step 4.\nlet x = a.min(b);\n";

    fn lists(item: &str, exceptions: &[(&str, &str)]) -> Lists {
        let text = format!("rfc = 5348\nsection = \"4.3\"\ntitle = \"t\"\n[[item]]\n{item}");
        Lists {
            sections: vec![toml::from_str(&text).expect("a section")],
            exceptions: exceptions.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
            points: Vec::new(),
            words: Vec::new(),
        }
    }

    fn found(item: &str, exceptions: &[(&str, &str)]) -> Vec<String> {
        let tests = BTreeSet::from(["tfrc::a".to_owned()]);
        holes(&lists(item, exceptions), &tests, &|name| (name == "a.rs").then(|| CODE.to_owned()))
    }

    const GOOD: &str = "id = \"x\"\nlevel = \"branch\"\ntext = \"t\"\ncode = \"a.rs\"\nanchor = \"§4.3 step 4\"\n\
                        tests = [\"tfrc::a\"]\nmutation = [{ find = \"a.min(b)\", replace = \"a\" }]\n";

    #[test]
    fn a_whole_item_is_no_hole() {
        assert_eq!(found(GOOD, &[]), [""; 0]);
    }

    #[test]
    fn each_hole_is_found() {
        for (from, to) in [
            ("tfrc::a", "tfrc::b"),
            ("[\"tfrc::a\"]", "[]"),
            ("a.rs", "b.rs"),
            ("step 4", "step 5"),
            ("find = \"a.min(b)\"", "find = \"a.max(b)\""),
            ("replace = \"a\"", "replace = \"a.min(b)\""),
            ("mutation = [{ find = \"a.min(b)\", replace = \"a\" }]\n", ""),
            ("id = \"x\"", "id = \"x\"\nstate = \"planned\""),
            ("text = \"t\"", "text = \" \""),
        ] {
            assert!(!found(&GOOD.replace(from, to), &[]).is_empty(), "{from} → {to}");
        }
    }

    #[test]
    fn exceptions_need_an_item_and_a_reason() {
        let bare = "id = \"x\"\nlevel = \"MAY\"\ntext = \"t\"\n";
        assert_eq!(found(bare, &[]).len(), 2);
        assert_eq!(found(bare, &[("5348/4.3/x", "why")]), [""; 0]);
        assert_eq!(found(bare, &[("5348/4.3/x", "")]).len(), 1);
        assert_eq!(found(bare, &[("5348/4.3/x", "why"), ("5348/4.3/y", "why")]).len(), 1);
    }

    #[test]
    fn citations_end_where_they_should() {
        for (comment, expected) in [
            ("// §4.3", true),
            ("// §4.3.", true),
            ("/// (§4.3)", true),
            ("// §4.3.1", false),
            ("// §4.31", false),
        ] {
            assert_eq!(is_cited(comment, "§4.3"), expected, "{comment}");
        }
        assert!(!is_cited("let s = \"§4.3\";", "§4.3"));
        assert!(!is_cited("// §4.3 step 12", "§4.3 step 1"));
    }
}
