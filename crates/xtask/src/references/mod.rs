//! `cargo xtask references`: the values of ns-2 that experiments are compared with.
//!
//! `peers/ns2/references.toml` says which scripts are run with which arguments and seeds. Each run
//! is a line in `testdata/`, and `experiments/*/*/ns2.csv` are made from those lines: means, and
//! half the widths of their 95 % intervals.

mod data;
mod losses;
mod plan;
mod table;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use data::Data;
use plan::{References, Runs};

use crate::{Outcome, root};

/// `[--minutes N] [--seeds N] [--where KEY=VALUE]... NAME...` runs what is missing of these sets of
/// runs; without names the tables are written.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let plan = plan::read()?;
    let mut names = Vec::new();
    let mut limits = Limits { end: None, seeds: u32::MAX, only: Vec::new() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} takes a value"));
        match *word {
            "--minutes" => {
                let minutes: u64 = number(value()?)?;
                limits.end = Some(Instant::now() + Duration::from_secs(60 * minutes));
            }
            "--seeds" => limits.seeds = number(value()?)?,
            "--where" => {
                let text = value()?;
                let (key, value) = text.split_once('=').ok_or(format!("--where {text}: not KEY=VALUE"))?;
                limits.only.push((key.to_owned(), value.to_owned()));
            }
            name => names.push(name),
        }
    }
    for name in &names {
        let runs = plan.runs.get(*name).ok_or(format!(
            "{name}: no such set of runs; there are {}",
            plan.runs.keys().cloned().collect::<Vec<_>>().join(", ")
        ))?;
        fill(name, runs, &limits)?;
    }
    if names.is_empty() { tables(&plan) } else { Ok(()) }
}

/// Which of the missing runs are made.
struct Limits {
    /// No run begins later.
    end: Option<Instant>,
    /// The highest seed.
    seeds: u32,
    /// Texts that keys have to have.
    only: Vec<(String, String)>,
}

/// Makes the runs that are not in the file, all rows of a seed before those of the next.
fn fill(name: &str, runs: &Runs, limits: &Limits) -> Outcome {
    let mut data = Data::read(runs)?;
    let rows = runs.rows();
    let most = rows.iter().map(|(_, seeds)| *seeds).max().unwrap_or(0).min(limits.seeds);
    for seed in 1..=most {
        for (keys, seeds) in &rows {
            let wanted = |(key, text): &(String, String)| keys.get(key) == Some(text);
            if seed > *seeds || data.has(keys, seed) || !limits.only.iter().all(wanted) {
                continue;
            }
            if limits.end.is_some_and(|end| Instant::now() >= end) {
                println!("{name}: out of time before seed {seed}");
                return Ok(());
            }
            let values = ns2(runs, &runs.command(keys, seed))?;
            data.add(keys, seed, values)?;
        }
    }
    println!("{name}: complete");
    Ok(())
}

/// Runs ns-2 once; the values of the set's columns, in their order.
fn ns2(runs: &Runs, words: &[String]) -> Result<Vec<String>, String> {
    let output = Command::new("nice")
        .args(["-n", "10", "ns"])
        .arg(root().join("peers/ns2").join(&runs.script))
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("ns-2 does not run: {e}. Install Debian's package ns2"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let mut printed: Vec<(String, String)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("R ")?.split_once(' '))
        .flat_map(|(name, value)| numbered(name, value.trim()))
        .collect();
    if let Some(from) = runs.losses_from {
        let losses = losses::of_a_flow(&String::from_utf8_lossy(&output.stdout), from);
        printed.extend(losses.into_iter().map(|(name, value)| (name.to_owned(), short(&value.to_string()))));
    }
    let value =
        |name: &String| printed.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let asked =
        runs.columns.iter().map(|column| column.rsplit_once('=').map_or(column.as_str(), |(_, from)| from));
    let values: Vec<Option<String>> = asked.map(|from| value(&from.to_owned())).collect();
    if !output.status.success() || values.iter().all(Option::is_none) {
        return Err(format!("ns {} {}: {}", runs.script, words.join(" "), text.trim()));
    }
    Ok(values.into_iter().map(Option::unwrap_or_default).collect())
}

/// The values of a result: a list `NAME A,B,…` is `NAME_1`, `NAME_2` and so on.
fn numbered(name: &str, value: &str) -> Vec<(String, String)> {
    if !value.contains(',') {
        return vec![(name.to_owned(), short(value))];
    }
    (1..).zip(value.split(',')).map(|(number, value)| (format!("{name}_{number}"), short(value))).collect()
}

/// A number with six digits at most; any other text as it is.
fn short(text: &str) -> String {
    let Ok(value) = text.parse::<f64>() else { return text.to_owned() };
    table::digits(value, 6)
}

/// Writes every `ns2.csv` of the plan.
fn tables(plan: &References) -> Outcome {
    for table in &plan.table {
        table::write(plan, table)?;
    }
    println!("{} tables are written", plan.table.len());
    Ok(())
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text}: not a whole number"))
}
