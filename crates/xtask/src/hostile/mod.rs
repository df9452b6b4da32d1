//! `cargo xtask hostile`: attacks and faults against the built command `tfrc`, each with what happened to an honest transfer
//! beside it. `docs/security.md` and `docs/security-runs.md` say what each shows.
//!
//! Programs and attackers meet in namespaces that the run makes (`namespace.rs`) or on the loopback interface, never on
//! another network. A case needs no option of the program that the program does not name in its help, so that older
//! programs can be put to the same test: `--binary`.

mod engine;
mod files;
mod honest;
mod icmp;
mod namespace;
mod program;
mod stranger;

use std::fs;
use std::path::PathBuf;

use engine::{Bench, Case, Form};
use namespace::Entered;

use crate::{Outcome, cargo, root};

/// What was asked for.
struct Wish {
    binary: Option<PathBuf>,
    form: Form,
    markdown: Option<PathBuf>,
    names: Vec<String>,
}

impl Wish {
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut wish = Self { binary: None, form: Form::Long, markdown: None, names: Vec::new() };
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{word} needs a value"));
            match *word {
                "--binary" => wish.binary = Some(PathBuf::from(value()?)),
                "--markdown" => wish.markdown = Some(PathBuf::from(value()?)),
                "--short" => wish.form = Form::Short,
                option if option.starts_with('-') => {
                    return Err(format!("{option}: not an option of hostile"));
                }
                name => wish.names.push(name.to_owned()),
            }
        }
        Ok(wish)
    }
}

/// Runs `cargo xtask hostile` with these arguments.
pub(crate) fn from_arguments(arguments: &[&str]) -> Outcome {
    let mut wish = Wish::parse(arguments)?;
    let binary = match wish.binary.take() {
        Some(binary) => {
            fs::canonicalize(&binary).map_err(|error| format!("{}: {error}", binary.display()))?
        }
        None => build()?,
    };
    let (place, directory) = match namespace::enter()? {
        Entered::Done(0) => return Ok(()),
        Entered::Done(130) => return Err("interrupted".to_owned()),
        Entered::Done(_) => return Err("some rows fail".to_owned()),
        Entered::Here(place, directory) => (place, directory),
    };
    let mut bench =
        Bench { binary, directory, form: wish.form, place, undisturbed: std::time::Duration::ZERO };
    bench.undisturbed = honest::undisturbed(&bench)?;
    let outcome = attacks(&bench, &wish);
    if place == engine::Place::Machine {
        let _ = fs::remove_dir_all(&bench.directory);
    }
    outcome
}

fn attacks(bench: &Bench, wish: &Wish) -> Outcome {
    let all: Vec<&Case> = icmp::CASES.iter().chain(&files::CASES).collect();
    let chosen: Vec<&Case> = all
        .into_iter()
        .filter(|case| bench.form == Form::Long || case.least == Form::Short)
        .filter(|case| {
            wish.names.is_empty() || wish.names.iter().any(|name| case.name.starts_with(name.as_str()))
        })
        .collect();
    let results = engine::run(bench, &chosen);
    let table = engine::table(["attack", "sent", "what happened", "honest transfer"], &results);
    println!("{table}");
    if let Some(path) = &wish.markdown {
        fs::write(path, &table).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let failed = engine::failed(&results);
    if failed.is_empty() {
        println!("{} cases, none fails", results.len());
        Ok(())
    } else {
        Err(format!("{} of {} cases fail: {}", failed.len(), results.len(), failed.join(", ")))
    }
}

/// Builds the command and gives its path.
fn build() -> Result<PathBuf, String> {
    let status = cargo().args(["build", "--locked", "--quiet", "--package", "tfrc-cli"]).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err("the command does not build".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(root().join(target).join("debug/tfrc"))
}
