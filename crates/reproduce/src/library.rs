//! The directory of experiments: `<paper>/<name>/experiment.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::ExperimentError;
use super::file::Experiment;
use super::paper::Paper;
use tfrc_scenario::nearest;

/// The file that makes a folder an experiment.
const FILE: &str = "experiment.toml";

/// The ids of all experiments under a directory, in order, each with its own directory.
///
/// # Errors
/// [`ExperimentError::Read`] if the directory cannot be read.
pub fn ids(root: &Path) -> Result<Vec<(String, PathBuf)>, ExperimentError> {
    let mut found = Vec::new();
    for (paper, directory) in directories(root)? {
        for (name, directory) in directories(&directory)? {
            if directory.join(FILE).exists() {
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
/// `all`. A word that is a folder with an experiment means that one, wherever it is. A word that no
/// id begins with may be the id in another spelling, `figure-9` or `fig-9` for `fig-09`, or a
/// figure's number in the conference version, `sigcomm/figure-9`; both with or without the paper,
/// as long as they mean one experiment.
///
/// # Errors
/// [`ExperimentError::Unknown`] if one of these fits none, [`ExperimentError::Ambiguous`] if another
/// spelling fits several, else what is wrong with the first that cannot be read.
pub fn load(root: &Path, wanted: &[String]) -> Result<Vec<Experiment>, ExperimentError> {
    let (own, wanted): (Vec<&String>, Vec<&String>) =
        wanted.iter().partition(|word| Path::new(word).join(FILE).is_file());
    let own = own.into_iter().map(|word| own_experiment(Path::new(word)));
    let mut experiments = own.collect::<Result<Vec<Experiment>, _>>()?;
    if wanted.is_empty() {
        return Ok(experiments);
    }
    let all = ids(root)?;
    let names: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
    let mut chosen = vec![false; all.len()];
    for wanted in wanted {
        let mut meant = begun(wanted, &names);
        if meant.is_empty() {
            let aliases: Vec<Option<String>> = all.iter().map(|(_, directory)| alias(directory)).collect();
            meant = spelt(wanted, &names, &aliases);
            if meant.is_empty() {
                let hint = hint(wanted, &names, &aliases);
                let wanted = tfrc_scenario::text::sentence(wanted);
                return Err(ExperimentError::Unknown { wanted, hint });
            }
            if meant.len() > 1 {
                let wanted = tfrc_scenario::text::sentence(wanted);
                return Err(ExperimentError::Ambiguous {
                    wanted,
                    candidates: candidates(&meant, &names, &aliases),
                });
            }
        }
        meant.into_iter().for_each(|place| chosen[place] = true);
    }
    for ((id, directory), _) in all.iter().zip(chosen).filter(|(_, chosen)| *chosen) {
        let paper = directory.parent().map(Paper::load).transpose()?.unwrap_or_default();
        experiments.push(Experiment::load(id, directory, &paper)?);
    }
    Ok(experiments)
}

/// The experiment in a folder of its own; its id is the folder's name behind that of the folder it
/// is in.
fn own_experiment(folder: &Path) -> Result<Experiment, ExperimentError> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name =
        |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let above = folder.parent().unwrap_or(&folder);
    let paper = Paper::load(above)?;
    Experiment::load(&format!("{}/{}", name(above), name(&folder)), &folder, &paper)
}

/// The figure's number in the conference version, as an id: `sigcomm/figure-9` for the source
/// `TR-00-003, Figure 8 (conference version: Figure 9)`. `None` if the source has no such number.
fn conference(source: &str) -> Option<String> {
    let marks = ["conference version: Figure ", "SIGCOMM 2000, Figure "];
    let rest = marks.iter().find_map(|mark| source.split_once(mark))?.1;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then(|| format!("sigcomm/figure-{digits}"))
}

impl Experiment {
    /// The figure's number in the conference version, as an id such as `sigcomm/figure-9`; `None`
    /// without one.
    #[must_use]
    pub fn conference(&self) -> Option<String> {
        conference(&self.source)
    }
}

/// The alias of an experiment that nothing else is read of.
fn alias(directory: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        source: String,
    }
    let text = tfrc_scenario::files::read_file(directory.join("experiment.toml")).ok()?;
    conference(&toml::from_str::<Head>(&text).ok()?.source)
}

/// The place of the id equal to a word; otherwise the places of ids that begin with it.
fn begun(wanted: &str, ids: &[&str]) -> Vec<usize> {
    match ids.iter().position(|id| *id == wanted) {
        Some(place) => vec![place],
        None => places(ids, |_, id| wanted == "all" || id.starts_with(wanted)),
    }
}

/// The places of the ids that a word spells otherwise, or whose alias it spells.
fn spelt(wanted: &str, ids: &[&str], aliases: &[Option<String>]) -> Vec<usize> {
    let wanted = plain(wanted);
    let fits = |name: &str| {
        let name = plain(name);
        name == wanted || name.split_once('/').is_some_and(|(_, name)| name == wanted)
    };
    places(ids, |place, id| {
        fits(id) || aliases.get(place).is_some_and(|alias| alias.as_deref().is_some_and(fits))
    })
}

/// The ids at these places, each with its number at the conference.
fn candidates(places: &[usize], ids: &[&str], aliases: &[Option<String>]) -> String {
    let one = |place: &usize| {
        let alias = aliases.get(*place).and_then(Option::as_ref);
        let alias = alias.map_or_else(String::new, |alias| format!(" ({alias} at the conference)"));
        format!("`{}`{alias}", ids[*place])
    };
    places.iter().map(one).collect::<Vec<_>>().join(" or ")
}

fn places(ids: &[&str], fits: impl Fn(usize, &str) -> bool) -> Vec<usize> {
    (0..ids.len()).filter(|place| fits(*place, ids[*place])).collect()
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

/// Advice for a word that means no id: the nearest one with its alias, or where to find them.
fn hint(wanted: &str, ids: &[&str], aliases: &[Option<String>]) -> String {
    if ids.is_empty() {
        return "there are no experiments in this directory".to_owned();
    }
    let name = |id: &'_ str| id.split_once('/').map_or_else(String::new, |(_, name)| name.to_owned());
    let whole: Vec<String> = ids
        .iter()
        .map(|id| (*id).to_owned())
        .chain(aliases.iter().map(|alias| alias.clone().unwrap_or_default()))
        .collect();
    let short: Vec<String> = whole.iter().map(|id| name(id)).collect();
    let near = |names: &[String]| {
        let found = nearest(wanted, names.iter().map(String::as_str).filter(|name| !name.is_empty()))?;
        names.iter().position(|name| name == found).map(|place| place % ids.len())
    };
    match near(&whole).or_else(|| near(&short)) {
        Some(place) => {
            let alias = aliases.get(place).cloned().flatten();
            let alias = alias
                .map_or_else(String::new, |alias| format!(" or, by its number at the conference, `{alias}`"));
            format!("did you mean `{}`{alias}? `tfrc reproduce list` names them all", ids[place])
        }
        None => "`tfrc reproduce list` names them".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 5] =
        ["rhee-xu/figure-09", "rhee-xu/figure-10", "rfc4828/table-08", "sigcomm2000/fig-09", "wbl04/methods"];

    const SOURCE: &str = "TR-00-003, Figure 9 (conference version: Figure 10); scripts";

    fn aliases() -> Vec<Option<String>> {
        IDS.iter().map(|id| conference(if id.starts_with("sigcomm") { SOURCE } else { "RFC 4828" })).collect()
    }

    #[test]
    fn other_spellings_mean_the_same() {
        for (wanted, ids) in [
            ("rhee-xu", &["rhee-xu/figure-09", "rhee-xu/figure-10"][..]),
            ("rhee-xu/figure-1", &["rhee-xu/figure-10"]),
            ("sigcomm2000/figure-9", &["sigcomm2000/fig-09"]),
            ("sigcomm/figure-10", &["sigcomm2000/fig-09"]),
            ("figure-9", &["rhee-xu/figure-09", "sigcomm2000/fig-09"]),
            ("fig-10", &["rhee-xu/figure-10", "sigcomm2000/fig-09"]),
            ("Table-8", &["rfc4828/table-08"]),
            ("figure-99", &[]),
            ("methodz", &[]),
        ] {
            let mut meant = begun(wanted, &IDS);
            if meant.is_empty() {
                meant = spelt(wanted, &IDS, &aliases());
            }
            let found: Vec<&str> = meant.into_iter().map(|place| IDS[place]).collect();
            assert_eq!(found, ids, "{wanted}");
        }
        assert_eq!(begun("all", &IDS).len(), IDS.len());
        assert_eq!(
            conference("Floyd et al., SIGCOMM 2000, Figure 8, and"),
            Some("sigcomm/figure-8".to_owned())
        );
    }

    #[test]
    fn a_number_of_two_papers_names_both() {
        let meant = spelt("figure-10", &IDS, &aliases());
        assert_eq!(
            candidates(&meant, &IDS, &aliases()),
            "`rhee-xu/figure-10` or `sigcomm2000/fig-09` (sigcomm/figure-10 at the conference)"
        );
    }

    #[test]
    fn a_misspelt_id_has_a_hint() {
        for (wanted, says) in [
            ("methodz", "`wbl04/methods`"),
            (
                "sigcom2000/fig-09",
                "`sigcomm2000/fig-09` or, by its number at the conference, `sigcomm/figure-10`?",
            ),
            ("sigcom/figure-10", "`sigcomm2000/fig-09`"),
        ] {
            let hint = hint(wanted, &IDS, &aliases());
            assert!(hint.contains(says), "{hint}");
        }
        assert_eq!(hint("q", &IDS, &aliases()), "`tfrc reproduce list` names them");
        assert!(hint("q", &[], &[]).contains("no experiments"));
    }
}
