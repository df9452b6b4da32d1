//! A scenario's network in real time: `tfrc link`, and the bottleneck of `tfrc demo`.

use std::net::SocketAddr;

use tfrc_emu::{BindError, Limits, Relay, TcpFlow, World};
use tfrc_sim::Seed;
use tfrc_units::Duration;

use crate::scenario::Scenario;

/// A queue of some tens of packets at some Mbit/s fills and drains within this.
const SAMPLE: Duration = Duration::from_millis(10);

/// A relay through the network of a scenario, from its gateway `listen` to its gateway `to` and back. It has the links and
/// none of the flows: those that send and receive are outside. Run it with [`Relay::run`], or with [`Relay::start`] on a
/// thread of its own.
///
/// ```
/// use tfrc_lab::scenario::Scenario;
/// use tfrc_sim::Seed;
///
/// let text = "duration = '20s'\nnodes = ['near', 'far']\n\
///     [[link]]\nfrom = 'near'\nto = 'far'\nrate = '2Mbit/s'\ndelay = '20ms'\nqueue = '25p'\n";
/// let scenario = Scenario::parse("demo.toml", text)?;
/// let server = "127.0.0.1:6511".parse().unwrap();
/// let relay = tfrc_lab::link::relay(&scenario, Seed(1), "127.0.0.1:0".parse().unwrap(), server).unwrap();
/// let running = relay.start().unwrap();
/// println!("send to {}", running.local_addr());
/// let last = running.stop().unwrap();
/// assert_eq!(last.there.entered.packets, 0);
/// # Ok::<(), tfrc_lab::scenario::ScenarioError>(())
/// ```
///
/// # Errors
/// [`BindError`] if an address cannot be had.
pub fn relay(
    scenario: &Scenario,
    seed: Seed,
    listen: SocketAddr,
    to: SocketAddr,
) -> Result<Relay, BindError> {
    relay_with(scenario, seed, &[], listen, to)
}

/// A [`relay`] with TCP flows of its own, from the gateway `listen` to the gateway `to`: at most some ten thousand.
///
/// # Errors
/// [`BindError`] if an address cannot be had.
pub fn relay_with(
    scenario: &Scenario,
    seed: Seed,
    competitors: &[TcpFlow],
    listen: SocketAddr,
    to: SocketAddr,
) -> Result<Relay, BindError> {
    let gateways = scenario.gateways;
    let world = World::new(&scenario.network, seed, gateways.listen, gateways.to).and_then(|mut world| {
        competitors.iter().try_for_each(|flow| world.add_tcp(flow))?;
        Ok(world)
    });
    let world =
        world.unwrap_or_else(|error| unreachable!("a scenario's gateways are nodes of its network: {error}"));
    Relay::bind(listen, to, world, Limits { sample: SAMPLE, ..Limits::default() })
}
