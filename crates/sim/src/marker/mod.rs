//! Meters at the head of a link that set the drop precedence of packets.

mod meter;

use std::collections::BTreeMap;
#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema};

use tfrc_units::{Instant, Rate};

use crate::loss::Flows;
use crate::packet::{Header, Precedence};
use meter::MeterBuckets;

/// How packets are metered. Buckets start full.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Marker {
    /// Every packet gets this precedence.
    Fixed(Precedence),
    /// The single rate three color marker (RFC 2697): green, yellow and red are low, medium and
    /// high precedence.
    SingleRate {
        /// Committed information rate, CIR.
        cir: Rate,
        /// Committed burst size, bytes.
        cbs: u32,
        /// Excess burst size, bytes.
        ebs: u32,
        /// Colour mode: use or ignore the colour a packet brings.
        colors: ColorMode,
    },
    /// A token bucket: a packet that it holds tokens for, whole, takes them and is in profile (low
    /// precedence), any other is out (medium).
    TokenBucket {
        /// Committed information rate, CIR.
        cir: Rate,
        /// Size of the bucket, bytes.
        burst: u32,
    },
}

/// Colour mode of a meter (RFC 2697 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum ColorMode {
    /// A packet gets no better colour than it has.
    Aware,
    /// All packets are taken as uncoloured.
    Blind,
}

/// A marker at the head of a link, after losses there and before the queue.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkerRule {
    /// The meter.
    pub marker: Marker,
    /// Which packets share buckets.
    pub scope: MeterScope,
    /// Whose packets it meters. A packet goes to the first rule of the link that names its flow;
    /// one that none names keeps its precedence.
    pub flows: Flows,
}

/// Which packets share the buckets of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum MeterScope {
    /// All that the rule names.
    Aggregate,
    /// Those of each flow.
    EachFlow,
    /// Those of each sending node.
    EachSource,
}

/// The markers of a link at work.
#[derive(Debug)]
pub(crate) struct Markers(Vec<(MarkerRule, BTreeMap<u32, MeterBuckets>)>);

impl Markers {
    pub(crate) fn new(rules: &[MarkerRule]) -> Self {
        Self(rules.iter().map(|rule| (rule.clone(), BTreeMap::new())).collect())
    }

    pub(crate) fn mark(&mut self, now: Instant, header: &mut Header) {
        let Some((rule, meters)) = self.0.iter_mut().find(|(rule, _)| rule.flows.contains(header.flow))
        else {
            return;
        };
        let key = match rule.scope {
            MeterScope::Aggregate => 0,
            MeterScope::EachFlow => header.flow.0,
            MeterScope::EachSource => header.src.node.0,
        };
        let meter = meters.entry(key).or_insert_with(|| MeterBuckets::new(rule.marker, now));
        header.precedence = meter.color(now, header.size, header.precedence);
    }
}
