//! The TCP of a flow in two worlds: as settings of the simulator's TCP, and as the kernel's.
//!
//! A key that is left at the RFCs' value leaves the kernel as it is, with a note where the kernel
//! differs. A key with another value is applied, or rejected by name.

use std::fmt;

use serde::{Deserialize, Serialize};
use tfrc_sim::tcp::study::{Algorithm, Choices, InitialWindow};
use tfrc_sim::tcp::{Acks, EcnMode, Settings, Stack, SynMode, Timestamps, Variant};
use tfrc_units::Duration;

use super::{TcpFlow, WebFlow};

/// The TCP that a scenario asks for, at both ends of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tcp(Settings);

/// A congestion control of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CongestionControl {
    /// BBR version 1: mainline has no other.
    Bbr,
    /// CUBIC (RFC 9438), with HyStart.
    Cubic,
    /// Reno's window (RFC 5681).
    Reno,
}

impl CongestionControl {
    /// Its name for the socket option `TCP_CONGESTION`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bbr => "bbr",
            Self::Cubic => "cubic",
            Self::Reno => "reno",
        }
    }
}

/// Loss recovery of a kernel TCP (`net.ipv4.tcp_sack`, at both ends).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Recovery {
    /// Partial acknowledgements (RFC 6582): no selective acknowledgements.
    NewReno,
    /// Selective acknowledgements with RACK and TLP (RFC 8985) and PRR (RFC 6937).
    Sack,
}

/// Acknowledgements of a kernel's receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum KernelAcks {
    /// Delayed as the kernel does: 40 to 200 ms, and at once at the start of a connection.
    Delayed,
    /// Each segment at once (`quickack 1` of the receiver's route).
    Each,
}

/// A kernel TCP as a scenario asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelTcp {
    /// The congestion control of the sender.
    pub congestion_control: CongestionControl,
    /// Loss recovery.
    pub recovery: Recovery,
    /// ECN (`net.ipv4.tcp_ecn`: 1 at both ends for on, 0 for off).
    pub ecn: EcnMode,
    /// Acknowledgements of the receiver.
    pub acks: KernelAcks,
    /// The most bytes of data and options in a segment, 88 to 32,767 (`TCP_MAXSEG`).
    pub segment: u32,
    /// The receiver's window, in bytes; `None` lets the kernel tune it.
    pub window: Option<u64>,
    /// Differences between the file and the kernel that a result must name, a sentence each.
    pub notes: Vec<&'static str>,
}

/// A TCP that a world does not have, by the key that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The key of `[flow.tcp]`, or of the flow.
    pub key: &'static str,
    /// The setting that the world lacks.
    pub message: &'static str,
    /// How to put it right.
    pub hint: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}; {}", self.key, self.message, self.hint)
    }
}

impl std::error::Error for Refusal {}

impl Tcp {
    /// The settings, to change them in place.
    pub(super) const fn settings_mut(&mut self) -> &mut Settings {
        &mut self.0
    }

