//! The lists under `compliance/`: what the specifications ask for, where it is done and which test
//! shows it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// One file of a specification's folder: the items of one section.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Section {
    /// The RFC's number.
    pub(crate) rfc: u16,
    /// Such as `4.3`.
    pub(crate) section: String,
    pub(crate) title: String,
    #[serde(rename = "item")]
    pub(crate) items: Vec<Item>,
}

/// One rule of the text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    /// Unique within its file; [`Section::name_of`] makes it unique everywhere.
    pub(crate) id: String,
    pub(crate) level: Level,
    /// Requirement words of the text that it covers: one for MUST and SHOULD unless said otherwise,
    /// none for the other levels.
    words: Option<usize>,
    /// The rule in our own words.
    pub(crate) text: String,
    /// The file that follows it, from the root of the repository.
    pub(crate) code: Option<String>,
    /// The citation that must stand in a comment of that file; the section unless said otherwise.
    pub(crate) anchor: Option<String>,
    /// Tests that fail when the rule is broken: `package::path`, or `package::target::path` for
    /// integration tests.
    #[serde(default)]
    pub(crate) tests: Vec<String>,
    #[serde(default)]
    pub(crate) state: ItemState,
    /// Changes that break the rule; each must make one of the tests fail.
    #[serde(default, rename = "mutation")]
    pub(crate) mutations: Vec<CodeMutation>,
}

/// How strongly the text asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Level {
    /// MUST, REQUIRED.
    #[serde(rename = "MUST")]
    Must,
    /// SHOULD, RECOMMENDED.
    #[serde(rename = "SHOULD")]
    Should,
    /// MAY, OPTIONAL.
    #[serde(rename = "MAY")]
    May,
    /// A numbered step or a definition.
    #[serde(rename = "step")]
    CiStep,
    /// A branch of a pseudocode: it needs a mutation.
    #[serde(rename = "branch")]
    Branch,
}

/// Progress of the work on an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ItemState {
    /// Code and tests are there.
    #[default]
    Done,
    /// Still to be done; counts as a hole.
    Planned,
}

/// A change of the code that breaks a rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodeMutation {
    /// The item's own file unless said otherwise.
    pub(crate) file: Option<String>,
    /// Text that occurs exactly once in that file.
    pub(crate) find: String,
    /// The text that replaces it.
    pub(crate) replace: String,
    /// Why no test can see the change, where that is so.
    pub(crate) survives: Option<String>,
}

/// Something the text asks for that is not done, or not as the text has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    /// Full name of the item, as [`Section::name_of`] gives it.
    item: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exceptions {
    exception: Vec<Exception>,
}

/// A point that implementations often get wrong: a test, or why there is none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubtlePoint {
    pub(crate) rfc: u16,
    pub(crate) section: String,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) tests: Vec<String>,
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) state: ItemState,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Points {
    point: Vec<SubtlePoint>,
}

/// The number of requirement words in an RFC, counted in its text: MUST, SHALL, SHOULD, REQUIRED
/// and RECOMMENDED, each also with NOT. MAY and OPTIONAL are not counted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequirementWords {
    pub(crate) rfc: u16,
    /// In the whole text.
    pub(crate) total: usize,
    /// By section.
    pub(crate) sections: BTreeMap<String, usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WordCounts {
    text: Vec<RequirementWords>,
}

/// All lists.
#[derive(Debug)]
pub(crate) struct Lists {
    pub(crate) sections: Vec<Section>,
    /// Reason by item.
    pub(crate) exceptions: BTreeMap<String, String>,
    pub(crate) points: Vec<SubtlePoint>,
    pub(crate) words: Vec<RequirementWords>,
}

impl Item {
    /// Requirement words of the text that it covers.
    pub(crate) fn words(&self) -> usize {
        let one = matches!(self.level, Level::Must | Level::Should);
        self.words.unwrap_or(usize::from(one))
    }
}

impl Section {
    /// The item's name in the whole of the lists, such as `5348/4.3/floor`.
    pub(crate) fn name_of(&self, item: &Item) -> String {
        format!("{}/{}/{}", self.rfc, self.section, item.id)
    }

    /// The citation that must stand in the item's file. Sections without a number of an RFC are RFC
    /// 5348's.
    pub(crate) fn anchor_of(&self, item: &Item) -> String {
        let rfc = if self.rfc == 5348 { String::new() } else { format!("RFC {} ", self.rfc) };
        item.anchor.clone().unwrap_or_else(|| format!("{rfc}§{}", self.section))
    }
}

/// Reads everything under `folder`.
///
/// # Errors
/// A file that cannot be read or does not have the form, by name.
pub(crate) fn read(folder: &Path) -> Result<Lists, String> {
    let mut sections = Vec::new();
    let mut exceptions = BTreeMap::new();
    for sub in folders(folder)? {
        for file in files(&sub)? {
            if sub.ends_with("exceptions") {
                for Exception { item, reason } in parse::<Exceptions>(&file)?.exception {
                    if exceptions.insert(item.clone(), reason).is_some() {
                        return Err(format!("{}: {item} is there twice", file.display()));
                    }
                }
            } else {
                sections.push(parse::<Section>(&file)?);
            }
        }
    }
    // 4.2 before 4.10.
    sections
        .sort_by_key(|s| (s.rfc, s.section.split('.').map(|n| n.parse::<u32>().ok()).collect::<Vec<_>>()));
    let points = parse::<Points>(&folder.join("subtle-points.toml"))?.point;
    let words = parse::<WordCounts>(&folder.join("words.toml"))?.text;
    Ok(Lists { sections, exceptions, points, words })
}

fn folders(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    entries(folder).map(|all| all.into_iter().filter(|p| p.is_dir()).collect())
}

fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    entries(folder)
        .map(|all| all.into_iter().filter(|p| p.extension().is_some_and(|e| e == "toml")).collect())
}

fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let error = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut all = std::fs::read_dir(folder)
        .map_err(error)?
        .map(|entry| entry.map(|e| e.path()).map_err(error))
        .collect::<Result<Vec<_>, _>>()?;
    all.sort();
    Ok(all)
}

fn parse<T: DeserializeOwned>(file: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    toml::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))
}
