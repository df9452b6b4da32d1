//! Congestion controls and queues of the host's own, by the names that scenarios call them.

use std::collections::BTreeMap;
use std::fmt;

use tfrc_scenario::{FlowKind, Scenario};
use tfrc_sim::LinkSpec;
use tfrc_sim::queue::{Discipline, Queue};

use crate::agent::Controller;

type MakeController = Box<dyn Fn() -> Box<dyn Controller> + Send + Sync>;
type MakeQueue = Box<dyn Fn(&LinkSpec) -> Box<dyn Discipline> + Send + Sync>;

/// Controllers and queues of the host's own.
#[derive(Default)]
pub struct Registry {
    controllers: BTreeMap<String, MakeController>,
    queues: BTreeMap<String, MakeQueue>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { controllers, queues } = self;
        f.debug_struct("Registry")
            .field("controllers", &controllers.keys())
            .field("queues", &queues.keys())
            .finish()
    }
}

impl Registry {
    /// Adds a controller: `make` gives one for each flow of `kind = "custom"` with
    /// `controller = NAME`. One of the same name is replaced.
    #[must_use]
    pub fn controller<C: Controller + 'static>(
        mut self,
        name: &str,
        make: impl Fn() -> C + Send + Sync + 'static,
    ) -> Self {
        self.controllers.insert(name.to_owned(), Box::new(move || Box::new(make())));
        self
    }

    /// Adds a queue: `make` gives one for each direction of a link with
    /// `queue = { custom = NAME }`. One of the same name is replaced.
    #[must_use]
    pub fn queue<Q: Discipline + 'static>(
        mut self,
        name: &str,
        make: impl Fn(&LinkSpec) -> Q + Send + Sync + 'static,
    ) -> Self {
        self.queues.insert(name.to_owned(), Box::new(move |link| Box::new(make(link))));
        self
    }

    pub(crate) fn make_controller(&self, name: &str) -> Option<Box<dyn Controller>> {
        self.controllers.get(name).map(|make| make())
    }

    pub(crate) fn make_queue(&self, name: &str, link: &LinkSpec) -> Option<Box<dyn Discipline>> {
        self.queues.get(name).map(|make| make(link))
    }

    /// Checks that each name of a scenario is here.
    ///
    /// # Errors
    /// [`NotRegistered`].
    pub fn check(&self, scenario: &Scenario) -> Result<(), NotRegistered> {
        let missing = |what, name: &str, known: Vec<&String>| NotRegistered {
            what,
            name: name.to_owned(),
            known: known.into_iter().cloned().collect(),
        };
        for flow in &scenario.flows {
            if let FlowKind::Custom(own) = &flow.kind
                && !self.controllers.contains_key(&own.controller)
            {
                return Err(missing("controller", &own.controller, self.controllers.keys().collect()));
            }
        }
        let links = scenario.network.links().map(|(_, link)| &link.queue);
        let lines = scenario.flows.iter().flat_map(|flow| [&flow.lines.access, &flow.lines.exit]);
        for queue in links.chain(lines.flatten().map(|line| &line.queue)) {
            if let Queue::Custom(name) = queue
                && !self.queues.contains_key(name.as_str())
            {
                return Err(missing("queue", name.as_str(), self.queues.keys().collect()));
            }
        }
        Ok(())
    }
}

/// A scenario names a controller or queue that the program does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRegistered {
    /// "controller" or "queue".
    pub what: &'static str,
    /// The name.
    pub name: String,
    /// The names that there are.
    pub known: Vec<String>,
}

impl fmt::Display for NotRegistered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, name, known } = self;
        write!(f, "there is no {what} `{name}`: ")?;
        match known.as_slice() {
            [] => write!(f, "none is registered (docs/guides/custom-algorithms.md)"),
            known => write!(f, "registered are {}", known.join(", ")),
        }
    }
}

impl std::error::Error for NotRegistered {}
