//! Results of experiments, as written to `results.json` (the keys are those of the command's JSON).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::emulation::{EmulatedTable, EmulationResult};
use super::syntax::{Profile, World};
use super::verdict::{Band, CellVerdict, Verdict};

/// Results of several experiments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ExperimentResults")]
pub struct Results {
    /// The version of the code that ran.
    pub code_version: String,
    /// True if the experiments ran in the quick form.
    pub quick: bool,
    /// In the order of their ids.
    pub experiments: Vec<ExperimentResult>,
    /// Emulated values in the order of the experiments, where emulated runs were asked for.
    #[serde(skip)]
    pub(crate) emulated: Vec<Option<EmulatedTable>>,
}

/// Results of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentResult {
    /// `<paper>/<name>`.
    pub id: String,
    /// Title, which says what the experiment shows.
    pub title: String,
    /// Where the published values are.
    pub source: String,
    /// Where it happens.
    pub world: World,
    /// True if the experiment must agree.
    pub must_agree: bool,
    /// Seeds for each point; where the paper's rule of precision sets them, the most that a point
    /// took.
    pub runs: u32,
    /// Packets that crossed a link, over all runs as published: what the experiment cost, whatever
    /// the machine.
    pub packet_hops: u64,
    /// Verdict of the cells and claims on the print; `None` if none can.
    pub verdict_print: Option<Verdict>,
    /// Verdict of the cells and claims on ns-2.35; `None` if none can.
    pub verdict_ns2: Option<Verdict>,
    /// Both in one word.
    pub verdict: ExperimentVerdict,
    /// Why, in words.
    pub reason: String,
    /// Counts of cells and claims.
    pub tally: Tally,
    /// The cells, row by row.
    pub cells: Vec<CellResult>,
    /// The claims.
    pub claims: Vec<ClaimResult>,
    /// Results with other settings.
    pub variants: Vec<VariantResult>,
    /// Parts that are undecided between the set-up as published and a variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<UndecidedResult>,
    /// The emulated runs, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulation: Option<EmulationResult>,
}

/// Verdict on an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ExperimentVerdict {
    /// It agrees with ns-2 and not with the print, or nothing is printed.
    AgreesWithNs2,
    /// It agrees with the print, and cells known only from ns-2 agree with ns-2.
    AgreesWithPrint,
    /// It agrees with neither, and no comparison is open.
    Disagrees,
    /// Not run to the end, or it needs the emulated world.
    NotRun,
    /// Two set-ups that fit every sentence of the source fall on different sides of the print.
    Undecidable,
    /// It agrees with neither, and a comparison is open.
    Undetermined,
}

impl ExperimentVerdict {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 6] = [
        Self::AgreesWithPrint,
        Self::AgreesWithNs2,
        Self::Undecidable,
        Self::Undetermined,
        Self::Disagrees,
        Self::NotRun,
    ];

    /// The word in tables and in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::AgreesWithNs2 => "agrees-with-ns2",
            Self::AgreesWithPrint => "agrees-with-print",
            Self::Disagrees => "disagrees",
            Self::NotRun => "not-run",
            Self::Undecidable => "undecidable",
            Self::Undetermined => "undetermined",
        }
    }

    /// Returns true if it agrees with the print or with ns-2: what a star asks for.
    #[must_use]
    pub const fn is_agreement(self) -> bool {
        matches!(self, Self::AgreesWithNs2 | Self::AgreesWithPrint)
    }
}

/// Counts of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Informative cells against the print.
    pub print: Count,
    /// Informative cells against ns-2.
    pub ns2: Count,
    /// Informative cells without a print, against ns-2.
    pub ns2_alone: Count,
    /// Cells that say nothing.
    pub uninformative: usize,
    /// Claims that hold here.
    pub claims_held: usize,
    /// Claims.
    pub claims: usize,
    /// Claims that the print makes: its table does not contradict them.
    pub claims_of_print: Claims,
    /// Claims that hold in ns-2's runs.
    pub claims_of_ns2: Claims,
    /// The median of measured over reference, of the informative cells with a printed value; of
    /// those with a value of ns-2 if there is none.
    pub median_ratio: Option<f64>,
    /// The denominator of `median_ratio`.
    pub median_ratio_over: Option<Over>,
}

/// Cells by what came of one comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// Cells that agree.
    pub agree: usize,
    /// Cells that disagree.
    pub disagree: usize,
    /// Cells of which neither can be said.
    pub undetermined: usize,
}

impl Count {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.agree + self.disagree + self.undetermined
    }
}

/// Claims of one reference: how many hold here, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Claims {
    /// Claims of the reference that hold here.
    pub held: usize,
    /// Claims of the reference.
    pub of: usize,
}

/// Denominator of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Over {
    /// The mean of ns-2's runs.
    Ns2,
    /// The printed value.
    Print,
}

impl Over {
    /// The words after a ratio.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Ns2 => "over ns-2",
            Self::Print => "over print",
        }
    }
}

