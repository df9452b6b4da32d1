//! A program for each connection, which reads the data on its standard input.

use std::fs::File;
use std::io;
use std::process::Stdio;

use tokio::process::{Child, Command};

use super::naming::{Naming, Pattern};

/// A program and its arguments, with places for facts about a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandLine(Vec<Pattern>);

/// A program that runs for a connection. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    name: String,
}

impl CommandLine {
    /// Splits a text into words: at spaces, which single quotes, double quotes and backslashes
    /// keep. No shell reads it, so that nothing else has a meaning, and what fills in a place
    /// stays inside of its word.
    ///
    /// # Errors
    /// A sentence about the text.
    pub(super) fn new(written: &str) -> Result<Self, String> {
        let words = split(written)?;
        if words.first().is_none_or(String::is_empty) {
            return Err("names no program".to_owned());
        }
        words.iter().map(|word| Pattern::new(word)).collect::<Result<_, _>>().map(Self)
    }

    /// Starts the program for a connection. Its standard output goes where ours goes with errors,
    /// so that records stay alone on standard output.
    ///
    /// # Errors
    /// The error of the system.
    pub(super) fn start(&self, naming: &Naming) -> io::Result<(Program, File)> {
        let mut words = self.0.iter().map(|word| word.fill(naming));
        let name = words.next().unwrap_or_default();
        let mut child = Command::new(&name)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(io::stderr())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
        let stdin =
            child.stdin.take().ok_or_else(|| io::Error::other("the program has no standard input"))?;
        Ok((Program { child, name }, pipe(stdin)?))
    }
}

impl Program {
    /// The name of the program.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Waits for the end of the program; a phrase about an end that is not a success.
    pub(super) async fn ended(&mut self) -> Option<String> {
        match self.child.wait().await {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("{} ended with {status}", self.name)),
            Err(error) => Some(format!("{}: {error}", self.name)),
        }
    }
}

#[cfg(unix)]
fn pipe(stdin: tokio::process::ChildStdin) -> io::Result<File> {
    // The descriptor blocks again: a thread of its own writes to it.
    stdin.into_owned_fd().map(File::from)
}

#[cfg(windows)]
fn pipe(stdin: tokio::process::ChildStdin) -> io::Result<File> {
    stdin.into_owned_handle().map(File::from)
}

fn split(written: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some(open), letter) if letter == open => quote = None,
            (None | Some('"'), '\\') => {
                let next = letters.next().ok_or("ends with a backslash")?;
                word.get_or_insert_default().push(next);
            }
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(quote) = quote {
        return Err(format!("has a {quote} that is not closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_people_write_them() {
        for (written, words) in [
            ("ffplay -", vec!["ffplay", "-"]),
            ("  a\tb  ", vec!["a", "b"]),
            ("sh -c 'cat > \"x y\"'", vec!["sh", "-c", "cat > \"x y\""]),
            ("a \"b c\"d '' e\\ f", vec!["a", "b cd", "", "e f"]),
            ("a \"\\\"\" '\\'", vec!["a", "\"", "\\"]),
            ("a;b $HOME `x` | y", vec!["a;b", "$HOME", "`x`", "|", "y"]),
        ] {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            assert_eq!(split(written), Ok(words), "{written}");
        }
        for bad in ["", "  ", "''", "a 'b", "a \\", "a %x"] {
            assert!(CommandLine::new(bad).is_err(), "{bad:?}");
        }
    }
}
