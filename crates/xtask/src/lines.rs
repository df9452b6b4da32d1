//! `cargo xtask lines`: how much code there is, how it is commented, and how much a user has to
//! know, of the working tree or of two commits side by side.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Outcome, root};

/// Directories with Rust of our own.
const DIRECTORIES: [&str; 4] = ["crates", "benches", "fuzz", "bindings"];

/// Structures that a user fills in, by crate and name.
const CONFIGURATIONS: [(&str, &str); 5] = [
    ("tfrc", "Settings"),
    ("sim", "Settings"),
    ("dccp", "ConnectionConfig"),
    ("dccp", "EndpointConfig"),
    ("net", "Options"),
];

/// Modules of `crates/tfrc/src` in which a study's habits are at home.
const STUDY: [&str; 2] = ["ns2", "study"];

/// `[COMMIT [COMMIT]]`: the working tree, or what changed since a commit.
pub(crate) fn run(commits: &[&str]) -> Outcome {
    let (before, after) = match commits {
        [] => (None, tree(root())?),
        [before] => (Some(tree(&checkout(before)?)?), tree(root())?),
        [before, after] => (Some(tree(&checkout(before)?)?), tree(&checkout(after)?)?),
        _ => return Err("lines [COMMIT [COMMIT]]".to_owned()),
    };
    print!("{}", table(before.as_ref(), &after));
    Ok(())
}

/// The files of a commit, in a directory of their own.
fn checkout(commit: &str) -> Result<PathBuf, String> {
    let to = root().join("target/lines").join(commit.replace(['/', '\\'], "-"));
    let failed = |what: &str| format!("{what} of {commit} failed; is it a commit of this clone?");
    if to.exists() {
        std::fs::remove_dir_all(&to).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    std::fs::create_dir_all(&to).map_err(|e| format!("{}: {e}", to.display()))?;
    let mut archive = Command::new("git")
        .args(["archive", commit])
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("git did not start: {e}"))?;
    let bytes = archive.stdout.take().ok_or_else(|| failed("the archive"))?;
    let unpacked = Command::new("tar").arg("-x").arg("-C").arg(&to).stdin(bytes).status();
    let archived = archive.wait().map_err(|e| e.to_string())?;
    if archived.success() && unpacked.map_err(|e| format!("tar did not start: {e}"))?.success() {
        Ok(to)
    } else {
        Err(failed("the archive"))
    }
}

/// Lines of one file by their kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Lines {
    code: usize,
    comment: usize,
    test: usize,
}

/// Counts of a source tree.
#[derive(Debug, Default)]
struct Tree {
    /// By crate.
    lines: BTreeMap<String, Lines>,
    /// Lines of code of each file that has any, sorted.
    lengths: Vec<usize>,
    /// Public names in the root of each library.
    names: BTreeMap<String, usize>,
    /// Fields of the structures that a user fills in.
    fields: BTreeMap<String, usize>,
    /// Files of the core outside its study modules that name ns-2.
    naming_ns2: Vec<String>,
}

fn tree(root: &Path) -> Result<Tree, String> {
    let mut files = Vec::new();
    for directory in DIRECTORIES {
        collect(&root.join(directory), &mut files);
    }
    files.sort();
    let mut tree = Tree::default();
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let member = member(&name);
        let mut lines = count(&text);
        if is_test(&name) {
            lines = Lines { test: lines.code + lines.test, ..Lines::default() };
        }
        let sum = tree.lines.entry(member.clone()).or_default();
        sum.code += lines.code;
        sum.comment += lines.comment;
        sum.test += lines.test;
        if lines.code > 0 {
            tree.lengths.push(lines.code);
        }
        if name == format!("crates/{member}/src/lib.rs") {
            tree.names.insert(member.clone(), public_names(&text));
        }
        for (of, structure) in CONFIGURATIONS {
            if of == member
                && !is_test(&name)
                && let Some(fields) = fields(&text, structure)
            {
                tree.fields.insert(format!("{of}::{structure}"), fields);
            }
        }
        if let Some(inside) = name.strip_prefix("crates/tfrc/src/")
            && !is_test(&name)
            && !STUDY
                .iter()
                .any(|study| inside.starts_with(&format!("{study}/")) || inside == format!("{study}.rs"))
            && names_ns2(&text)
        {
            tree.naming_ns2.push(name);
        }
    }
    tree.lengths.sort_unstable();
    Ok(tree)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The crate of a file: `crates/NAME/...`, else the first directory.
fn member(name: &str) -> String {
    let mut parts = name.split('/');
    match (parts.next(), parts.next()) {
        (Some("crates"), Some(member)) => member.to_owned(),
        (first, _) => first.unwrap_or_default().to_owned(),
    }
}

/// Files that hold tests alone.
fn is_test(name: &str) -> bool {
    name.contains("/tests/")
        || name.ends_with("/tests.rs")
        || name.ends_with("_tests.rs")
        || name.contains("/testdata/")
        || name.starts_with("crates/testkit/")
}

