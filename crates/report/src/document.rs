//! Documents of simulations, as programs print them as JSON.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::record::SCHEMA_VERSION;
use tfrc_world::batch::Results;
use tfrc_world::note::Note;
use tfrc_world::results::Outcome;

/// A document with the version of its form.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Document")]
pub struct Versioned<'d, T> {
    /// Version of the form of the document. It grows when a key goes, or its meaning changes; new
    /// keys come without.
    pub schema_version: u32,
    /// The document.
    #[serde(flatten)]
    pub document: &'d T,
}

/// A document as a line of JSON, with the version of its form.
pub fn text(document: &impl Serialize) -> String {
    versioned(document).to_string()
}

/// A document with the version of its form.
pub fn versioned(document: &impl Serialize) -> Value {
    json!(Versioned { schema_version: SCHEMA_VERSION, document })
}

/// Result of one run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub struct Single {
    /// Figures of the run.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Reasons to read the figures with care; left out without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// Cost of the run, with `--timing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

/// Results of several runs: of the points of sweeps, of several seeds.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Runs")]
pub struct Several {
    /// The points with their runs and means.
    #[serde(flatten)]
    pub results: Results,
    /// Cost of the runs, with `--timing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

/// Cost of the runs, setting up included.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Timing {
    /// Processor time of all threads, seconds; `None` where the system does not report it.
    pub cpu_s: Option<f64>,
    /// Seconds that passed.
    pub wall_s: f64,
    /// Processor time for each packet-hop, nanoseconds.
    pub ns_per_hop: Option<f64>,
    /// The most memory that the process had, bytes; `None` where the system does not report it.
    pub peak_memory_bytes: Option<u64>,
}
