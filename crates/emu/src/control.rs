//! Changes of a relay's network while it runs.

use std::fmt;

use tfrc_sim::{Agent, Engine};
use tokio::sync::mpsc;

/// A change of an engine, made on the relay's thread.
pub(crate) type Change<A> = Box<dyn FnOnce(&mut Engine<A>) + Send>;

/// A hand on the network of a relay: cheap to copy, and of no effect once the relay has ended.
pub struct Control<A: Agent>(pub(crate) mpsc::UnboundedSender<Change<A>>);

impl<A: Agent> Clone for Control<A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<A: Agent> fmt::Debug for Control<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

impl<A: Agent> Control<A> {
    /// Changes the engine as soon as the relay can, at the time of its clock.
    pub fn change(&self, change: impl FnOnce(&mut Engine<A>) + Send + 'static) {
        // A relay that has ended has nothing to change.
        let _ = self.0.send(Box::new(change));
    }
}
