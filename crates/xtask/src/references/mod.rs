//! `cargo xtask references`: the values of ns-2 that experiments are compared with.
//!
//! `experiments/ns2/scripts/references.toml` says which scripts are run with which arguments and
//! seeds. Each run is a line in `testdata/`, and `experiments/*/*/ns2.csv` are made from those
//! lines: means, and half the widths of their 95 % intervals.

mod data;
mod losses;
mod plan;
mod table;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use data::Data;
use plan::{References, Runs};

use crate::{Outcome, root};

/// The runs of ns-2 to make.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// Begins no run later than this many minutes from now
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    /// The highest seed
    #[arg(long, value_name = "N", default_value_t = u32::MAX, hide_default_value = true)]
    seeds: u32,
    /// Makes only the runs whose keys have these texts
    #[arg(long = "where", value_name = "KEY=VALUE", value_parser = key)]
    only: Vec<(String, String)>,
    /// Sets of runs, whose missing runs are made; without one the tables are written
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

fn key(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("not KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Runs what is missing of these sets of runs, or writes the tables.
pub(crate) fn run(choice: &Choice) -> Outcome {
    let plan = plan::read()?;
    let end = choice.minutes.map(|minutes| Instant::now() + Duration::from_mins(minutes));
    for name in &choice.names {
        let runs = plan.runs.get(name).ok_or(format!(
            "{name}: no such set of runs; there are {}",
            plan.runs.keys().cloned().collect::<Vec<_>>().join(", ")
        ))?;
        fill(name, runs, choice, end)?;
    }
    if choice.names.is_empty() { tables(&plan) } else { Ok(()) }
}

/// Makes the runs that are not in the file, all rows of a seed before those of the next.
fn fill(name: &str, runs: &Runs, limits: &Choice, end: Option<Instant>) -> Outcome {
    let mut data = Data::read(runs)?;
    let rows = runs.rows();
    let most = rows.iter().map(|(_, seeds)| *seeds).max().unwrap_or(0).min(limits.seeds);
    for seed in 1..=most {
        for (keys, seeds) in &rows {
            let wanted = |(key, text): &(String, String)| keys.get(key) == Some(text);
            if seed > *seeds || data.has(keys, seed) || !limits.only.iter().all(wanted) {
                continue;
            }
            if end.is_some_and(|end| Instant::now() >= end) {
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
        .arg(root().join("experiments/ns2/scripts").join(&runs.script))
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
