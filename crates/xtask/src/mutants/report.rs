//! The report of a run over all mutants, for reading.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::mutants::{Fate, Mutant};

/// `compliance/mutants.md`. The same results give the same bytes.
pub(super) fn markdown(results: &[(Mutant, Fate)]) -> String {
    let mut text = "# Mutants\n\nWritten by `cargo xtask mutants`; do not edit. Each line is a change of the code that breaks one rule of the lists in \
                    this folder.\n*Killed* means that a test named for the rule fails with it.\n\n\
                    | section | mutants | killed | survive, explained | survive | other |\n| --- | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    let mut sections: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    for (mutant, fate) in results {
        let section = mutant.name.rsplit_once('/').map_or("", |(section, _)| section);
        for row in [section, "~all"] {
            let row = sections.entry(row).or_default();
            row[0] += 1;
            row[column(mutant, fate)] += 1;
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
    let survivors: Vec<_> = results.iter().filter(|(m, f)| column(m, f) != 1).collect();
    if !survivors.is_empty() {
        line(&mut text, format_args!("\n## Not killed by a test of the rule\n"));
        for (mutant, fate) in survivors {
            let why = match (fate, &mutant.survives) {
                (Fate::Survived, Some(why)) => why.clone(),
                (Fate::Survived, None) => "not explained".to_owned(),
                (Fate::KilledByOthers(test), _) => format!("killed by {test} only"),
                (Fate::Broken(why), _) => format!("cannot be tried: {}", flat(why)),
                (Fate::Killed, _) => "killed".to_owned(),
            };
            line(
                &mut text,
                format_args!(
                    "* `{}`: {} → {}. {why}",
                    mutant.name,
                    code(&mutant.find),
                    code(&mutant.replace)
                ),
            );
        }
    }
    line(&mut text, format_args!("\n## All\n\n| mutant | file | change | |\n| --- | --- | --- | --- |"));
    for (mutant, fate) in results {
        let verdict =
            ["", "killed", "survives (explained)", "**survives**", "**other**"][column(mutant, fate)];
        let file = mutant.file.trim_start_matches("crates/tfrc/src/");
        let (find, replace) = (code(&mutant.find), code(&mutant.replace));
        line(&mut text, format_args!("| {} | {file} | {find} → {replace} | {verdict} |", mutant.name));
    }
    text
}

/// Which column of the table counts it.
fn column(mutant: &Mutant, fate: &Fate) -> usize {
    match (fate, &mutant.survives) {
        (Fate::Killed, None) => 1,
        (Fate::Survived, Some(_)) => 2,
        (Fate::Survived, None) => 3,
        (Fate::Killed | Fate::KilledByOthers(_) | Fate::Broken(_), _) => 4,
    }
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
