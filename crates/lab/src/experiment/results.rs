//! What came of experiments, as it is written to `results.json` (the keys are those of the command's JSON).

use serde::{Deserialize, Serialize};

use super::raw::{Profile, World};
use super::verdict::{Band, Verdict};

/// What came of several experiments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The version of the code that ran.
    pub code_version: String,
    /// Whether it was the quick form.
    pub quick: bool,
    /// In the order of their ids.
    pub experiments: Vec<ExperimentResult>,
}

/// What came of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// `<paper>/<name>`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Where the published values are.
    pub source: String,
    /// Where it happens.
    pub world: World,
    /// Whether it belongs to those that must agree.
    pub must_agree: bool,
    /// Seeds for each point.
    pub runs: u32,
    /// What came of it.
    pub verdict: ExperimentVerdict,
    /// Why, in words.
    pub reason: String,
    /// Counts of cells and claims.
    pub tally: Tally,
    /// The cells, row by row.
    pub cells: Vec<CellResult>,
    /// The claims.
    pub claims: Vec<ClaimResult>,
    /// The same with other settings.
    pub variants: Vec<VariantResult>,
}

/// What came of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ExperimentVerdict {
    /// At least nine tenths of the informative cells agree, and every claim holds that holds in the reference.
    Agrees,
    /// Too many cells disagree, or a claim fails.
    Disagrees,
    /// Not run to the end, or it needs the emulated world.
    NotRun,
    /// Neither.
    Undetermined,
}

impl ExperimentVerdict {
    /// As it is written.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Disagrees => "disagrees",
            Self::NotRun => "not-run",
            Self::Undetermined => "undetermined",
        }
    }
}

/// Counts of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Cells that agree.
    pub agree: usize,
    /// Cells that disagree.
    pub disagree: usize,
    /// Cells of which neither can be said.
    pub undetermined: usize,
    /// Cells that say nothing.
    pub uninformative: usize,
    /// Claims that hold here.
    pub claims_held: usize,
    /// Claims.
    pub claims: usize,
    /// The median of measured over published, of the informative cells.
    pub median_ratio: Option<f64>,
}

/// One cell of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Its row.
    pub row: String,
    /// Its column.
    pub column: String,
    /// The published value.
    pub published: Option<f64>,
    /// The mean of ns-2's runs.
    pub ns2: Option<f64>,
    /// The mean of the runs as published.
    pub measured: Option<f64>,
    /// The mean of the runs with the defaults of the core.
    pub rfc_profile: Option<f64>,
    /// Half the width of the 95 % interval of `measured`.
    pub ci95: Option<f64>,
    /// Measured over published, or over ns-2 where nothing is published.
    pub ratio: Option<f64>,
    /// How far it is from the nearer reference, in widths of the band.
    pub distance: Option<f64>,
    /// What is allowed.
    pub band: Band,
    /// `None` if there is nothing to compare with.
    pub verdict: Option<Verdict>,
    /// Why it is not counted, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// What is claimed.
    pub text: String,
    /// Whether it holds in what was measured; `None` if that cannot be said.
    pub holds: Option<bool>,
    /// Whether it holds in the published table.
    pub holds_in_source: Option<bool>,
    /// Whether it holds in ns-2's runs.
    pub holds_in_ns2: Option<bool>,
    /// Where to look.
    pub evidence: Option<String>,
    /// What is computed.
    pub formula: String,
    /// In which profile.
    pub profile: Profile,
    /// What it may be.
    pub between: [f64; 2],
    /// What it is here.
    pub value: Option<f64>,
    /// What it is in the published table.
    pub value_in_source: Option<f64>,
    /// What it is in ns-2's runs.
    pub value_in_ns2: Option<f64>,
}

impl ClaimResult {
    /// Whether the experiment needs it: it holds in the source's table or in ns-2, or neither has what it takes to say,
    /// so that the source's word stands.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        match (self.holds_in_source, self.holds_in_ns2) {
            (None, None) => true,
            (source, ns2) => source == Some(true) || ns2 == Some(true),
        }
    }
}

/// The experiment with other settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantResult {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// What is set.
    pub set: Vec<String>,
    /// The profile it changes.
    pub profile: Profile,
    /// Seeds for each point.
    pub runs: u32,
    /// Its cells.
    pub cells: Vec<VariantCell>,
}

/// A cell of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantCell {
    /// Its row.
    pub row: String,
    /// Its column.
    pub column: String,
    /// The mean of the runs.
    pub measured: Option<f64>,
    /// Half the width of its 95 % interval.
    pub ci95: Option<f64>,
    /// Over what the profile gave without the change.
    pub to_unchanged: Option<f64>,
    /// Over the published value, or over ns-2.
    pub ratio: Option<f64>,
}

impl ExperimentResult {
    /// The informative cell that is farthest from its reference, in widths of its band.
    #[must_use]
    pub fn worst(&self) -> Option<&CellResult> {
        let counted = self.cells.iter().filter(|cell| is_informative(cell) && cell.distance.is_some());
        counted.max_by(|a, b| a.distance.unwrap_or(0.0).total_cmp(&b.distance.unwrap_or(0.0)))
    }
}

/// Whether a cell counts.
pub(super) fn is_informative(cell: &CellResult) -> bool {
    matches!(cell.verdict, Some(Verdict::Agrees | Verdict::Disagrees | Verdict::Undetermined))
}
