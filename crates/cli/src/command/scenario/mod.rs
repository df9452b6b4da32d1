//! `tfrc scenario`: the built-in scenarios, and a start for one's own.

use std::fs::OpenOptions;
use std::io::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use tfrc_lab::library::{BuiltIn, LibraryError};

use super::print;
use crate::args::{ScenarioArgs, ScenarioCommand};
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
/// [`Failure::Usage`] for a name that is none, [`Failure::Run`] if a file cannot be written.
pub fn run(args: &ScenarioArgs) -> Result<(), Failure> {
    match &args.command {
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
        ScenarioCommand::New { file: None } => print(START),
        ScenarioCommand::New { file: Some(path) } => {
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            let written = file.and_then(|mut file| file.write_all(START.as_bytes()));
            match written {
                Ok(()) => {
                    eprintln!("written; `tfrc sim {} --report page.html` runs it", path.display());
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

/// A line for each scenario.
fn list() -> String {
    let width = BuiltIn::all().map(|one| one.name.len()).max().unwrap_or(0);
    BuiltIn::all().map(|one| format!("{:<width$}  {}\n", one.name, one.about())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_lab::scenario::{Document, World};

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
    fn a_line_for_each() {
        let list = list();
        assert_eq!(list.lines().count(), BuiltIn::all().count());
        assert!(list.contains("\nbottleneck           The standard bottleneck: 2 Mbit/s"), "{list}");
    }
}
