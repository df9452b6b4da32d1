//! Rules on the files under version control: length, text that ends where it should, how the
//! comments of sources open and wrap, and modules that stay in their package.

use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::{Outcome, root};

/// Lines of a source file that a reader can still hold; aim at 500.
const MOST_LINES: usize = 800;

/// Columns of a comment in a source file, unless a table, a link or an example needs more.
const COMMENT_WIDTH: usize = 100;

/// Openings of doc comments that leave out their subject.
const WITHOUT_SUBJECT: [&str; 7] =
    ["What ", "Whether ", "The same", "So many ", "Who ", "How many ", "How far "];

/// The one place where a conversion may fall back on a value (`units::saturating`).
const CONVERSIONS: &str = "crates/units/src/cast.rs";

/// Crates that without features need no thread, file or socket.
const WITHOUT_HOST: [&str; 4] =
    ["crates/agents/src/", "crates/report/src/", "crates/scenario/src/", "crates/world/src/"];

/// Their modules that features bring.
pub(crate) const OF_FEATURES: [&str; 5] = [
    "crates/scenario/src/files.rs",
    "crates/world/src/cache.rs",
    "crates/world/src/jobs.rs",
    "crates/world/src/world/relayed.rs",
    "crates/world/src/world/emulated/",
];

/// Names of what only a host has.
const HOST: [&str; 9] = [
    "std::fs",
    "std::thread",
    "std::process",
    "std::env",
    "UdpSocket",
    "TcpStream",
    "TcpListener",
    "tokio::",
    "socket2::",
];

/// Files that are others' work and stay as they came.
const VENDORED: &str = "/vendor/";

/// Endings of the files looked into.
const TEXT: [&str; 7] = [".rs", ".toml", ".md", ".css", ".js", ".sh", "/run"];

pub(crate) fn check() -> Outcome {
    let list = tracked()?;
    let names: Vec<&String> =
        list.iter().filter(|n| !n.contains(VENDORED) && TEXT.iter().any(|t| n.ends_with(t))).collect();
    let read = |name: &str| std::fs::read_to_string(root().join(name)).ok();
    let mut complaints = Vec::new();
    for name in &names {
        match std::fs::read_to_string(root().join(name)) {
            Ok(text) => {
                let found = faults(name, &text).into_iter().chain(leaving(&list, name, &text));
                let found = found.chain(untried(&list, name, &text, read));
                complaints.extend(found.map(|fault| format!("{name}: {fault}")));
            }
            // Removed in the working tree and not yet committed.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => complaints.push(format!("{name}: {error}")),
        }
    }
    complaints.extend(unlisted(&list, read));
    if complaints.is_empty() {
        println!("   {} files looked at", names.len());
        Ok(())
    } else {
        Err(complaints.join("\n  "))
    }
}

/// The paths of all files under version control, from the root of the repository.
pub(crate) fn tracked() -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .map_err(|e| format!("git did not start: {e}"))?;
    if !output.status.success() {
        return Err("git ls-files failed; is this a clone?".to_owned());
    }
    let list = String::from_utf8(output.stdout).map_err(|e| format!("a file's name is not UTF-8: {e}"))?;
    Ok(list.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// The commit that is checked out; none if a file under version control differs from it, but for
/// the report that `cargo xtask mutants` writes.
pub(crate) fn commit() -> Result<Option<String>, String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root()).output();
        let output = output.map_err(|e| format!("git did not start: {e}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed =
        !git(&["status", "--porcelain", "--untracked-files=no", "--", ".", ":!compliance/mutants.md"])?
            .is_empty();
    Ok(Some(git(&["rev-parse", "HEAD"])?).filter(|hash| !hash.is_empty() && !changed))
}

fn faults(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let lines = text.lines().count();
    if name.ends_with(".rs") && lines > MOST_LINES {
        faults.push(format!("{lines} lines; a file has at most {MOST_LINES}"));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        faults.push("does not end with a line end".to_owned());
    }
    if name.ends_with(".rs") {
        faults.extend(source_faults(name, text));
    }
    for (number, line) in text.split('\n').enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            faults.push(format!("line {}: blank at the end", number + 1));
        }
        if line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ") {
            faults.push(format!("line {}: an unfinished merge", number + 1));
        }
    }
    faults
}

