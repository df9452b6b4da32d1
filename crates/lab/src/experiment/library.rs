//! The directory of experiments: `<paper>/<name>/experiment.toml`.

use std::path::{Path, PathBuf};

use super::error::ExperimentError;
use super::file::Experiment;
use super::paper::Paper;

/// The ids of all experiments under a directory, in order, each with its own directory.
///
/// # Errors
/// [`ExperimentError::Read`] if the directory cannot be read.
pub fn ids(root: &Path) -> Result<Vec<(String, PathBuf)>, ExperimentError> {
    let mut found = Vec::new();
    for (paper, directory) in directories(root)? {
        for (name, directory) in directories(&directory)? {
            if directory.join("experiment.toml").exists() {
                found.push((format!("{paper}/{name}"), directory));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn directories(path: &Path) -> Result<Vec<(String, PathBuf)>, ExperimentError> {
    let read = |source| ExperimentError::Read {
        name: path.display().to_string(),
        hint: "give the directory of the experiments with --experiments DIR",
        source,
    };
    let mut list = Vec::new();
    for entry in std::fs::read_dir(path).map_err(read)? {
        let entry = entry.map_err(read)?;
        if entry.path().is_dir() {
            list.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
    }
    Ok(list)
}

/// Reads the experiments whose ids begin with one of these, or are one of these; all of them for
/// `all`.
///
/// # Errors
/// [`ExperimentError::Unknown`] if one of these fits none, else what is wrong with the first that
/// cannot be read.
pub fn load(root: &Path, wanted: &[String]) -> Result<Vec<Experiment>, ExperimentError> {
    let all = ids(root)?;
    let is_id = |wanted: &str| all.iter().any(|(id, _)| id == wanted);
    let fits = |id: &str, wanted: &str| match is_id(wanted) {
        true => id == wanted,
        false => wanted == "all" || id.starts_with(wanted),
    };
    if let Some(unknown) = wanted.iter().find(|wanted| !all.iter().any(|(id, _)| fits(id, wanted))) {
        let hint = match all.as_slice() {
            [] => "there are no experiments in this directory".to_owned(),
            _ => "`tfrc reproduce list` names them".to_owned(),
        };
        return Err(ExperimentError::Unknown { wanted: unknown.clone(), hint });
    }
    all.iter()
        .filter(|(id, _)| wanted.iter().any(|wanted| fits(id, wanted)))
        .map(|(id, directory)| {
            let paper = directory.parent().map(Paper::load).transpose()?.unwrap_or_default();
            Experiment::load(id, directory, &paper)
        })
        .collect()
}
