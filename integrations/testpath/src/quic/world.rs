//! Two peers with TFRC on a path.

use std::sync::Arc;
use std::time::Instant;

use super::peer::{Peer, pair};
use super::stack::{self, Connection, Controller, Tfrc, TfrcConfig};
use crate::{Rule, Wire, World};

/// A client and a server that use TFRC, connected over this path.
#[must_use]
pub fn world(wire: Wire<Vec<u8>>, rule: Rule, config: &TfrcConfig, mtu_probes: bool) -> World<Peer, Peer> {
    let start = Instant::now();
    let (client, server) = pair(start, Arc::new(*config), 8 << 10, mtu_probes);
    World::new(start, client, server, wire, rule)
}

impl Peer {
    /// The controller of the path.
    pub fn tfrc(&mut self) -> Tfrc {
        let controller: Box<dyn Controller> = stack::controller(self.connection()).clone_box();
        *controller.into_any().downcast().expect("TFRC")
    }

    /// The connection.
    pub fn connection(&mut self) -> &mut Connection {
        self.established().expect("a connection")
    }
}
