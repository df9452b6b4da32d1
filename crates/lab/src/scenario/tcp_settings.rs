//! Keys of `[flow.tcp]`: every setting of [`tfrc_sim::tcp::Settings`] by its name. The types have
//! the words and their meaning; `docs/models/tcp.md` has the sources.

use schemars::JsonSchema;
use serde::Deserialize;
use tfrc_sim::tcp::{Settings, Variant};

use super::table::{Keys, Tabular, fields};
use super::written::PacketBytes;

/// A set of settings to begin with.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Base {
    /// The RFCs.
    Rfc,
    /// ns-2.35 as it comes.
    Ns2,
}

/// A number with or without a bound.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Bound {
    /// No bound.
    Unlimited,
    /// A number of segments.
    #[serde(untagged)]
    AtMost(u32),
}

impl From<Bound> for Option<u32> {
    fn from(bound: Bound) -> Self {
        match bound {
            Bound::Unlimited => None,
            Bound::AtMost(number) => Some(number),
        }
    }
}

impl Tabular for Settings {
    const NAME: &'static str = "Tcp";

    fn start() -> Self {
        Self::default()
    }

    fn keys(&mut self, keys: &mut Keys<'_>) {
        if let Some(variant) = keys.value("variant", "") {
            *self = Self { segment: self.segment, header: self.header, ..Self::rfc(variant) };
        }
        match keys.value("settings", "") {
            Some(Base::Rfc) => *self = Self::rfc(self.variant),
            Some(Base::Ns2) => *self = Self::ns2(self.variant),
            None => {}
        }
        let study = self.algorithm.choices_mut();
        keys.written_as::<PacketBytes, _>("segment", "", &mut self.segment);
        self.segment = self.segment.max(1);
        keys.written_as::<PacketBytes, _>("header", "", &mut self.header);
        keys.number("window", "a number of segments", &mut self.window);
        let acks = "a number of acknowledgements, such as 3";
        keys.number("dup_threshold", acks, &mut study.dup_threshold);
        keys.written_as::<Bound, _>("max_burst", "", &mut study.max_burst);
        fields!(keys, study, [option_bytes, receive_buffer, initial_window, increase, fast_convergence]);
        fields!(keys, study, [duplicates, limited_transmit, shrink, precision, repeat, partial_ack]);
        fields!(keys, study, [partial_ack_timer, recovery_exit, pipe, sack_at_timeout, ecn_at_one]);
        fields!(keys, study, [timestamp_backoff, lost_syn, rtt_arithmetic]);
        fields!(keys, self, [ecn, timestamps, syn, acks, initial_rto, min_rto, max_rto, tick]);
    }
}

/// The name of a variant.
pub(crate) const fn name(variant: Variant) -> &'static str {
    match variant {
        Variant::Cubic => "tcp-cubic",
        Variant::NewReno => "tcp-newreno",
        Variant::Reno => "tcp-reno",
        Variant::Sack => "tcp-sack",
        Variant::Tahoe => "tcp-tahoe",
        _ => "tcp",
    }
}
