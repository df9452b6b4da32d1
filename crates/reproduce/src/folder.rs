//! The folder of the experiments, and the list of what is in it.

use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use tempfile::TempDir;

use super::{Experiment, World};

include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// Folder of the experiments in a checkout.
const CHECKOUT: &str = "experiments";

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

    /// Returns true for an experiment of the program, whose files last no longer than this.
    #[must_use]
    pub fn has_unpacked(&self, experiment: &Experiment) -> bool {
        matches!(self, Self::Unpacked(folder) if experiment.folder.starts_with(folder.path()))
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

/// Experiments by their ids.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExperimentList {
    /// In the order of their ids.
    pub experiments: Vec<ExperimentEntry>,
}

/// An experiment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExperimentEntry {
    /// Its id, such as `sigcomm2000/fig-09`.
    pub id: String,
    /// Its number in another version of the publication, as an id that is taken too, such as
    /// `sigcomm/figure-9`; null without one.
    pub alias: Option<String>,
    /// Its title.
    pub title: String,
    /// The publication, with the place in it.
    pub source: String,
    /// The world that it runs in.
    pub world: World,
    /// Disagreement makes the exit status 3.
    pub must_agree: bool,
}

impl ExperimentList {
    /// The list of these experiments.
    #[must_use]
    pub fn of(experiments: &[Experiment]) -> Self {
        let entry = |e: &Experiment| ExperimentEntry {
            id: e.id().to_owned(),
            title: e.title().to_owned(),
            source: e.source().to_owned(),
            alias: e.conference(),
            world: e.world(),
            must_agree: e.must_agree(),
        };
        Self { experiments: experiments.iter().map(entry).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library;

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
}
