//! Rules on the files under version control: length, and text that ends where it should.

use std::process::Command;

use crate::{Outcome, root};

/// Lines of a source file that a reader can still hold; aim at 500.
const MOST_LINES: usize = 800;

/// Files that are others' work and stay as they came.
const VENDORED: &str = "/vendor/";

/// Endings of the files looked into.
const TEXT: [&str; 7] = [".rs", ".toml", ".md", ".css", ".js", ".sh", "/run"];

pub(crate) fn check() -> Outcome {
    let list = tracked()?;
    let names: Vec<&String> =
        list.iter().filter(|n| !n.contains(VENDORED) && TEXT.iter().any(|t| n.ends_with(t))).collect();
    let mut complaints = Vec::new();
    for name in &names {
        match std::fs::read_to_string(root().join(name)) {
            Ok(text) => {
                complaints.extend(faults(name, &text).into_iter().map(|fault| format!("{name}: {fault}")))
            }
            // Removed in the working tree and not yet committed.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => complaints.push(format!("{name}: {error}")),
        }
    }
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

fn faults(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let lines = text.lines().count();
    if name.ends_with(".rs") && lines > MOST_LINES {
        faults.push(format!("{lines} lines; a file has at most {MOST_LINES}"));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        faults.push("does not end with a line end".to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_found() {
        assert_eq!(faults("a.rs", "fn main() {}\n"), [""; 0]);
        assert_eq!(faults("a.rs", ""), [""; 0]);
        assert_eq!(faults("a.rs", "x").len(), 1);
        assert_eq!(faults("a.rs", "x \ny\t\nz\r\n").len(), 3);
        assert_eq!(faults("a.rs", &"x\n".repeat(MOST_LINES)), [""; 0]);
        assert_eq!(faults("a.rs", &"x\n".repeat(MOST_LINES + 1)).len(), 1);
        assert_eq!(faults("a.md", &"x\n".repeat(MOST_LINES + 1)), [""; 0]);
        assert_eq!(faults("a.md", &format!("{} HEAD\n", "<".repeat(7))).len(), 1);
    }
}
