//! The shape of `experiment.toml`; `docs/experiments.md` says what it means.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::verdict::Band;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Experiment {
    pub(crate) title: String,
    pub(crate) source: String,
    #[serde(default)]
    pub(crate) world: World,
    #[serde(default)]
    pub(crate) must_agree: bool,
    /// It takes hours: `all` leaves it out.
    #[serde(default)]
    pub(crate) long: bool,
    pub(crate) runs: Option<Spanned<u32>>,
    /// Why a fixed number of seeds takes the place of the paper's rule.
    pub(crate) runs_reason: Option<String>,
    #[serde(default)]
    pub(crate) deterministic: bool,
    #[serde(default)]
    pub(crate) verdicts: VerdictRule,
    pub(crate) keys: BTreeMap<String, Spanned<Vec<String>>>,
    #[serde(default)]
    pub(crate) ignored: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) quick: Quick,
    #[serde(default)]
    pub(crate) profile: Profiles,
    #[serde(default)]
    pub(crate) run: BTreeMap<String, RunEntry>,
    pub(crate) code: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) cells: Vec<CellEntry>,
    #[serde(default)]
    pub(crate) claim: Vec<Claim>,
    #[serde(default)]
    pub(crate) variant: Vec<VariantEntry>,
    #[serde(default)]
    pub(crate) undecided: Vec<Undecided>,
    #[serde(default)]
    pub(crate) mutation: Vec<MutationEntry>,
    pub(crate) emulation: Option<EmulationTable>,
}

/// How cells are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum VerdictRule {
    /// Each by its band about the print and about ns-2's mean.
    #[default]
    Bands,
    /// All together against the runs of ns-2, by Welch's test.
    Welch,
}

/// Where an experiment happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum World {
    /// In real time, with real datagrams.
    Emu,
    /// In virtual time.
    #[default]
    Sim,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quick {
    pub(crate) runs: Option<u32>,
    #[serde(default)]
    pub(crate) set: Vec<String>,
    pub(crate) rows: Option<Vec<Spanned<String>>>,
}

/// The emulated side.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmulationTable {
    #[serde(default)]
    pub(crate) set: Vec<String>,
    #[serde(default = "rfc")]
    pub(crate) profile: Profile,
    pub(crate) runs: Option<Spanned<u32>>,
    /// Only these rows.
    pub(crate) rows: Option<Vec<Spanned<String>>>,
    /// Only these of the runs' names.
    pub(crate) only: Option<Vec<Spanned<String>>>,
    /// Rows without a simulated side.
    pub(crate) alone: Option<Vec<Spanned<String>>>,
    /// In place of the experiment's.
    pub(crate) quick: Option<Quick>,
}

/// The profile of emulated runs: real endpoints are those of the RFCs.
fn rfc() -> Profile {
    Profile::Rfc
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Profiles {
    #[serde(default)]
    pub(crate) as_published: ProfileTable,
    #[serde(default)]
    pub(crate) rfc: ProfileTable,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileTable {
    #[serde(default)]
    pub(crate) set: Vec<String>,
    pub(crate) runs: Option<Spanned<u32>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunEntry {
    pub(crate) scenario: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// Keys that this run's scenario takes otherwise.
    pub(crate) keys: Option<BTreeMap<String, Spanned<Vec<String>>>>,
    /// Only these rows.
    pub(crate) rows: Option<Vec<Spanned<String>>>,
    /// Seeds for each of its points as published.
    pub(crate) runs: Option<Spanned<u32>>,
    /// Changes of one profile for this run alone.
    #[serde(default)]
    pub(crate) profile: Profiles,
}

/// Which profile.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize, serde::Serialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The settings of the paper's simulator.
    #[default]
    AsPublished,
    /// The defaults of the core: the RFCs.
    Rfc,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CellEntry {
    pub(crate) column: Spanned<String>,
    pub(crate) run: Option<Spanned<String>>,
    pub(crate) value: Option<Spanned<String>>,
    pub(crate) band: Option<Band>,
    #[serde(default)]
    pub(crate) against: Against,
    #[serde(default)]
    pub(crate) read_off: f64,
    /// ns-2's run has no randomness, so that its value needs no interval.
    #[serde(default)]
    pub(crate) ns2_exact: bool,
    pub(crate) ns2_exact_reason: Option<String>,
    pub(crate) rows: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub(crate) ns2_only_rows: Vec<Spanned<String>>,
    pub(crate) uninformative: Option<Spanned<String>>,
    pub(crate) uninformative_reason: Option<String>,
}

/// References that a cell is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Against {
    /// It is enough to agree with one.
    #[default]
    Either,
    Ns2,
    Published,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    pub(crate) text: String,
    pub(crate) value: Spanned<String>,
    pub(crate) between: Spanned<[f64; 2]>,
    #[serde(default)]
    pub(crate) profile: Profile,
    /// Where it is judged; where the experiment happens, unless it says so.
    pub(crate) world: Option<World>,
    pub(crate) undecidable: Option<String>,
    pub(crate) evidence: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VariantEntry {
    pub(crate) name: Spanned<String>,
    pub(crate) about: Spanned<String>,
    #[serde(default)]
    pub(crate) set: Vec<String>,
    pub(crate) rows: Option<Vec<Spanned<String>>>,
    /// Only these of the runs' names.
    pub(crate) only: Option<Vec<Spanned<String>>>,
    pub(crate) runs: Option<u32>,
    #[serde(default)]
    pub(crate) profile: Profile,
}

/// Parts that two set-ups, which both fit the source, decide differently.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undecided {
    pub(crate) text: String,
    pub(crate) variant: Spanned<String>,
    #[serde(default)]
    pub(crate) claims: Vec<Spanned<String>>,
    pub(crate) columns: Option<Vec<Spanned<String>>>,
    pub(crate) rows: Option<Vec<Spanned<String>>>,
}

/// The algorithm broken on purpose.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MutationEntry {
    pub(crate) name: Spanned<String>,
    pub(crate) set: Spanned<Vec<String>>,
    pub(crate) rows: Option<Vec<Spanned<String>>>,
    /// Only these of the runs' names.
    pub(crate) only: Option<Vec<Spanned<String>>>,
}