/// Files and folders of tests that no program of their crate names: they would never run.
fn unlisted(list: &[String], read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let folders = list.iter().filter_map(|name| name.strip_suffix("/tests/main.rs"));
    for tests in folders.map(|folder| format!("{folder}/tests/")) {
        let inside = list.iter().filter_map(|name| name.strip_prefix(&tests).map(|rest| (name, rest)));
        let files = inside.filter_map(|(name, rest)| Some((name, rest.strip_suffix(".rs")?)));
        let modules: Vec<(&String, &str)> = files
            .filter_map(|(name, path)| match path.split_once('/') {
                None => Some((name, path)),
                Some((folder, "mod")) => Some((name, folder)),
                Some(_) => None,
            })
            .collect();
        let programs: String = modules.iter().filter_map(|(name, _)| read(name)).collect();
        let manifest = read(&format!("{}Cargo.toml", tests.trim_end_matches("tests/"))).unwrap_or_default();
        for (name, module) in modules {
            let is_program = manifest.contains(&format!("path = \"tests/{module}.rs\""));
            if !is_program && !programs.contains(&format!("mod {module};")) {
                faults.push(format!("{name}: tests that never run; name it in {tests}main.rs"));
            }
        }
    }
    faults
}

/// Modules whose `#[path]` leaves the package of the source: two packages would compile one file,
/// and neither of their manifests would name the other.
fn leaving(list: &[String], name: &str, text: &str) -> Vec<String> {
    if !name.ends_with(".rs") {
        return Vec::new();
    }
    let own = package(list, Path::new(name));
    let modules = text.lines().enumerate().filter_map(|(number, line)| {
        let (path, _) = line.trim_start().strip_prefix("#[path = \"")?.split_once('"')?;
        Some((number + 1, path))
    });
    let leaves = |path: &str| package(list, &joined(Path::new(name), path)) != own;
    modules
        .filter(|(_, path)| leaves(path))
        .map(|(number, path)| {
            format!("line {number}: {path} is in another package; depend on a library that has the module")
        })
        .collect()
}

/// Examples in the documentation of a library that says it has none: they would never be tried.
fn untried(list: &[String], name: &str, text: &str, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_code = |line: &str| line.starts_with("/// ```") || line.starts_with("//! ```");
    let line = name.ends_with(".rs").then(|| text.lines().position(|line| is_code(line.trim_start())))??;
    let manifest = read(package(list, Path::new(name))?.join("Cargo.toml").to_str()?)?;
    let has_none = manifest.contains("\n[lib]\n") && manifest.contains("\ndoctest = false\n");
    has_none.then(|| format!("line {}: an example, but Cargo.toml has `doctest = false`", line + 1))
}

/// The folder of the package that a file belongs to: the nearest one above with a manifest.
fn package<'p>(list: &[String], file: &'p Path) -> Option<&'p Path> {
    let has_manifest = |folder: &Path| list.iter().any(|name| Path::new(name) == folder.join("Cargo.toml"));
    file.ancestors().skip(1).find(|folder| has_manifest(folder))
}

/// The path of a module that the source `file` declares with this `#[path]`.
fn joined(file: &Path, module: &str) -> PathBuf {
    let mut place = file.parent().unwrap_or(file).to_owned();
    for part in Path::new(module).components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            Component::CurDir => {}
            other => place.push(other),
        }
    }
    place
}

/// Faults of comments and conversions.
fn source_faults(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if !text.is_empty() && !text.starts_with("//!") {
        faults.push("does not open with a sentence of purpose (//!)".to_owned());
    }
    let starts = |places: &[&str]| places.iter().any(|place| name.starts_with(place));
    let without_host = starts(&WITHOUT_HOST) && !starts(&OF_FEATURES);
    let mut before_is_doc = false;
    let mut example = false;
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let trimmed = line.trim_start();
        let doc = trimmed.strip_prefix("/// ").or_else(|| trimmed.strip_prefix("//! "));
        if trimmed.starts_with("/// ```") || trimmed.starts_with("//! ```") {
            example = !example;
        }
        if let Some(doc) = doc
            && !before_is_doc
            && let Some(opening) = WITHOUT_SUBJECT.iter().find(|opening| doc.starts_with(**opening))
        {
            faults.push(format!(
                "line {number}: a comment opens with \"{}\"; name its subject",
                opening.trim()
            ));
        }
        before_is_doc = trimmed.starts_with("///") || trimmed.starts_with("//!");
        let words = trimmed.trim_start_matches(['/', '!', ' ']);
        if trimmed.starts_with("//")
            && !example
            && line.chars().count() > COMMENT_WIDTH
            && !words.starts_with(['|', '['])
            && words.contains(' ')
        {
            faults.push(format!("line {number}: a comment of more than {COMMENT_WIDTH} columns"));
        }
        let is_test =
            || name.ends_with("tests.rs") || text.lines().take(number).any(|line| line == "#[cfg(test)]");
        if without_host && HOST.iter().any(|host| line.contains(host)) && !is_test() {
            faults.push(format!("line {number}: what only a host has, in a module without a feature"));
        }
        if name != CONVERSIONS && !trimmed.starts_with("//") && falls_back(line) {
            faults.push(format!("line {number}: a conversion with a silent fallback; see units::saturating"));
        }
    }
    faults
}

