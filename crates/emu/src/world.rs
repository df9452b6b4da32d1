//! The network of a relay: an engine with two gateways for real datagrams, and agents of its own.

use tfrc_sim::{Address, Agent, Engine, NodeId, UnknownNode};

/// A network with two gateways for datagrams from outside. Agents of its own compete with them for
/// the same links.
pub struct GatewayNetwork<A: Agent, F> {
    pub(crate) engine: Engine<A>,
    /// The gateway of the clients.
    pub(crate) near: Address,
    /// The gateway of the server.
    pub(crate) far: Address,
    look: Look<A, F>,
}

/// Gives the state of an engine's own flows.
type Look<A, F> = Box<dyn Fn(&Engine<A>) -> F + Send>;

impl<A: Agent, F> GatewayNetwork<A, F> {
    /// Opens an engine to datagrams at the nodes `near` and `far`. `look` gives the state of the
    /// engine's own flows, for each snapshot.
    ///
    /// # Errors
    /// [`UnknownNode`] for a node of another network.
    pub fn new(
        mut engine: Engine<A>,
        near: NodeId,
        far: NodeId,
        look: impl Fn(&Engine<A>) -> F + Send + 'static,
    ) -> Result<Self, UnknownNode> {
        let near = engine.gateway(near)?;
        let far = engine.gateway(far)?;
        Ok(Self { engine, near, far, look: Box::new(look) })
    }

    /// The state of the engine's own flows.
    pub(crate) fn flows(&self) -> F {
        (self.look)(&self.engine)
    }
}
