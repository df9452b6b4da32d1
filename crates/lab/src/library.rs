//! Scenarios and experiments built into programs, and the rule that separates their names from
//! files.

use std::io;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use tempfile::TempDir;
use thiserror::Error;

use crate::batch::Results;
use crate::compare::{CompareError, Comparison, compare};
use crate::scenario::{Document, Plan, ScenarioError, hint};

include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// Folder of the experiments in a checkout.
const CHECKOUT: &str = "experiments";

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

    /// A scenario that is given as text; files that it names are looked for in the current folder.
    /// `name` is for error messages.
    #[must_use]
    pub fn from_text(name: &str, text: &str) -> Self {
        Self { document: Document::new(name, text), folder: Some(PathBuf::new()) }
    }

    /// The files that a run of the scenario at this path reads: itself, and a table that it names.
    #[must_use]
    pub fn files(&self, path: &Path, compare: Option<&str>) -> Vec<PathBuf> {
        let Some(folder) = &self.folder else { return Vec::new() };
        [path.to_owned()].into_iter().chain(compare.map(|name| folder.join(name))).collect()
    }

    /// The results of all runs of a plan next to the published values that the scenario names; none
    /// if it names no table.
    ///
    /// # Errors
    /// [`LibraryError::Beside`] if the table cannot be read, [`LibraryError::Table`] if it does not
    /// fit the results.
    pub fn compared(&self, plan: &Plan, results: &Results) -> Result<Vec<Comparison>, LibraryError> {
        let Some(name) = plan.compare.as_ref().filter(|_| results.shard.is_none()) else {
            return Ok(Vec::new());
        };
        let (path, text) = self.beside(name)?;
        compare(&text, results).map_err(|source| LibraryError::Table { path, source })
    }

    /// Reads a file next to the scenario; returns its path and text.
    fn beside(&self, name: &str) -> Result<(String, String), LibraryError> {
        let (path, read) = match &self.folder {
            Some(folder) => {
                let path = folder.join(name);
                (path.display().to_string(), crate::text::read_file(path))
            }
            None => {
                let found = SCENARIOS.iter().find(|(file, _)| *file == name);
                let text = found.map(|(_, text)| (*text).to_owned());
                (name.to_owned(), text.ok_or_else(|| io::ErrorKind::NotFound.into()))
            }
        };
        match read {
            Ok(text) => Ok((path, text)),
            Err(source) => Err(LibraryError::Beside { path, source }),
        }
    }
}

/// Why a scenario cannot be opened or compared.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum LibraryError {
    /// A file next to the scenario cannot be read.
    #[error("cannot read {path}: {source}")]
    #[diagnostic(help("`compare` names a CSV file beside the scenario"))]
    Beside {
        /// The file.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The scenario cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Scenario(#[from] ScenarioError),
    /// The published table does not fit the results.
    #[error("{path}: {source}")]
    #[diagnostic(help("see docs/scenarios.md, `compare`"))]
    Table {
        /// The file.
        path: String,
        /// The first row that does not fit.
        source: CompareError,
    },
    /// A word names neither a file nor a scenario of the program.
    #[error("`{word}` is neither a file nor a scenario of the program: {hint}")]
    #[diagnostic(help("`tfrc scenario list` describes those of the program"))]
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

/// The folder of the experiments.
#[derive(Debug)]
pub enum Experiments {
    /// Named by the user, or that of a checkout.
    Folder(PathBuf),
    /// Those of the program, unpacked for as long as this lives.
    Unpacked(TempDir),
}

impl Experiments {
    /// The folder that is named; else `experiments` here, if it is there; else the program's own.
    ///
    /// # Errors
    /// The error of the system if the program's own cannot be unpacked.
    pub fn find(named: Option<&Path>) -> io::Result<Self> {
        let here = Some(Path::new(CHECKOUT)).filter(|folder| folder.is_dir());
        match named.or(here) {
            Some(folder) => Ok(Self::Folder(folder.to_owned())),
            None => unpack().map(Self::Unpacked),
        }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        match self {
            Self::Folder(folder) => folder,
            Self::Unpacked(folder) => folder.path(),
        }
    }
}

fn unpack() -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("tfrc-experiments-").tempdir()?;
    for (file, text) in EXPERIMENTS {
        let path = folder.path().join(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(folder)
}

/// The folder in which results of runs are kept outside of a checkout (XDG Base Directory
/// Specification): `tfrc` in `$XDG_CACHE_HOME`, else in `~/.cache`. `None` if neither is set.
#[must_use]
pub fn cache(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    // The specification ignores relative paths.
    let absolute = |path: Option<PathBuf>| path.filter(|path| path.is_absolute());
    absolute(xdg).or_else(|| Some(absolute(home)?.join(".cache"))).map(|folder| folder.join("tfrc"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, library};
    use crate::scenario::World;

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
            let plan = opened.document.plan_for(World::Simulated).expect(one.name);
            if let Some(compare) = plan.compare {
                let (_, text) = opened.beside(&compare).expect(one.name);
                assert!(text.contains("published"));
            }
            assert!(one.about().len() > 20, "{}: {}", one.name, one.about());
        }
    }

    #[test]
    fn the_experiments_of_the_program_are_those_of_the_repository() {
        let folder = unpack().expect("unpacked");
        let load = |root: &Path| library::load(root, &["all".to_owned()]).expect("all are right");
        let ours = load(folder.path());
        let checkout = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"));
        let ids =
            |list: &[Experiment]| -> Vec<String> { list.iter().map(|one| one.id().to_owned()).collect() };
        assert_eq!(ids(&ours), ids(&checkout));
    }

    #[test]
    fn the_cache_is_where_xdg_says() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(cache(path("/x"), path("/home/a")), path("/x/tfrc"));
        assert_eq!(cache(path("x"), path("/home/a")), path("/home/a/.cache/tfrc"));
        assert_eq!(cache(None, None), None);
    }
}
