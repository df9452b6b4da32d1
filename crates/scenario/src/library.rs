//! Scenarios built into programs, and the rule that separates their names from files.

use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use super::{Document, ScenarioError, files, hint};

include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// A scenario of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its name, as the command line takes it.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl BuiltIn {
    /// All of them, in the order of their names.
    pub fn all() -> impl Iterator<Item = Self> {
        SCENARIOS.iter().filter_map(|(file, text)| Some(Self { name: file.strip_suffix(".toml")?, text }))
    }

    /// The one of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::all().find(|one| one.name == name)
    }

    /// The first sentence of its first comment.
    #[must_use]
    pub fn about(&self) -> String {
        let comment = self.text.lines().map_while(|line| line.strip_prefix("# "));
        let words = comment.collect::<Vec<_>>().join(" ");
        let end = words.find(". ").map_or(words.len(), |end| end + 1);
        words[..end].to_owned()
    }
}

/// A scenario as the command line names it.
#[derive(Debug)]
pub struct Opened {
    /// Its text.
    pub document: Document,
    /// The folder of its file; `None` for one of the program's.
    folder: Option<PathBuf>,
}

impl Opened {
    /// Opens what the command line names: a word without a dot or a slash that is the name of a
    /// scenario of the program means that scenario, all else is a file.
    ///
    /// # Errors
    /// [`LibraryError::Unknown`] if it is neither, [`LibraryError::Scenario`] if the file cannot be
    /// read.
    pub fn new(written: &Path) -> Result<Self, LibraryError> {
        let word = written.to_str().filter(|word| !word.contains(['.', '/', '\\']));
        if let Some(built_in) = word.and_then(BuiltIn::find) {
            let document = Document::new(format!("{}.toml", built_in.name), built_in.text);
            return Ok(Self { document, folder: None });
        }
        if let Some(word) = word.filter(|_| !written.exists()) {
            return Err(LibraryError::unknown(word));
        }
        let document = Document::load(written)?;
        Ok(Self { folder: Some(document.folder().to_owned()), document })
    }

    /// A scenario that [`new`](Self::new) has opened by this name, perhaps in another process, from
    /// its text: a pipe gives it once.
    #[must_use]
    pub fn again(written: &Path, text: &str) -> Self {
        let folder = files::folder(written);
        let document = Document::new(written.display().to_string(), text).in_folder(&folder);
        Self { document, folder: Some(folder) }
    }

    /// A scenario that is given as text; files that it names are looked for in the current folder.
    /// `name` is for error messages.
    #[must_use]
    pub fn from_text(name: &str, text: &str) -> Self {
        Self { document: Document::new(name, text), folder: Some(PathBuf::new()) }
    }

    /// Returns true for one of the program's, which is no file.
    #[must_use]
    pub const fn is_built_in(&self) -> bool {
        self.folder.is_none()
    }
}

/// Why a scenario cannot be opened.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum LibraryError {
    /// The scenario cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Scenario(#[from] ScenarioError),
    /// A word names neither a file nor a built-in scenario.
    #[error("no file and no built-in scenario is called `{word}`: {hint}")]
    #[diagnostic(help("`tfrc scenario list` describes the built-in ones"))]
    Unknown {
        /// The word.
        word: String,
        /// The name that was meant, or all names.
        hint: String,
    },
}

impl LibraryError {
    /// The refusal of a word that names no scenario.
    #[must_use]
    pub fn unknown(word: &str) -> Self {
        let names: Vec<&str> = BuiltIn::all().map(|one| one.name).collect();
        Self::Unknown { word: word.to_owned(), hint: hint(word, &names) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;

    #[test]
    fn names_and_files_are_told_apart() {
        let bottleneck = Opened::new(Path::new("bottleneck")).expect("the program has it");
        assert!(bottleneck.folder.is_none());
        assert_eq!(bottleneck.document.plan().expect("right").points.len(), 1);
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("bottleneck");
        std::fs::write(&file, "duration = 3").expect("written");
        let opened = Opened::new(&file).expect("a path with a slash is a file");
        assert_eq!(opened.folder.as_deref(), Some(dir.path()));
        for (word, says) in
            [("botleneck", "did you mean `bottleneck`?"), ("net.toml", "cannot read net.toml")]
        {
            let refused = Opened::new(Path::new(word)).expect_err("neither");
            assert!(refused.to_string().contains(says), "{refused}");
        }
    }

    #[test]
    fn every_scenario_of_the_program_is_right_and_described() {
        assert!(BuiltIn::all().count() > 20);
        for one in BuiltIn::all() {
            let opened = Opened::new(Path::new(one.name)).expect(one.name);
            opened.document.plan_for(World::Simulated).expect(one.name);
            assert!(one.about().len() > 20, "{}: {}", one.name, one.about());
        }
    }
}
