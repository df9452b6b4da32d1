//! Additive increase, multiplicative decrease next to CUBIC, in a queue that drops at its head.

use std::collections::VecDeque;

use tfrc_scenario::{Document, World};
use tfrc_sim::queue::{Admission, Discipline, QueuedPacket, Taken};
use tfrc_units::Instant;
use tfrc_world::Run;
use tfrc_world::agent::{Acknowledged, Allowance, Controller, Lost};
use tfrc_world::custom::Registry;

/// A window in packets.
#[derive(Debug)]
struct Aimd(f64);

impl Controller for Aimd {
    fn start(&mut self, _: Instant) {}

    fn acknowledged(&mut self, _: Instant, _: &Acknowledged) {
        self.0 += 1.0 / self.0;
    }

    fn lost(&mut self, _: Instant, loss: &Lost) {
        if loss.begins_event {
            self.0 = (self.0 / 2.0).max(1.0);
        }
    }

    fn timed_out(&mut self, _: Instant) {
        self.0 = 1.0;
    }

    fn allowance(&mut self, _: Instant) -> Allowance {
        Allowance { window: self.0, rate: None }
    }
}

/// First in, first out; beyond fifty packets the oldest goes.
#[derive(Debug, Default)]
struct HeadDrop(VecDeque<u64>);

impl Discipline for HeadDrop {
    fn arrive(&mut self, _: Instant, packet: &QueuedPacket) -> Admission {
        self.0.push_back(packet.number);
        Admission::Accept
    }

    fn take(&mut self, _: Instant) -> Option<Taken> {
        let too_many = self.0.len() > 50;
        self.0.pop_front().map(if too_many { Taken::Drop } else { Taken::Send })
    }
}

/// The goodput of each flow of the scenario `text`, bit/s.
///
/// # Errors
/// A mistake in the scenario, or a name that is not registered.
pub fn goodputs(text: &str) -> Result<Vec<(String, f64)>, Box<dyn std::error::Error>> {
    let registry =
        Registry::default().controller("aimd", || Aimd(2.0)).queue("head-drop", |_| HeadDrop::default());
    let plan = Document::new("custom.toml", text).plan_for(World::Extended)?;
    let outcome = Run::of(&plan.points[0].scenario).own(&registry)?.outcome().ok_or("stopped")?;
    Ok(outcome.flows.into_iter().map(|flow| (flow.id, flow.goodput_bps.unwrap_or(0.0))).collect())
}