    /// The name of the TCP in results, such as `tcp-sack`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self.0.variant {
            Variant::Bbr => "tcp-bbr",
            Variant::Cubic => "tcp-cubic",
            Variant::NewReno => "tcp-newreno",
            Variant::Reno => "tcp-reno",
            Variant::Sack => "tcp-sack",
            Variant::Tahoe => "tcp-tahoe",
            _ => "tcp",
        }
    }

    /// The settings of the simulator's TCP.
    ///
    /// # Errors
    /// [`Refusal`] for a TCP that no world has, or only the kernel.
    pub const fn settings(&self) -> Result<Settings, Refusal> {
        match (self.0.stack, self.0.variant) {
            (Stack::Linux, Variant::NewReno | Variant::Tahoe) => Err(Refusal {
                key: "variant",
                message: "the simulated Linux repairs losses by SACK",
                hint: "write sack, reno or cubic, or `settings = \"rfc\"`",
            }),
            (Stack::Rfc, Variant::Bbr) => Err(NO_BBR),
            _ => Ok(self.0),
        }
    }

    /// The kernel's TCP that comes nearest.
    ///
    /// # Errors
    /// [`Refusal`] for the first setting that the kernel does not have.
    pub fn kernel(&self) -> Result<KernelTcp, Refusal> {
        let settings = &self.0;
        let (congestion_control, recovery) = self.control()?;
        if has_hidden_habits(settings.algorithm.choices()) {
            return Err(refusal("settings", "the kernel has none of ns-2's habits"));
        }
        if let Some(key) = deviation(settings.algorithm.choices()) {
            return Err(refusal(key, "the kernel's algorithm cannot be changed"));
        }
        let mut notes = Vec::new();
        if settings.variant == Variant::Reno && settings.stack == Stack::Rfc {
            notes.push("The kernel's reno repairs losses by SACK; the simulator's `sack` is nearer.");
        }
        if congestion_control == CongestionControl::Bbr {
            notes.push("BBR is version 1, paces by itself, and does not answer ECN marks.");
        }
        if settings.algorithm.choices().initial_window == InitialWindow::Rfc3390 {
            notes.push("The initial window is the kernel's: 10 segments (RFC 6928), not RFC 3390's.");
        }
        if !(LEAST_SEGMENT..=MOST_SEGMENT).contains(&settings.segment) {
            return Err(refusal("segment", "the kernel takes segments of 88 to 32767 bytes"));
        }
        if settings.header != Settings::rfc(settings.variant).header {
            return Err(refusal("header", "the kernel's headers have 40 bytes, and options"));
        }
        if settings.syn == SynMode::Off {
            return Err(refusal("syn", "the kernel opens every connection by a SYN"));
        }
        if settings.timestamps == Timestamps::Off {
            notes.push("Segments carry timestamps: 12 of their bytes.");
        }
        times(settings, &mut notes)?;
        let acks = match settings.acks {
            Acks::Each => KernelAcks::Each,
            Acks::Linux => KernelAcks::Delayed,
            Acks::Delayed(delay) if delay == RFC.delayed => {
                notes.push("Delayed acknowledgements are the kernel's: 40 to 200 ms.");
                KernelAcks::Delayed
            }
            _ => return Err(refusal("acks", "the kernel chooses the delay of acknowledgements")),
        };
        let limited = settings.window != Settings::rfc(settings.variant).window;
        Ok(KernelTcp {
            congestion_control,
            recovery,
            ecn: settings.ecn,
            acks,
            segment: settings.segment,
            window: limited.then(|| u64::from(settings.window) * u64::from(settings.segment)),
            notes,
        })
    }

    fn control(&self) -> Result<(CongestionControl, Recovery), Refusal> {
        match (self.0.variant, self.0.stack) {
            (Variant::Bbr, Stack::Rfc) => Err(NO_BBR),
            (Variant::Bbr, _) => Ok((CongestionControl::Bbr, Recovery::Sack)),
            (Variant::Cubic, _) => Ok((CongestionControl::Cubic, Recovery::Sack)),
            (Variant::NewReno, _) => Ok((CongestionControl::Reno, Recovery::NewReno)),
            (Variant::Reno | Variant::Sack, _) => Ok((CongestionControl::Reno, Recovery::Sack)),
            _ => Err(Refusal {
                key: "variant",
                message: "the kernel has no Tahoe",
                hint: "write reno, newreno, sack, cubic or bbr, or run it with `tfrc sim`",
            }),
        }
    }
}

/// BBR by the RFCs.
const NO_BBR: Refusal =
    Refusal { key: "settings", message: "no RFC has BBR", hint: "leave `settings` out: it is Linux's" };

impl TcpFlow {
    /// The kernel's TCP that comes nearest.
    ///
    /// # Errors
    /// [`Refusal`] for the first setting that the kernel does not have.
    pub fn kernel(&self) -> Result<KernelTcp, Refusal> {
        let mut kernel = self.tcp.kernel()?;
        if !self.overhead.is_zero() {
            kernel.notes.push("`overhead` is left out: the kernel sends when it may.");
        }
        Ok(kernel)
    }
}

