//! `tfrc scenario`: the built-in scenarios, and a start for one's own.

mod trace;

use std::fs::OpenOptions;
use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use tfrc_scenario::library::{BuiltIn, LibraryError};
use tfrc_scenario::{hint, reference};

use super::print;
use crate::args::{ScenarioArgs, ScenarioCommand};
use crate::visible::{to_stderr, visible};
use crate::{Failure, document};

/// A commented scenario to start from.
const START: &str = include_str!("start.toml");

/// The scenarios of the program.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScenarioList {
    /// In the order of their names.
    scenarios: Vec<ScenarioEntry>,
}

/// A scenario of the program.
#[derive(Debug, Serialize, JsonSchema)]
struct ScenarioEntry {
    /// Its name, as `sim`, `emu` and `link` take it.
    name: &'static str,
    /// A sentence about it.
    about: String,
}

/// Runs `tfrc scenario`.
///
/// # Errors
/// [`Failure::Usage`] for an unknown name, [`Failure::Run`] if a file cannot be written.
pub(crate) fn run(args: &ScenarioArgs) -> Result<(), Failure> {
    match &args.command {
        ScenarioCommand::Keys { markdown: true, .. } => print(&reference::markdown()),
        ScenarioCommand::Keys { table: None, .. } => print(&tables()),
        ScenarioCommand::Keys { table: Some(table), .. } => print(&keys(table)?),
        ScenarioCommand::List { output } if output.json => {
            let entry = |one: BuiltIn| ScenarioEntry { name: one.name, about: one.about() };
            let list = ScenarioList { scenarios: BuiltIn::all().map(entry).collect() };
            print(&format!("{}\n", document::text(&list)))
        }
        ScenarioCommand::List { .. } => print(&list()),
        ScenarioCommand::Show { name } => match BuiltIn::find(name) {
            Some(found) => print(found.text),
            None => Err(LibraryError::unknown(name).into()),
        },
        ScenarioCommand::Trace(args) => print(&trace::of_log(args)?),
        ScenarioCommand::New { file: None } => print(START),
        ScenarioCommand::New { file: Some(path) } => {
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            let written = file.and_then(|mut file| file.write_all(START.as_bytes()));
            match written {
                Ok(()) => {
                    let next = format!("written; `tfrc sim {} --report page.html` runs it", path.display());
                    to_stderr(&visible(&next));
                    Ok(())
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(Failure::usage(
                    format!("{}: the file exists already", path.display()),
                    "name another file",
                )),
                Err(error) => Err(Failure::io(&path.display(), &error)),
            }
        }
    }
}

/// Columns of a terminal that a text fills.
const WIDTH: usize = 100;

/// A line for each table of a scenario.
fn tables() -> String {
    let all = reference::tables();
    let width = all.iter().map(|table| table.heading().len()).max().unwrap_or(0);
    let lines: String =
        all.iter().map(|table| format!("{:<width$}  {}\n", table.heading(), table.about)).collect();
    format!(
        "{lines}\n`tfrc scenario keys TABLE` explains the keys of a table; \"top\" is the top of the file.\n"
    )
}

/// The keys of a table and of those inside it.
fn keys(wanted: &str) -> Result<String, Failure> {
    let found = match wanted {
        "top" => reference::tables().into_iter().filter(|table| table.path.is_empty()).collect(),
        _ => reference::find(wanted),
    };
    if found.is_empty() {
        let all = reference::tables();
        let known: Vec<&str> = all.iter().map(|table| table.path.as_str()).collect();
        return Err(Failure::usage(format!("a scenario has no table `{wanted}`"), hint(wanted, &known)));
    }
    let texts: Vec<String> = found.iter().map(|table| table.text(WIDTH)).collect();
    Ok(texts.join("\n"))
}

/// A line for each scenario.
fn list() -> String {
    let width = BuiltIn::all().map(|one| one.name.len()).max().unwrap_or(0);
    BuiltIn::all().map(|one| format!("{:<width$}  {}\n", one.name, one.about())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_scenario::{Document, World};

    #[test]
    fn the_start_is_a_scenario_for_every_world() {
        let document = Document::new("start.toml", START);
        for world in [World::Simulated, World::Emulated, World::Links] {
            assert_eq!(document.plan_for(world).expect("right").points.len(), 1);
        }
        // What stands in comments is right, too.
        let wanted = START.replace("# [[sweep]]", "[[sweep]]").replace("# set =", "set =");
        let wanted = wanted.replace("# values =", "values =").replace("# runs = 10", "runs = 10");
        let wanted = wanted.replace("# loss =", "loss =").replace("# changes =", "changes =");
        let plan = Document::new("start.toml", wanted).plan().expect("right");
        assert_eq!((plan.points.len(), plan.runs), (3, 10));
    }

    #[test]
    fn keys_of_a_table_in_the_words_of_the_file() {
        let codel = keys("link.queue.codel").expect("there is one");
        assert!(codel.starts_with("[link.queue.codel]  Controlled delay"), "{codel}");
        assert!(codel.contains("\n  ecn ") && codel.contains("\n      \"off\" "), "{codel}");
        assert!(keys("[[flow]]").expect("it is").contains("\n[flow.tcp]"), "with the tables inside");
        assert!(tables().lines().all(|line| line.contains("  ") || !line.starts_with('[')));
        let failure = keys("flow.tpc").expect_err("a mistake");
        assert!(failure.to_string().contains("flow.tpc"));
    }

    #[test]
    fn a_line_for_each() {
        let list = list();
        assert_eq!(list.lines().count(), BuiltIn::all().count());
        assert!(list.contains("\nbottleneck           The standard bottleneck: 2 Mbit/s"), "{list}");
    }
}
