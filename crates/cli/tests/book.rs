//! The snippets of README.md and of the book: commands are parsed or run, scenarios are run.
//!
//! | block | check |
//! | --- | --- |
//! | `console` | each line `$ tfrc …` is run; the lines below it are its standard output |
//! | `sh` | each `tfrc …` is a command line that the program takes; files of the repository exist |
//! | `toml` | it is TOML; one with `nodes` is a scenario and runs |
//! | `rust` | a doc-test of this crate |

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A fenced block of a page.
struct Snippet {
    page: PathBuf,
    line: usize,
    language: String,
    text: String,
}

impl Snippet {
    fn place(&self) -> String {
        format!("{}:{}", self.page.display(), self.line)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Pages of a folder and of those below it.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    paths.sort();
    paths
}

/// The blocks in a language.
fn blocks(language: &str) -> Vec<Snippet> {
    let mut blocks: Vec<Snippet> = Vec::new();
    for page in std::iter::once(root().join("README.md")).chain(pages(&root().join("docs"))) {
        let text = std::fs::read_to_string(&page).expect("text");
        let mut inside = false;
        for (number, line) in (1..).zip(text.lines()) {
            match line.strip_prefix("```") {
                Some(_) if inside => inside = false,
                Some(word) => {
                    inside = true;
                    let page = page.clone();
                    blocks.push(Snippet {
                        page,
                        line: number,
                        language: word.to_owned(),
                        text: String::new(),
                    });
                }
                None if inside => {
                    let block = blocks.last_mut().expect("begun");
                    block.text += line;
                    block.text.push('\n');
                }
                None => {}
            }
        }
        assert!(!inside, "{}: a block without an end", page.display());
    }
    blocks.retain(|block| block.language == language);
    assert!(!blocks.is_empty(), "no {language} in the book");
    blocks
}

fn tfrc(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("tfrc"))
        .current_dir(root())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    (output.status.code(), String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn commands_with_output_give_that_output() {
    for block in blocks("console") {
        for session in block.text.split("$ ").skip(1) {
            let (command, expected) = session.split_once('\n').expect("a line");
            let words: Vec<&str> = command.split_whitespace().collect();
            let ["tfrc", arguments @ ..] = words.as_slice() else {
                panic!("{}: {command}", block.place());
            };
            assert_eq!(tfrc(arguments), (Some(0), expected.to_owned()), "{}: {command}", block.place());
        }
    }
}

/// The words of a line of shell: apart by spaces, but for those in single quotes.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split('\'').enumerate();
    parts.flat_map(|(number, part)| match number % 2 {
        0 => part.split_whitespace().collect::<Vec<_>>(),
        _ => vec![part],
    })
}

#[test]
fn commands_are_commands() {
    let mut commands = 0;
    for block in blocks("sh") {
        for part in block.text.lines().flat_map(|line| line.split(" | ")) {
            let words: Vec<&str> = words(part).take_while(|word| !matches!(*word, "#" | "&" | ">")).collect();
            for word in words.iter().filter(|word| word.starts_with("scenarios/")) {
                assert!(root().join(word).exists(), "{}: {word}", block.place());
            }
            let arguments = match words.as_slice() {
                ["tfrc", arguments @ ..] => arguments,
                ["cargo", "run", "--release", "--", arguments @ ..] => arguments,
                _ => continue,
            };
            let line = std::iter::once("tfrc").chain(arguments.iter().copied());
            if let Err(error) = tfrc_cli::judge(line) {
                panic!("{}: {part}: {error}", block.place());
            }
            commands += 1;
        }
    }
    assert!(commands > 10, "{commands} commands");
}

#[test]
fn scenarios_run() {
    let mut scenarios = 0;
    for block in blocks("toml") {
        if let Err(error) = block.text.parse::<toml::Table>() {
            panic!("{}: {error}", block.place());
        }
        if block.text.contains("\nnodes = ") {
            let directory = tempfile::tempdir().expect("a directory");
            let file = directory.path().join("scenario.toml");
            std::fs::write(&file, &block.text).expect("written");
            // The log of the repository is named from its root.
            let log = "testdata/5g/drive.csv";
            std::fs::create_dir_all(directory.path().join("testdata/5g")).expect("folders");
            std::fs::copy(root().join(log), directory.path().join(log)).expect("copied");
            let (status, _) = tfrc(&["sim", file.to_str().expect("a path")]);
            assert_eq!(status, Some(0), "{}", block.place());
            scenarios += 1;
        }
    }
    assert!(scenarios > 0);
}