/// Returns true if a conversion that failed would go on with some value.
fn falls_back(line: &str) -> bool {
    let conversion = line.find("::try_from(").map(|at| line.get(at..).unwrap_or_default());
    conversion.is_some_and(|rest| rest.contains(").unwrap_or("))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source file of one line.
    const SOURCE: &str = "//! Nothing.\n";

    #[test]
    fn faults_are_found() {
        assert_eq!(faults("a.toml", "x = 1\n"), [""; 0]);
        assert_eq!(faults("a.rs", ""), [""; 0]);
        assert_eq!(faults("a.toml", "x").len(), 1);
        assert_eq!(faults("a.toml", "x \ny\t\nz\r\n").len(), 3);
        assert_eq!(faults("a.rs", &SOURCE.repeat(MOST_LINES)), [""; 0]);
        assert_eq!(faults("a.rs", &SOURCE.repeat(MOST_LINES + 1)).len(), 1);
        assert_eq!(faults("a.md", &"x\n".repeat(MOST_LINES + 1)), [""; 0]);
        assert_eq!(faults("a.md", &format!("{} HEAD\n", "<".repeat(7))).len(), 1);
    }

    #[test]
    fn tests_that_never_run_are_found() {
        let list = ["a/tests/main.rs", "a/tests/one.rs", "a/tests/two/mod.rs", "a/tests/two/part.rs"];
        let of = |main: &'static str| {
            let read = move |name: &str| match name {
                "a/Cargo.toml" => Some("path = \"tests/main.rs\"".to_owned()),
                "a/tests/main.rs" => Some(main.to_owned()),
                _ => Some(String::new()),
            };
            unlisted(&list.map(str::to_owned), read).len()
        };
        assert_eq!([of("mod one;\nmod two;\n"), of("mod one;\n"), of("")], [0, 1, 2]);
    }

    #[test]
    fn modules_of_other_packages_are_found() {
        let list = ["Cargo.toml", "a/Cargo.toml", "a/b/Cargo.toml"].map(str::to_owned);
        let of = |name: &str, path: &str| leaving(&list, name, &format!("#[path = \"{path}\"]\nmod x;\n"));
        assert_eq!(of("a/tests/x.rs", "../src/y.rs"), [""; 0]);
        assert_eq!(of("a/tests/x.rs", "./y.rs"), [""; 0]);
        assert_eq!(of("a/tests/x.rs", "../../a/src/y.rs"), [""; 0]);
        assert_eq!(of("a/tests/x.rs", "../../c/src/y.rs").len(), 1);
        assert_eq!(of("a/tests/x.rs", "../b/src/y.rs").len(), 1);
        assert_eq!(of("a/b/src/y.rs", "../../src/x.rs").len(), 1);
        assert_eq!(of("a/page.md", "../c/y.rs"), [""; 0]);
    }

    #[test]
    fn examples_that_nobody_tries_are_found() {
        let list = ["a/Cargo.toml".to_owned()];
        let of = |manifest: &'static str, text: &str| {
            untried(&list, "a/src/lib.rs", text, |_| Some(manifest.to_owned())).is_some()
        };
        let without = "[package]\n\n[lib]\ndoctest = false\n";
        assert!(of(without, "//! Words.\n//!\n//! ```\n"));
        assert!(of(without, "struct A;\n    /// ```no_run\n"));
        assert!(!of(without, "//! Words.\n"));
        assert!(!of("[package]\n", "//! ```\n"));
    }

    #[test]
    fn faults_of_sources_are_found() {
        let of = |text: &str| faults("a.rs", &format!("{SOURCE}{text}\n"));
        assert_eq!(faults("a.rs", "fn main() {}\n").len(), 1);
        assert_eq!(of("/// Width.\nfn width() {}"), [""; 0]);
        assert_eq!(of("\n/// What is wide.").len(), 1);
        assert_eq!(of("\n/// Width.\n/// What else."), [""; 0]);
        assert_eq!(of(&format!("// {}", "word ".repeat(20).trim_end())).len(), 1);
        assert_eq!(of(&format!("// | {}", "word ".repeat(20).trim_end())), [""; 0]);
        let fault = |name: &str| faults(name, &format!("{SOURCE}use std::fs::File;\n")).len();
        assert_eq!(
            (fault("crates/world/src/run.rs"), fault("crates/world/src/cache.rs"), fault("a.rs")),
            (1, 0, 0)
        );
        let fallback = ["let x = u8::try_", "from(y).unwrap_or(0);"].concat();
        assert_eq!(of(&fallback).len(), 1);
        assert_eq!(of("let x = u8::try_from(y).ok();"), [""; 0]);
    }
}