/// One cell of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The mean of the emulated runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<f64>,
    /// Half the width of the 95 % interval of `emulated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated_ci95: Option<f64>,
    /// Valid emulated runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated_runs: Option<u32>,
    /// Reason why emulated runs are missing or not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated_note: Option<String>,
    /// The mean of the runs with the defaults of the core.
    pub rfc_profile: Option<f64>,
    /// Half the width of the 95 % interval of `measured`.
    pub ci95: Option<f64>,
    /// Measured over published where the cell is judged by the print or by nothing, else over ns-2.
    pub ratio: Option<f64>,
    /// The denominator of `ratio`.
    pub ratio_over: Option<Over>,
    /// Distance of the mean from the nearer reference, in widths of the band.
    pub distance: Option<f64>,
    /// Allowed difference.
    pub band: Band,
    /// Seeds.
    pub runs: usize,
    /// The verdict against the print; `None` if it is not compared with one.
    pub verdict_print: Option<Verdict>,
    /// The verdict against ns-2; `None` if it is not compared with one.
    pub verdict_ns2: Option<Verdict>,
    /// Both in one word; `None` if there is nothing to compare with.
    pub verdict: Option<CellVerdict>,
    /// Half the width of the 99 % interval of the difference from ns-2's mean, as a share of that
    /// mean, where Welch's test judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Why it is not counted, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimResult {
    /// Sentence that is claimed.
    pub text: String,
    /// True if the claim holds in what was measured; `None` if that cannot be said.
    pub holds: Option<bool>,
    /// True if the claim holds in the published table.
    pub holds_in_source: Option<bool>,
    /// True if the claim holds in ns-2's runs.
    pub holds_in_ns2: Option<bool>,
    /// Where to look.
    pub evidence: Option<String>,
    /// Formula of the value.
    pub formula: String,
    /// In which profile.
    pub profile: Profile,
    /// In which world.
    pub world: World,
    /// True if the claim also holds in emulated runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds_in_emulation: Option<bool>,
    /// Value in those runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_in_emulation: Option<f64>,
    /// Reason why the claim can be neither shown nor refuted here; it does not count then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecidable: Option<String>,
    /// Least and greatest value with which the claim holds.
    pub between: [f64; 2],
    /// Measured value.
    pub value: Option<f64>,
    /// Value in the published table.
    pub value_in_source: Option<f64>,
    /// Value in ns-2's runs.
    pub value_in_ns2: Option<f64>,
}

impl ClaimResult {
    /// Returns true if the print makes the claim: its own table does not contradict it. A table
    /// that cannot decide leaves the sentence standing.
    #[must_use]
    pub fn is_of_print(&self) -> bool {
        self.counts() && self.holds_in_source != Some(false)
    }

    /// Returns true if the claim counts: it can be decided here.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.undecidable.is_none()
    }

    /// Returns true if the claim holds in ns-2's runs.
    #[must_use]
    pub fn is_of_ns2(&self) -> bool {
        self.counts() && self.holds_in_ns2 == Some(true)
    }
}

/// The experiment with other settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantResult {
    /// Its name.
    pub name: String,
    /// Purpose of the variant.
    pub about: String,
    /// Assignments that make the variant.
    pub set: Vec<String>,
    /// The profile it changes.
    pub profile: Profile,
    /// Seeds for each point.
    pub runs: u32,
    /// Its cells.
    pub cells: Vec<VariantCell>,
}

/// A cell of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The denominator of `ratio`.
    pub ratio_over: Option<Over>,
}

/// Parts of an experiment in two set-ups that fit every sentence of the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UndecidedResult {
    /// Why both fit.
    pub text: String,
    /// The name of the other set-up.
    pub variant: String,
    /// The parts in the set-up as published.
    pub as_published: SetupTally,
    /// The parts in the other.
    pub otherwise: SetupTally,
}

impl UndecidedResult {
    /// Returns true if the set-ups fall on different sides of the print, so that the word is
    /// earned.
    #[must_use]
    pub fn is_earned(&self) -> bool {
        matches!(
            (self.as_published.verdict, self.otherwise.verdict),
            (Some(Verdict::Agrees), Some(Verdict::Disagrees))
                | (Some(Verdict::Disagrees), Some(Verdict::Agrees))
        )
    }
}

/// Parts of an experiment in one set-up, against the print.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetupTally {
    /// The verdict of the parts; `None` if none is printed.
    pub verdict: Option<Verdict>,
    /// The informative cells.
    pub cells: Count,
    /// The claims.
    pub claims: Vec<SideClaim>,
}

/// A claim in one set-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideClaim {
    /// Sentence that is claimed.
    pub text: String,
    /// Value of its formula.
    pub value: Option<f64>,
    /// True if it holds; `None` if its formula has no value.
    pub holds: Option<bool>,
}

impl ExperimentResult {
    /// The undecided parts that are none: both set-ups fall on the same side of the print, or one
    /// is open.
    #[must_use]
    pub fn unearned(&self) -> Vec<&UndecidedResult> {
        self.undecided.iter().filter(|one| !one.is_earned()).collect()
    }

    /// The informative cell that is farthest from its reference, in widths of its band.
    #[must_use]
    pub fn worst(&self) -> Option<&CellResult> {
        let counted = self.cells.iter().filter(|cell| is_informative(cell) && cell.distance.is_some());
        counted.max_by(|a, b| a.distance.unwrap_or(0.0).total_cmp(&b.distance.unwrap_or(0.0)))
    }
}

/// Returns true if the cell has a verdict that counts.
pub(super) fn is_informative(cell: &CellResult) -> bool {
    !matches!(cell.verdict, None | Some(CellVerdict::Uninformative))
}
