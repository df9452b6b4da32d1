//! Rules on the book: every page is in the summary, every link resolves, prose is at most 100
//! columns wide, and every source file and `cargo xtask` command that a page names exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::{Outcome, chores, files, root};

/// Columns of a line of prose. Tables, headings and code may be wider.
const WIDTH: usize = 100;

/// Pages of the repository's root that the rules hold for.
const OUTSIDE: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// Phrases in the first lines of pages that a command writes; the width rule leaves those pages
/// out.
const GENERATED: [&str; 3] = ["written by `", "wrote this page", "do not edit by hand"];

pub(crate) fn check() -> Outcome {
    let mut pages: Vec<PathBuf> = OUTSIDE.iter().map(PathBuf::from).collect();
    for folder in ["docs", "experiments"] {
        collect(Path::new(folder), &mut pages)?;
    }
    let summary = read(Path::new("docs/SUMMARY.md"))?;
    let sources = files::tracked()?;
    let mut complaints = Vec::new();
    for page in &pages {
        let text = read(page)?;
        let mut found = faults(&text);
        found.extend(missing(&text, &sources));
        found.extend(links(&text).filter_map(|(line, link)| Some((line, resolve(page, &text, link).err()?))));
        if let Ok(inside) = page.strip_prefix("docs")
            && inside != Path::new("SUMMARY.md")
            && !summary.contains(&format!("({})", inside.display()))
        {
            found.push((1, "the page is not in docs/SUMMARY.md".to_owned()));
        }
        found.sort();
        complaints.extend(found.into_iter().map(|(line, why)| format!("{}:{line}: {why}", page.display())));
    }
    if complaints.is_empty() {
        println!("   {} pages looked at", pages.len());
        Ok(())
    } else {
        Err(complaints.join("\n  "))
    }
}

/// The Markdown files below a folder, in the order of their names.
fn collect(folder: &Path, pages: &mut Vec<PathBuf>) -> Outcome {
    let broken = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = std::fs::read_dir(root().join(folder)).map_err(broken)?;
    let names = entries.map(|entry| Ok(entry?.file_name())).collect::<Result<BTreeSet<_>, _>>();
    for name in names.map_err(broken)? {
        let path = folder.join(name);
        if root().join(&path).is_dir() {
            collect(&path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        }
    }
    Ok(())
}

fn read(page: &Path) -> Result<String, String> {
    std::fs::read_to_string(root().join(page)).map_err(|error| format!("{}: {error}", page.display()))
}

/// The lines of a page that are not code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence && !line.starts_with("    ")
    })
}

/// Lines that are too wide and commands that do not exist.
fn faults(text: &str) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let chores = chores();
    let generated = text.lines().take(8).any(|line| GENERATED.iter().any(|phrase| line.contains(phrase)));
    for (number, line) in prose(text) {
        let columns = line.chars().count();
        // A line of one word cannot be broken.
        let free = generated || line.starts_with(['|', '#']) || !line.trim().contains(' ');
        if columns > WIDTH && !free {
            faults.push((number, format!("{columns} columns; prose has {WIDTH} at most")));
        }
    }
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("{{#") {
            faults.push((number, "text from elsewhere, which a forge does not show; link to it".to_owned()));
        }
        for rest in line.split("cargo xtask ").skip(1) {
            let word: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
            if !word.is_empty() && !chores.contains(&word) {
                faults.push((number, format!("there is no command `cargo xtask {word}`")));
            }
        }
    }
    faults
}

/// Source files in backticks that do not exist. A page may leave out the first folders of a path.
fn missing(text: &str, sources: &[String]) -> Vec<(usize, String)> {
    let mut missing = Vec::new();
    for (number, line) in prose(text) {
        let code = line.split('`').skip(1).step_by(2);
        for path in code.filter(|path| path.ends_with(".rs") && !path.contains([' ', '*'])) {
            let ending = format!("/{path}");
            if !sources.iter().any(|source| source == path || source.ends_with(&ending)) {
                missing.push((number, format!("there is no file `{path}`")));
            }
        }
    }
    missing
}

/// The targets of links inside the repository, with the numbers of their lines.
pub(crate) fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| {
        // Every second part stands between backticks.
        let plain = line.split('`').step_by(2);
        // A label in backticks leaves its bracket in the part behind it.
        let targets = plain.flat_map(|part| part.split("](").skip(1));
        let targets = targets.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
        targets.filter(|target| !target.contains("://")).map(move |target| (number, target))
    })
}

/// Looks for the file and the heading that a link names.
fn resolve(page: &Path, text: &str, link: &str) -> Outcome {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = page.parent().unwrap_or(page).join(path);
    let other = if path.is_empty() {
        text.to_owned()
    } else if root().join(&target).exists() {
        if anchor.is_none() {
            return Ok(());
        }
        read(&target)?
    } else {
        return Err(format!("the link {link} leads to no file"));
    };
    let found = prose(&other).any(|(_, line)| {
        line.starts_with('#') && Some(slug(line.trim_start_matches('#').trim()).as_str()) == anchor
    });
    if found { Ok(()) } else { Err(format!("the link {link} leads to no heading")) }
}

/// The anchor of a heading: lower case, hyphens for blanks, no other signs.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_and_unknown_commands_are_found() {
        let wide = format!("{}x y\n", "x".repeat(WIDTH));
        assert_eq!(faults(&wide).len(), 1);
        assert_eq!(faults(&format!("```\n{wide}```\n    {wide}| {wide}# {wide}")), []);
        assert_eq!(faults(&format!("Written here, do not edit by hand.\n{wide}")), []);
        assert_eq!(faults("{{#include x.md}}\n").len(), 1);
        assert_eq!(faults("Run `cargo xtask ci` or `cargo xtask nothing`.\n").len(), 1);
    }

    #[test]
    fn source_files_are_looked_for() {
        let sources = ["crates/tfrc/src/ring.rs".to_owned()];
        assert_eq!(missing("`ring.rs`, `src/ring.rs`, `tests/*.rs`, `a.toml`\n", &sources), []);
        assert_eq!(missing("`ring.rs` and\n`other/ring.rs`\n", &sources).len(), 1);
    }

    #[test]
    fn links_are_those_outside_of_code() {
        let text = "[a](b.md) and [`c`](d.md#e)\n`[x](y)` [w](https://example.org)\n```\n[f](g)\n```\n";
        assert_eq!(links(text).collect::<Vec<_>>(), [(1, "b.md"), (1, "d.md#e")]);
    }

    #[test]
    fn links_lead_to_files_and_headings() {
        let page = Path::new("docs/x.md");
        let text = "# The `word`, ns-2's and §4\n";
        assert_eq!(resolve(page, text, "../README.md"), Ok(()));
        assert_eq!(resolve(page, text, "#the-word-ns-2s-and-4"), Ok(()));
        assert!(resolve(page, text, "#another").is_err());
        assert!(resolve(page, text, "missing.md").is_err());
        assert!(resolve(page, text, "../README.md#no-such-part").is_err());
    }
}