/// Counts lines; what stands in a module under `#[cfg(test)]` is test. rustfmt puts its closing
/// brace where the attribute began.
fn count(text: &str) -> Lines {
    let mut lines = Lines::default();
    let mut test: Option<usize> = None;
    let mut attribute: Option<usize> = None;
    let mut block = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if trimmed.is_empty() {
            continue;
        }
        if block || trimmed.starts_with("/*") {
            block = !trimmed.contains("*/");
            lines.comment += usize::from(test.is_none());
            continue;
        }
        if let Some(begin) = test {
            lines.test += usize::from(!trimmed.starts_with("//"));
            if indent == begin && trimmed.starts_with('}') {
                test = None;
            }
            continue;
        }
        if trimmed.starts_with("//") {
            lines.comment += 1;
            continue;
        }
        if trimmed.starts_with("#[cfg(test)]") {
            attribute = Some(indent);
            lines.test += 1;
            continue;
        }
        if let Some(begin) = attribute {
            lines.test += 1;
            if trimmed.ends_with('{') {
                test = Some(begin);
            }
            if !trimmed.starts_with("#[") {
                attribute = None;
            }
            continue;
        }
        lines.code += 1;
    }
    lines
}

/// Names that a crate's root makes public.
fn public_names(text: &str) -> usize {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join(" ");
    let mut names = 0;
    for statement in code.split(';') {
        let Some(at) = statement.find("pub ") else { continue };
        let rest = statement.get(at + 4..).unwrap_or_default().trim();
        names += match rest.strip_prefix("use ") {
            Some(paths) => {
                paths.split(',').filter(|path| !path.trim_matches(['{', '}', ' ']).is_empty()).count()
            }
            None => 1,
        };
    }
    names
}

/// Public fields of a structure, where the text has it.
fn fields(text: &str, structure: &str) -> Option<usize> {
    let begin = text.find(&format!("pub struct {structure} {{"))?;
    let body = text.get(begin..)?;
    let body = body.get(..body.find("\n}")?)?;
    Some(body.lines().filter(|line| line.starts_with("    pub ")).count())
}

fn names_ns2(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.contains("ns-2") || lower.contains("ns2")
}

fn median(sorted: &[usize]) -> usize {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

fn table(before: Option<&Tree>, after: &Tree) -> String {
    let empty = Tree::default();
    let old = before.unwrap_or(&empty);
    let mut rows: Vec<(String, String, String)> = Vec::new();
    let mut row = |name: &str, of: &dyn Fn(&Tree) -> String| rows.push((name.to_owned(), of(old), of(after)));
    let members: std::collections::BTreeSet<&String> = old.lines.keys().chain(after.lines.keys()).collect();
    for member in members {
        let code = |tree: &Tree| tree.lines.get(member).map_or(0, |lines| lines.code).to_string();
        row(&format!("code of {member}"), &code);
    }
    let sum = |tree: &Tree, of: fn(&Lines) -> usize| tree.lines.values().map(of).sum::<usize>();
    row("code in all", &|tree| sum(tree, |lines| lines.code).to_string());
    row("tests in all", &|tree| sum(tree, |lines| lines.test).to_string());
    row("comments per 100 lines of code", &|tree| {
        let (code, comment) = (sum(tree, |lines| lines.code), sum(tree, |lines| lines.comment));
        format!("{:.1}", 100.0 * comment as f64 / code.max(1) as f64)
    });
    row("files", &|tree| tree.lengths.len().to_string());
    row("median lines of code in a file", &|tree| median(&tree.lengths).to_string());
    for crate_of in old.names.keys().chain(after.names.keys()).collect::<std::collections::BTreeSet<_>>() {
        let names = |tree: &Tree| tree.names.get(crate_of).copied().unwrap_or(0).to_string();
        row(&format!("names in the root of {crate_of}"), &names);
    }
    for structure in old.fields.keys().chain(after.fields.keys()).collect::<std::collections::BTreeSet<_>>() {
        let fields = |tree: &Tree| tree.fields.get(structure).copied().unwrap_or(0).to_string();
        row(&format!("fields of {structure}"), &fields);
    }
    row("files of tfrc that name ns-2", &|tree| tree.naming_ns2.len().to_string());
    let mut text = String::new();
    if before.is_some() {
        text += "| | before | after |\n| --- | ---: | ---: |\n";
        rows.iter().for_each(|(name, old, new)| text += &format!("| {name} | {old} | {new} |\n"));
    } else {
        text += "| | |\n| --- | ---: |\n";
        rows.iter().for_each(|(name, _, new)| text += &format!("| {name} | {new} |\n"));
    }
    for name in &after.naming_ns2 {
        text += &format!("   names ns-2: {name}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! Doc.\n\nfn a() {\n    // why\n    b();\n}\n\n#[cfg(test)]\nmod tests {\n    // x\n    fn c() {\n    }\n}\n\n#[cfg(test)]\nmod other;\n\nfn d() {}\n";

    #[test]
    fn kinds_of_lines() {
        assert_eq!(count(TEXT), Lines { code: 4, comment: 2, test: 7 });
        assert_eq!(count("/* a\nb */\nlet x = 1;\n"), Lines { code: 1, comment: 2, test: 0 });
    }

    #[test]
    fn names_of_a_root() {
        assert_eq!(
            public_names("mod a;\npub mod b;\npub use a::{C, D, e::F};\npub use g::H;\n/// pub no;\n"),
            5
        );
        assert_eq!(public_names("pub use a::{\n    B,\n    C,\n};\n"), 2);
    }

    #[test]
    fn fields_of_a_structure() {
        let text = "pub struct Settings {\n    /// A.\n    pub a: u8,\n    b: u8,\n    pub c: u8,\n}\n";
        assert_eq!(fields(text, "Settings"), Some(2));
        assert_eq!(fields(text, "Options"), None);
    }

    #[test]
    fn files_with_tests_alone() {
        assert!(
            is_test("crates/a/src/b/tests.rs") && is_test("crates/a/tests/x.rs") && is_test("a/b/c_tests.rs")
        );
        assert!(!is_test("crates/a/src/testkit.rs"));
    }
}