impl WebFlow {
    /// The kernel's TCP that comes nearest.
    ///
    /// # Errors
    /// [`Refusal`] for the first setting that the kernel does not have.
    pub fn kernel(&self) -> Result<KernelTcp, Refusal> {
        self.tcp.kernel()
    }
}

impl From<Settings> for Tcp {
    fn from(settings: Settings) -> Self {
        Self(settings)
    }
}

/// Times of the timers, of which only the RFCs' and the kernel's own are taken.
fn times(settings: &Settings, notes: &mut Vec<&'static str>) -> Result<(), Refusal> {
    if settings.tick != RFC.tick {
        return Err(refusal("tick", "the kernel's clock cannot be changed"));
    }
    if settings.initial_rto != RFC.initial_rto {
        return Err(refusal("initial_rto", "the kernel's first timeout is 1 s"));
    }
    match settings.min_rto {
        LEAST_RTO => {}
        rto if rto == RFC.min_rto => notes.push("The least timeout is the kernel's: 200 ms, not 1 s."),
        _ => return Err(refusal("min_rto", "the kernel's least timeout is 200 ms")),
    }
    match settings.max_rto {
        MOST_RTO => {}
        rto if rto == RFC.max_rto => notes.push("The greatest timeout is the kernel's: 120 s, not 60 s."),
        _ => return Err(refusal("max_rto", "the kernel's greatest timeout is 120 s")),
    }
    Ok(())
}

/// True of choices without a key that are not the RFCs': they come with ns-2's settings alone.
fn has_hidden_habits(choices: &Choices) -> bool {
    let &Choices { initial_window, reno_region, after_idle, limited_transmit, precision, pipe, .. } = choices;
    let rfc = *Algorithm::rfc().choices();
    let keyed = Choices { initial_window, reno_region, after_idle, limited_transmit, precision, pipe, ..rfc };
    *choices != keyed
}

/// The first key of a choice that is neither the RFCs' nor the kernel's.
fn deviation(choices: &Choices) -> Option<&'static str> {
    let rfc = Algorithm::rfc();
    let rfc = rfc.choices();
    let window = [InitialWindow::Rfc3390, InitialWindow::Segments(INITIAL_WINDOW)];
    let deviations = [
        (!window.contains(&choices.initial_window), "initial_window"),
        (choices.reno_region != rfc.reno_region, "reno_region"),
        (choices.after_idle != rfc.after_idle, "after_idle"),
        (choices.limited_transmit != rfc.limited_transmit, "limited_transmit"),
        (choices.precision != rfc.precision, "precision"),
        (choices.pipe != rfc.pipe, "pipe"),
    ];
    deviations.into_iter().find(|(deviates, _)| *deviates).map(|(_, key)| key)
}

fn refusal(key: &'static str, message: &'static str) -> Refusal {
    Refusal { key, message, hint: "leave the key out, or run this flow with `tfrc sim`" }
}

/// Segments of the initial window (RFC 6928; `TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;
/// `TCP_RTO_MIN`.
const LEAST_RTO: Duration = Duration::from_millis(200);
/// `TCP_RTO_MAX`.
const MOST_RTO: Duration = Duration::from_secs(120);
/// `TCP_MIN_MSS`.
const LEAST_SEGMENT: u32 = 88;
/// `MAX_TCP_WINDOW`, the bound of `TCP_MAXSEG`.
const MOST_SEGMENT: u32 = 32_767;

/// Times of [`Settings::rfc`].
struct Times {
    delayed: Duration,
    initial_rto: Duration,
    min_rto: Duration,
    max_rto: Duration,
    tick: Duration,
}

