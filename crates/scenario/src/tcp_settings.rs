//! Keys of `[flow.tcp]`: settings of [`tfrc_sim::tcp::Settings`] by their names; ns-2's habits come
//! with `settings = "ns2"` alone. The types have the words and their meaning; `docs/models/tcp.md`
//! has the sources.

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
        fields!(keys, study, [initial_window, reno_region, after_idle]);
        if stack == Stack::Rfc {
            fields!(keys, study, [limited_transmit, precision, pipe]);
            fields!(keys, settings, [tick]);
        }
        fields!(keys, settings, [ecn, timestamps, syn, acks, initial_rto, min_rto, max_rto]);
    }
}
