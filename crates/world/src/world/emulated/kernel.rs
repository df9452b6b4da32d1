//! Parameters and habits of the kernel's TCP in an emulation.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use tfrc_emu::NodeSpace;
use tfrc_sim::tcp::EcnMode;

use crate::emulated::KernelNotes;
use tfrc_scenario::{FlowKind, KernelTcp, Member, Recovery, Refusal};

/// The kernel TCP of a flow, if it has one.
pub(super) fn of(member: &Member<'_>) -> Result<Option<KernelTcp>, Refusal> {
    match &member.flow.kind {
        FlowKind::Tcp(flow) => flow.kernel().map(Some),
        FlowKind::Web(flow) => flow.kernel().map(Some),
        _ => Ok(None),
    }
}

/// Parameters of the TCPs at one node, which they share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct NodeTcp {
    ecn: Option<EcnMode>,
    recovery: Option<Recovery>,
}

impl NodeTcp {
    /// Adds a TCP that runs at the node.
    ///
    /// # Errors
    /// A sentence, if another there wants the opposite: the kernel has one setting for all.
    pub(super) fn add(&mut self, kernel: &KernelTcp) -> Result<(), &'static str> {
        if *self.ecn.get_or_insert(kernel.ecn) != kernel.ecn {
            return Err("flows with ECN and flows without cannot share an end node: give one of them others");
        }
        if *self.recovery.get_or_insert(kernel.recovery) != kernel.recovery {
            return Err(
                "flows with SACK and flows without cannot share an end node: give one of them others",
            );
        }
        Ok(())
    }

    /// Sets the parameters of the node's namespace.
    pub(super) fn apply(self, node: &NodeSpace) -> io::Result<()> {
        // What one connection has learnt of a path must not help the next.
        node.set_parameter("ipv4/tcp_no_metrics_save", "1".to_owned())?;
        // Windows end with the path, not with the memory that a host gives a socket.
        node.set_parameter("ipv4/tcp_rmem", format!("4096 131072 {MOST_BUFFER}"))?;
        node.set_parameter("ipv4/tcp_wmem", format!("4096 65536 {MOST_BUFFER}"))?;
        let ecn = if self.ecn == Some(EcnMode::On) { "1" } else { "2" };
        node.set_parameter("ipv4/tcp_ecn", ecn.to_owned())?;
        let sack = if self.recovery == Some(Recovery::NewReno) { "0" } else { "1" };
        node.set_parameter("ipv4/tcp_sack", sack.to_owned())
    }
}

/// Most bytes that a socket may hold: above the product of bandwidth and delay of 1 Gbit/s and
/// 200 ms, with a buffer of as much again.
const MOST_BUFFER: u32 = 128 << 20;

/// Reads what the kernel's TCP does, and adds what the flows say of it.
pub(super) fn notes<'k>(flows: impl Iterator<Item = &'k KernelTcp>) -> KernelNotes {
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    let mut notes = BTreeMap::new();
    for (name, path) in [
        ("CUBIC's HyStart (1 on, 0 off)", "/sys/module/tcp_cubic/parameters/hystart"),
        ("RACK (tcp_recovery)", "/proc/sys/net/ipv4/tcp_recovery"),
        ("TLP (tcp_early_retrans)", "/proc/sys/net/ipv4/tcp_early_retrans"),
        ("pacing ratio in slow start, %", "/proc/sys/net/ipv4/tcp_pacing_ss_ratio"),
        ("pacing ratio in congestion avoidance, %", "/proc/sys/net/ipv4/tcp_pacing_ca_ratio"),
        ("congestion controls", "/proc/sys/net/ipv4/tcp_available_congestion_control"),
    ] {
        notes.insert(name.to_owned(), read(path).unwrap_or_else(|| "not shown by this kernel".to_owned()));
    }
    for (name, text) in [
        ("PRR", "always on"),
        ("delayed acknowledgements", "40 to 200 ms, at once at the start of a connection"),
        ("initial window", "10 segments"),
        ("least retransmission timeout", "200 ms"),
        ("BBR", "version 1, paces by the socket's own timer"),
    ] {
        notes.insert(name.to_owned(), text.to_owned());
    }
    for kernel in flows {
        for note in &kernel.notes {
            notes.insert(format!("flows by {}", kernel.congestion_control.name()), (*note).to_owned());
        }
    }
    let release = read("/proc/sys/kernel/osrelease").unwrap_or_default();
    KernelNotes { release, notes }
}
