//! One run of a scenario in virtual time.

use std::fmt;

use tfrc_scenario::Scenario;
use tfrc_sim::trace::{PacketCopy, TraceRecord};

use crate::agent::Payload;
use crate::custom::{NotRegistered, Registry};
use crate::keep::{Keep, PacketDelays};
use crate::recording::Recording;
use crate::results::Outcome;
use crate::state::Stage;
use crate::watch::Watch;
use crate::world;
use crate::world::simulated::{Listeners, Simulated};

/// Parts of a run that an [`Outcome`] is made of.
const MEASURED: Keep = Keep { delays: PacketDelays::Measured, ..Keep::NOTHING };

/// Runs a scenario in virtual time to its end.
///
/// # Panics
/// As [`Run`].
#[must_use]
pub fn run(scenario: &Scenario) -> Outcome {
    Run::of(scenario).outcome().expect("nothing stops it")
}

/// A run of a scenario in virtual time, with observers. The same scenario, its seed included,
/// always gives the same outcome, whoever observes it.
///
/// # Panics
/// Never for a [`Scenario`] that was read for [`World::Simulated`](tfrc_scenario::World): its
/// flows join nodes of its own network, and each has agents. With [`Run::own`], if a controller or
/// queue of the host's panics.
#[must_use]
pub struct Run<'r> {
    scenario: &'r Scenario,
    own: Option<&'r Registry>,
    watches: Vec<Watch<'r>>,
    listeners: Listeners<'r>,
    stop: Option<&'r dyn Fn() -> bool>,
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("own", &self.own).field("watches", &self.watches).finish_non_exhaustive()
    }
}

impl<'r> Run<'r> {
    /// The run that this scenario describes.
    pub fn of(scenario: &'r Scenario) -> Self {
        Self { scenario, own: None, watches: Vec::new(), listeners: Listeners::default(), stop: None }
    }

    /// With controllers and queues of the host's own, of a scenario that was read for
    /// [`World::Extended`](tfrc_scenario::World).
    ///
    /// # Errors
    /// [`NotRegistered`] if the scenario names another.
    pub fn own(self, registry: &'r Registry) -> Result<Self, NotRegistered> {
        registry.check(self.scenario)?;
        Ok(Self { own: Some(registry), ..self })
    }

    /// Seen by an observer too.
    pub fn watch(mut self, watch: Watch<'r>) -> Self {
        self.watches.push(watch);
        self
    }

    /// Hands each thing that happens to a packet to `to`, in the order of time, some time after it.
    pub fn trace(mut self, to: impl FnMut(&TraceRecord) + 'r) -> Self {
        self.listeners.records = Some(Box::new(to));
        self
    }

    /// Hands each packet to `to` as it is sent and as it is received, in the order of time, some
    /// time after it.
    pub fn copy(mut self, to: impl FnMut(&PacketCopy<Payload>) + 'r) -> Self {
        self.listeners.copies = Some(Box::new(to));
        self
    }

    /// Until `stop` says true, which is asked after every stretch of at most 100 ms of virtual
    /// time.
    pub fn until(self, stop: &'r dyn Fn() -> bool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Runs it, for the figures; `None` if it was stopped.
    #[must_use]
    pub fn outcome(self) -> Option<Outcome> {
        self.recorded(MEASURED, false).map(|recording| recording.outcome)
    }

    /// Runs it and keeps its time series and the loss events of its TFRC flows; `None` if it was
    /// stopped.
    #[must_use]
    pub fn record(self, keep: Keep) -> Option<Recording> {
        self.recorded(keep, true)
    }

    fn recorded(mut self, keep: Keep, logs_losses: bool) -> Option<Recording> {
        let none = Registry::default();
        let own = self.own.unwrap_or(&none);
        let (mut world, members) = Simulated::new(self.scenario, keep, own, self.listeners);
        if logs_losses {
            world.log_losses();
        }
        let stage = Stage::of(self.scenario, &members, keep);
        let goes_on = &mut || self.stop.is_none_or(|stop| !stop());
        let recording = world::record(&mut world, &stage, &mut self.watches, goes_on)?;
        (recording.to == stage.to).then_some(recording)
    }
}
