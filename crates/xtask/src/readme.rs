//! `cargo xtask readme`: the commands of README.md, pasted into a shell as a user would who has
//! just come.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::{Outcome, cargo, root};

/// The heading of the commands that install the program; they are pasted in the checkout.
const INSTALL: &str = "Install";
/// The headings of commands for an empty folder, and what they print if all went well.
const DOORS: [(&str, &str); 3] =
    [("Stream with it", "equal"), ("Build on it", " allowed, p = "), ("Study with it", "goodput")];

/// The program that the commands find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    /// That of a folder; the commands under `Install` are left out.
    In(PathBuf),
    /// The one that the commands under `Install` make.
    Installed,
}

/// Builds the program, and pastes with that.
pub(crate) fn built() -> Outcome {
    let built = cargo().args(["build", "--release", "--locked", "--package", "tfrc-cli"]).status();
    match built.is_ok_and(|status| status.success()) {
        true => run(&Program::In(root().join("target/release"))),
        false => Err("the command does not build".to_owned()),
    }
}

/// Pastes the commands, in an empty folder of its own for each heading, and away from the checkout.
pub(crate) fn run(program: &Program) -> Outcome {
    let text = std::fs::read_to_string(root().join("README.md")).map_err(|e| format!("README.md: {e}"))?;
    let place = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    let home = match program {
        Program::In(folder) => folder.clone(),
        Program::Installed => place.path().join("root/bin"),
    };
    let paste = |heading: &str, folder: &Path| paste(&text, heading, folder, place.path(), &home);
    if *program == Program::Installed {
        paste(INSTALL, root())?;
    }
    for (heading, sign) in DOORS {
        let folder = place.path().join(heading.replace(' ', "-"));
        std::fs::create_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let printed = paste(heading, &folder)?;
        if !printed.contains(sign) {
            return Err(format!("README.md, {heading}: nothing printed has {sign:?}:\n{printed}"));
        }
    }
    Ok(())
}

/// Runs the commands under a heading; returns what they print.
fn paste(text: &str, heading: &str, folder: &Path, place: &Path, home: &Path) -> Result<String, String> {
    let commands = commands(text, heading).ok_or(format!("README.md has no commands under {heading}"))?;
    println!("== {heading}\n{commands}");
    let path = std::env::var("PATH").unwrap_or_default();
    let since = Instant::now();
    let output = Command::new("bash")
        .args(["-e", "-u", "-o", "pipefail", "-c", &commands])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", home.display()))
        .env("TFRC", root())
        .env("CARGO_INSTALL_ROOT", place.join("root"))
        .env("XDG_CACHE_HOME", place.join("cache"))
        .output()
        .map_err(|e| format!("bash did not start: {e}"))?;
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("README.md, {heading}: {}:\n{printed}", output.status));
    }
    println!("   done in {:.1} s", since.elapsed().as_secs_f64());
    Ok(printed)
}

/// The first block of commands below a heading.
fn commands(text: &str, heading: &str) -> Option<String> {
    let below = text.split_once(&format!("\n## {heading}\n"))?.1;
    let below = below.split("\n## ").next()?;
    Some(below.split_once("```sh\n")?.1.split_once("```")?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_below_their_heading() {
        let text = "# a\n```sh\nno\n```\n## b\nwords\n```sh\none\ntwo\n```\n## c\nnothing\n";
        assert_eq!(commands(text, "b").as_deref(), Some("one\ntwo\n"));
        assert_eq!((commands(text, "c"), commands(text, "d")), (None, None));
    }

    #[test]
    fn readme_has_them_all() {
        let text = std::fs::read_to_string(root().join("README.md")).expect("there");
        for heading in DOORS.iter().map(|(heading, _)| *heading).chain([INSTALL]) {
            assert!(commands(&text, heading).is_some(), "{heading}");
        }
    }
}