const RFC: Times = {
    let settings = Settings::rfc(Variant::Sack);
    let delayed = match settings.acks {
        Acks::Delayed(delay) => delay,
        _ => Duration::ZERO,
    };
    let Settings { initial_rto, min_rto, max_rto, tick, .. } = settings;
    Times { delayed, initial_rto, min_rto, max_rto, tick }
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Table, Tabular};

    fn tcp(pairs: &[(&str, &str)]) -> Tcp {
        Table::<Tcp>::of(pairs).apply(&Tcp::start()).unwrap_or_else(|mistake| panic!("{mistake:?}"))
    }

    #[test]
    fn each_variant_has_its_control() {
        for (word, control, recovery) in [
            ("bbr", CongestionControl::Bbr, Recovery::Sack),
            ("cubic", CongestionControl::Cubic, Recovery::Sack),
            ("newreno", CongestionControl::Reno, Recovery::NewReno),
            ("reno", CongestionControl::Reno, Recovery::Sack),
            ("sack", CongestionControl::Reno, Recovery::Sack),
        ] {
            let kernel = tcp(&[("variant", word)]).kernel().unwrap();
            assert_eq!((kernel.congestion_control, kernel.recovery), (control, recovery), "{word}");
            assert_eq!((kernel.segment, kernel.window, kernel.acks), (1460, None, KernelAcks::Delayed));
        }
        assert_eq!(tcp(&[("variant", "tahoe")]).kernel().unwrap_err().key, "variant");
    }

    #[test]
    fn linux_is_the_kernel_without_a_note() {
        for word in ["cubic", "reno", "sack"] {
            let tcp = tcp(&[("variant", word), ("settings", "linux")]);
            assert_eq!(tcp.settings().map(|settings| settings.stack), Ok(Stack::Linux));
            let kernel = tcp.kernel().unwrap();
            assert_eq!((kernel.segment, kernel.acks), (1460, KernelAcks::Delayed));
            assert_eq!(kernel.notes, [""; 0], "{word}");
        }
        for word in ["newreno", "tahoe"] {
            let tcp = tcp(&[("variant", word), ("settings", "linux")]);
            assert_eq!(tcp.settings().unwrap_err().key, "variant");
        }
    }

    #[test]
    fn each_world_has_each_variant() {
        for word in ["bbr", "cubic", "newreno", "reno", "sack", "tahoe"] {
            let tcp = tcp(&[("variant", word)]);
            assert!(tcp.settings().is_ok(), "{word}");
            assert_eq!(tcp.name(), format!("tcp-{word}"));
        }
        let bbr = tcp(&[("variant", "bbr"), ("segment", "1000B")]);
        assert_eq!(bbr.settings().map(|settings| settings.stack), Ok(Stack::Linux));
        assert_eq!(bbr.kernel().unwrap().segment, 1000);
        for settings in ["rfc", "ns2"] {
            let bbr = tcp(&[("variant", "bbr"), ("settings", settings)]);
            assert_eq!(
                (bbr.settings().unwrap_err().key, bbr.kernel().unwrap_err().key),
                ("settings", "settings")
            );
        }
    }

    /// A key with a value that is not the RFCs' is taken over or refused by its name.
    #[test]
    fn each_key_is_taken_or_refused() {
        for (key, value, taken) in [
            ("acks", "each", true),
            ("acks", "100ms", false),
            ("ecn", "on", true),
            ("header", "20B", false),
            ("initial_rto", "3s", false),
            ("initial_window", "10", true),
            ("initial_window", "2", false),
            ("limited_transmit", "off", false),
            ("max_rto", "120s", true),
            ("max_rto", "30s", false),
            ("min_rto", "200ms", true),
            ("min_rto", "50ms", false),
            ("pipe", "counter", false),
            ("segment", "60B", false),
            ("segment", "536B", true),
            ("settings", "ns2", false),
            ("syn", "off", false),
            ("tick", "10ms", false),
            ("timestamps", "on", true),
            ("window", "20", true),
        ] {
            let plain = tcp(&[("variant", "cubic")]).kernel().unwrap();
            match tcp(&[("variant", "cubic"), (key, value)]).kernel() {
                Ok(kernel) => assert!(taken && kernel != plain, "{key} = {value}: {kernel:?}"),
                Err(refusal) => assert!(!taken && refusal.key == key, "{key} = {value}: {refusal}"),
            }
        }
        assert_eq!(tcp(&[("window", "20")]).kernel().unwrap().window, Some(20 * 1460));
    }
}
