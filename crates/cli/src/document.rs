//! Output as JSON: documents with their version, and lines about one of several.

use schemars::JsonSchema;
use serde::Serialize;
pub(crate) use tfrc_report::document::{text, versioned};
use tfrc_report::record::Record;

/// A document or line about one connection among several.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}OfConnection")]
pub(crate) struct OfConnection<T> {
    /// Number of the connection, where several are served at once; left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<u64>,
    /// The document or line.
    #[serde(flatten)]
    pub told: T,
}

/// A line of a stream of simulations: a record, and the run that it is about.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StreamLine {
    /// Number of the point, from 1.
    pub point: usize,
    /// Number of the run at its point, from 1.
    pub run: u32,
    #[serde(flatten)]
    #[schemars(with = "Record")]
    pub record: serde_json::Value,
}
