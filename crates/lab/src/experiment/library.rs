//! The directory of experiments: `<paper>/<name>/experiment.toml`.

use std::path::{Path, PathBuf};

use super::error::ExperimentError;
use super::file::Experiment;
use super::paper::Paper;
use crate::scenario::nearest;

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
/// `all`. A word that no id begins with may be the id in another spelling: `figure-9` or `fig-9`
/// for `fig-09`, with or without the paper.
///
/// # Errors
/// [`ExperimentError::Unknown`] if one of these fits none, else what is wrong with the first that
/// cannot be read.
pub fn load(root: &Path, wanted: &[String]) -> Result<Vec<Experiment>, ExperimentError> {
    let all = ids(root)?;
    let names: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
    let mut chosen = vec![false; all.len()];
    for wanted in wanted {
        let meant = meant(wanted, &names);
        if meant.is_empty() {
            return Err(ExperimentError::Unknown { wanted: wanted.clone(), hint: hint(wanted, &names) });
        }
        meant.into_iter().for_each(|place| chosen[place] = true);
    }
    all.iter()
        .zip(chosen)
        .filter(|(_, chosen)| *chosen)
        .map(|((id, directory), _)| {
            let paper = directory.parent().map(Paper::load).transpose()?.unwrap_or_default();
            Experiment::load(id, directory, &paper)
        })
        .collect()
}

/// The places of the ids that a word means.
fn meant(wanted: &str, ids: &[&str]) -> Vec<usize> {
    let places = |fits: &dyn Fn(&str) -> bool| {
        let fitting = ids.iter().enumerate().filter(|(_, id)| fits(id));
        fitting.map(|(place, _)| place).collect::<Vec<usize>>()
    };
    let exact = places(&|id| id == wanted);
    if !exact.is_empty() {
        return exact;
    }
    let begun = places(&|id| wanted == "all" || id.starts_with(wanted));
    if !begun.is_empty() {
        return begun;
    }
    let plain = plain(wanted);
    places(&|id| {
        let id = self::plain(id);
        id == plain || id.split_once('/').is_some_and(|(_, name)| name == plain)
    })
}

/// An id without the differences of spelling: `figure` is `fig`, numbers have no zeros in front.
fn plain(id: &str) -> String {
    let part = |part: &str| match part.parse::<u32>() {
        Ok(number) => number.to_string(),
        Err(_) => part.to_lowercase().replace("figure", "fig"),
    };
    let name = |name: &str| name.split('-').map(part).collect::<Vec<_>>().join("-");
    id.split('/').map(name).collect::<Vec<_>>().join("/")
}

/// Advice for a word that means no id: the nearest one, or where to find them.
fn hint(wanted: &str, ids: &[&str]) -> String {
    if ids.is_empty() {
        return "there are no experiments in this directory".to_owned();
    }
    let names = ids.iter().filter_map(|id| Some((id, id.split_once('/')?.1)));
    let near = nearest(wanted, ids.iter().copied()).or_else(|| {
        let near = nearest(wanted, names.clone().map(|(_, name)| name))?;
        names.clone().find(|(_, name)| *name == near).map(|(id, _)| *id)
    });
    match near {
        Some(id) => format!("did you mean `{id}`? `tfrc reproduce list` names them all"),
        None => "`tfrc reproduce list` names them".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 5] =
        ["rhee-xu/figure-09", "rhee-xu/figure-10", "rfc4828/table-08", "sigcomm2000/fig-09", "wbl04/methods"];

    #[test]
    fn other_spellings_mean_the_same() {
        for (wanted, ids) in [
            ("rhee-xu", &["rhee-xu/figure-09", "rhee-xu/figure-10"][..]),
            ("rhee-xu/figure-1", &["rhee-xu/figure-10"]),
            ("sigcomm2000/figure-9", &["sigcomm2000/fig-09"]),
            ("figure-9", &["rhee-xu/figure-09", "sigcomm2000/fig-09"]),
            ("Table-8", &["rfc4828/table-08"]),
            ("figure-99", &[]),
            ("methodz", &[]),
        ] {
            let found: Vec<&str> = meant(wanted, &IDS).into_iter().map(|place| IDS[place]).collect();
            assert_eq!(found, ids, "{wanted}");
        }
        assert_eq!(meant("all", &IDS).len(), IDS.len());
    }

    #[test]
    fn a_misspelt_id_has_a_hint() {
        for (wanted, says) in [("methodz", "`wbl04/methods`"), ("sigcom2000/fig-09", "`sigcomm2000/fig-09`")]
        {
            assert!(hint(wanted, &IDS).contains(says), "{}", hint(wanted, &IDS));
        }
        assert_eq!(hint("q", &IDS), "`tfrc reproduce list` names them");
        assert!(hint("q", &[]).contains("no experiments"));
    }
}
