//! Keys of `[flow.tcp]`: every setting of [`tfrc_sim::tcp::Settings`] by its name. The types have
//! the words and their meaning; `docs/models/tcp.md` has the sources.

use schemars::JsonSchema;
use serde::Deserialize;
use tfrc_sim::tcp::{Settings, Stack, Variant};

use super::kernel_tcp::Tcp;
use super::table::{self, Keys, Tabular, fields};
use super::written::PacketBytes;

/// A set of settings to begin with.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Base {
    /// Mainline Linux: SACK with RACK-TLP and PRR, timestamps, its timers and HyStart.
    Linux,
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

/// True if a word is that of a TCP.
pub(super) fn is_variant(written: &str) -> bool {
    let keys = table::vocabulary(&Tcp::start());
    keys.iter().filter(|key| key.name == "variant").any(|key| key.words().any(|word| word == written))
}

impl Tabular for Tcp {
    const NAME: &'static str = "Tcp";

    fn start() -> Self {
        Self::from(Settings::default())
    }

    fn keys(&mut self, keys: &mut Keys<'_>) {
        match keys.value("variant", "") {
            // The RFCs have none.
            Some(Variant::Bbr) => *self = Self::from(Settings::linux(Variant::Bbr)),
            Some(variant) => *self = Self::from(Settings::rfc(variant)),
            None => {}
        }
        let settings = self.settings_mut();
        match keys.value("settings", "") {
            Some(Base::Linux) => *settings = Settings::linux(settings.variant),
            Some(Base::Rfc) => *settings = Settings::rfc(settings.variant),
            Some(Base::Ns2) => *settings = Settings::ns2(settings.variant),
            None => {}
        }
        let stack = settings.stack;
        let study = settings.algorithm.choices_mut();
        keys.written_as::<PacketBytes, _>("segment", "", &mut settings.segment);
        settings.segment = settings.segment.max(1);
        keys.written_as::<PacketBytes, _>("header", "", &mut settings.header);
        keys.number("window", "a number of segments", &mut settings.window);
        fields!(keys, study, [option_bytes, initial_window, fast_convergence, reno_region, after_idle]);
        if stack == Stack::Rfc {
            let acks = "a number of acknowledgements, such as 3";
            keys.number("dup_threshold", acks, &mut study.dup_threshold);
            keys.written_as::<Bound, _>("max_burst", "", &mut study.max_burst);
            fields!(keys, study, [receive_buffer, increase]);
            fields!(keys, study, [duplicates, limited_transmit, shrink, precision, repeat, partial_ack]);
            fields!(keys, study, [partial_ack_timer, recovery_exit, pipe, sack_at_timeout, ecn_at_one]);
            fields!(keys, study, [timestamp_backoff, lost_syn, rtt_arithmetic]);
            fields!(keys, settings, [tick]);
        }
        fields!(keys, settings, [ecn, timestamps, syn, acks, initial_rto, min_rto, max_rto]);
    }
}
