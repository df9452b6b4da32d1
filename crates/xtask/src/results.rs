//! `docs/results.md` and `docs/peers.md`: written from a run of all experiments, and checked by
//! running some of them again.

use std::path::PathBuf;
use std::process::Command;
use tfrc_units::saturating;

use tfrc_units::hash::fnv1a;

use crate::python::{development, release};
use crate::{Outcome, root};

/// Number of experiments that a check runs again.
const CHECKED: usize = 3;
/// Those among which it chooses must end soon: no more million packet hops than this as published.
const MOST_HOPS: f64 = 300.0;

/// The experiment whose page shows its figure.
const PICTURED: &str = "modern/tcp-matrix";

/// The check of three for the commit that is checked out.
pub(crate) fn check_head() -> Outcome {
    let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()).output();
    match head {
        Ok(output) if output.status.success() => check(String::from_utf8_lossy(&output.stdout).trim()),
        // Without the repository's history the page itself chooses.
        _ => check(&read(&page_path())?),
    }
}

/// Runs everything and writes the page.
pub(crate) fn write() -> Outcome {
    let report = root().join("target/report");
    reproduce(release()?, &["all".to_owned()], &report, &[])?;
    for name in ["results.md", "peers.md"] {
        let mut page = read(&report.join(name))?;
        if name == "peers.md" {
            page += &by_hand(&read(&root().join("docs").join(name))?);
        }
        std::fs::write(root().join("docs").join(name), page)
            .map_err(|error| format!("docs/{name}: {error}"))?;
        println!("docs/{name} is written");
    }
    let picture = root().join("experiments").join(PICTURED).join("picture.svg");
    std::fs::copy(report.join(format!("{PICTURED}.svg")), &picture)
        .map_err(|error| format!("{}: {error}", picture.display()))?;
    println!("the report is {}", report.join("index.html").display());
    Ok(())
}

/// The part of `docs/peers.md` that no experiment writes.
fn by_hand(page: &str) -> String {
    page.find(BY_HAND).map_or_else(String::new, |from| page.get(from..).unwrap_or_default().to_owned())
}

/// Its heading.
const BY_HAND: &str = "\n## Suites of other projects\n";

/// Runs the mutations of all experiments and writes their page.
pub(crate) fn mutations() -> Outcome {
    let report = root().join("target/report-mutations");
    reproduce(release()?, &["all".to_owned()], &report, &["--mutations"])?;
    std::fs::write(root().join("docs/mutations.md"), read(&report.join("mutations.md"))?)
        .map_err(|error| format!("docs/mutations.md: {error}"))?;
    println!("docs/mutations.md is written");
    Ok(())
}

/// Runs three experiments, chosen by the commit, without the cache, and compares their lines with
/// the page's.
pub(crate) fn check(commit: &str) -> Outcome {
    let page = read(&page_path())?;
    let mut ids: Vec<String> = Vec::new();
    for line in page.lines() {
        if let Some(id) = id(line).filter(|id| is_small(line) && !is_of_before(&page, id)) {
            ids.push(id.to_owned());
        }
    }
    if ids.len() < CHECKED {
        return Err(format!("docs/results.md names only {} experiments that end soon", ids.len()));
    }
    let chosen = chosen(&mut ids, commit);
    println!("checking {}", chosen.join(", "));
    let report = root().join("target/report-check");
    reproduce(development()?, &chosen, &report, &["--no-cache"])?;
    let again = read(&report.join("results.md"))?;
    let of = |page: &str, wanted: &str| {
        page.lines().filter(|line| id(line) == Some(wanted)).collect::<Vec<_>>().join("\n")
    };
    let mut wrong = String::new();
    for id in &chosen {
        let (told, is) = (of(&page, id), of(&again, id));
        if told != is {
            wrong += &format!("\n  docs/results.md: {told}\n  now:             {is}");
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("docs/results.md is not what the code gives; `cargo xtask results` writes it{wrong}"))
    }
}

/// The experiment of a line of the page.
fn id(line: &str) -> Option<&str> {
    let (id, rest) = line.strip_prefix("| [")?.split_once(']')?;
    (rest.starts_with("(../experiments/") && !line.contains("| not-run")).then_some(id)
}

/// Returns true if the page lists the experiment among those that the engine of before has run.
fn is_of_before(page: &str, id: &str) -> bool {
    let list = page.split_once("\n## Experiments of the engine before\n").map_or("", |(_, rest)| rest);
    let list = list.split("\n## ").next().unwrap_or_default();
    list.lines().any(|line| line == format!("* `{id}`"))
}

/// Returns true if the experiment of a line ends soon, by its last column.
fn is_small(line: &str) -> bool {
    let hops = line.trim_end().trim_end_matches('|').rsplit('|').next();
    hops.and_then(|hops| hops.trim().parse::<f64>().ok()).is_some_and(|hops| hops <= MOST_HOPS)
}

/// Three different ids by the hash of the commit.
fn chosen(ids: &mut Vec<String>, commit: &str) -> Vec<String> {
    let mut state = fnv1a(commit.as_bytes());
    let mut list = Vec::new();
    while list.len() < CHECKED && !ids.is_empty() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let count = saturating::<u64>(ids.len());
        list.push(ids.swap_remove(saturating::<usize>((state >> 33) % count)));
    }
    list.sort();
    list
}

/// Runs experiments with the built command. That one does not agree is not a failure here: the page
/// says so.
fn reproduce(program: PathBuf, ids: &[String], report: &std::path::Path, more: &[&str]) -> Outcome {
    let status = Command::new(program)
        .current_dir(root())
        .arg("reproduce")
        .args(ids)
        .args(more)
        .arg("--json")
        .arg("--out")
        .arg(report)
        .stdout(std::process::Stdio::null())
        .status()
        .map_err(|error| format!("tfrc reproduce: {error}"))?;
    match status.code() {
        Some(0 | 3) => Ok(()),
        _ => Err(format!("tfrc reproduce: {status}")),
    }
}

fn page_path() -> PathBuf {
    root().join("docs/results.md")
}

fn read(path: &std::path::Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_by_the_commit() {
        let ids = || (0..9).map(|i| format!("p/{i}")).collect::<Vec<_>>();
        let one = chosen(&mut ids(), "abc");
        assert_eq!((one.len(), chosen(&mut ids(), "abc") == one), (3, true));
        assert!((0..20).any(|i| chosen(&mut ids(), &format!("{i}")) != one));
        assert_eq!(id("| [a/b](../experiments/a/b/README.md) * | t | agrees |"), Some("a/b"));
        assert_eq!(id("| [a/b](../experiments/a/b/README.md) | t | not-run: x |"), None);
        assert_eq!(id("| --- |"), None);
        let page = "# R\n\n## Experiments of the engine before\n\n* `a/b`\n\n## Next\n\n* `c/d`\n";
        assert!(is_of_before(page, "a/b") && !is_of_before(page, "c/d") && !is_of_before("", "a/b"));
        assert!(is_small("| [a/b](../experiments/a/b/README.md) | t | 20 | 12.50 |"));
        assert!(!is_small("| [a/b](../experiments/a/b/README.md) | t | 20 | 1200 |"));
        assert!(!is_small("| [a/b](../experiments/a/b/README.md) | t | agrees | 7/7 |"));
    }
}
