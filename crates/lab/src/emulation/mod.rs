//! A scenario in the emulated world: its nodes as network namespaces, its flows as real sockets.

mod places;

use tfrc_emu::{Emulation, LinkCapture, SandboxError, WireKind};

use crate::scenario::Scenario;

use places::Places;

/// Settings of an emulation that are not the scenario's.
#[derive(Debug, Default)]
pub struct Setup {
    /// How nodes are joined to the engine.
    pub wire: WireKind,
    /// Capture of a link.
    pub capture: Option<LinkCapture>,
}

/// Sets up the network of a scenario without its flows, for programs. Every node of the file that
/// is an end of something becomes a namespace: nodes of flows, the gateways, and those of `more`.
///
/// # Errors
/// [`SandboxError`] if the system refuses a step.
pub fn set_up_for_programs(
    scenario: &Scenario,
    setup: Setup,
    more: &[String],
) -> Result<Emulation, SandboxError> {
    let places = Places::of(scenario, more);
    Emulation::set_up(places.plan(scenario, setup))
}
