//! A client whose address changes while both ends send.

use std::net::SocketAddr;

use tfrc_units::Duration;

use super::{Quic, Traffic, world};
use crate::path::Rule;
use crate::{Fate, Random, Side, Wire};

/// Time before the move, and after it.
const HALF: Duration = Duration::from_secs(20);

/// A move of one end, and its effect.
struct Move<Q: Quic> {
    /// Datagrams that arrived at the client and at the server in [`HALF`] before the move.
    before: [usize; 2],
    /// Those in [`HALF`] after it.
    after: [usize; 2],
    /// The server's rate control just before the move, 30 ms after it, and at the end.
    server: [Q::Tfrc; 3],
}

impl<Q: Quic> Move<Q> {
    /// True if each end gets at least this part of what it got before.
    fn keeps(&self, part: f64) -> bool {
        self.before.iter().zip(self.after).all(|(before, after)| after as f64 >= part * *before as f64)
    }
}

/// Both ends send all they can over 50 ms there and back; 1 % of the server's datagrams are lost
/// before the move. Then the client's datagrams come from another address.
fn moved<Q: Quic<Factory: Clone>>(controller: Q::Factory, change: fn(&mut SocketAddr)) -> Move<Q> {
    let mut random = Random::new(1);
    let lost = std::rc::Rc::new(std::cell::Cell::new(0.01));
    let p = lost.clone();
    let rule: Rule = Box::new(move |side| Fate::drop_if(side == Side::Server && random.happens(p.get())));
    let mut world = world::<Q>(Wire::new(Duration::from_millis(25)), rule, controller, false);
    (world.client.traffic, world.server.traffic) = (Traffic::Greedy, Traffic::Greedy);
    world.run(HALF);
    let before = [world.client.arrivals.len(), world.server.arrivals.len()];
    let known = world.server.quic.tfrc();
    lost.set(0.0);
    change(&mut world.server.remote);
    let (soon, rest) = (Duration::from_millis(30), Duration::from_millis(19_970));
    world.run(soon);
    let anew = world.server.quic.tfrc();
    world.run(rest);
    let after = [world.client.arrivals.len() - before[0], world.server.arrivals.len() - before[1]];
    Move { before, after, server: [known, anew, world.server.quic.tfrc()] }
}

/// A new port of the same host, as a translator gives it: the server goes on with a copy of its
/// controller (RFC 9000 §9.4), and both ends keep three quarters of their rates.
pub fn a_new_port_goes_on<Q: Quic<Factory: Clone>>(controller: Q::Factory) {
    let moved = moved::<Q>(controller, |address| address.set_port(3));
    assert!(moved.keeps(0.75), "{:?} then {:?}", moved.before, moved.after);
    let [known, copy, _] = moved.server.each_ref().map(Q::advisor);
    assert!(known.loss_events() > 0 && known.rtt().is_some(), "{}", known.loss_events());
    assert_eq!((copy.loss_events(), copy.rtt().is_some()), (known.loss_events(), true));
}

/// A new host: the server's controller knows nothing of the new path (RFC 9000 §9.4), neither a
/// round-trip time nor a loss event, not even by packets of the previous path; then it finds its
/// rate again.
pub fn a_new_host_begins_anew<Q: Quic<Factory: Clone>>(controller: Q::Factory) {
    let moved = moved::<Q>(controller, |address| address.set_ip([127, 0, 0, 2].into()));
    let [known, anew, end] = moved.server.each_ref().map(Q::advisor);
    assert!(known.loss_events() > 0 && known.rtt().is_some(), "{}", known.loss_events());
    assert_eq!((anew.loss_events(), anew.rtt()), (0, None));
    assert_eq!(end.loss_events(), 0);
    let rtt = end.rtt().expect("acknowledged");
    assert!((Duration::from_millis(48)..=Duration::from_millis(56)).contains(&rtt), "{rtt}");
    assert!(moved.keeps(0.75), "{:?} then {:?}", moved.before, moved.after);
}
