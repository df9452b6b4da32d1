//! From a scenario and a seed to a network with every flow's own lines, and each flow's start.

use tfrc_sim::packet::FlowId;
use tfrc_sim::traffic::Distribution;
use tfrc_sim::{LinkSpec, Network, NodeId, Seed};
use tfrc_units::{Duration, Instant, saturating, u64_from_f64};

use super::{Flow, Group, OwnLine, RoundTrip, Scenario, Seats};

/// One flow of a run.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    /// Its number among all flows.
    pub id: FlowId,
    /// Its name.
    pub name: String,
    /// The sender's host.
    pub from: NodeId,
    /// The receiver's.
    pub to: NodeId,
    /// When it starts to send.
    pub start: Instant,
    /// The entry of the scenario that it belongs to.
    pub flow: &'a Flow,
}

impl Scenario {
    /// The network of a run, with the lines of the flows' own behind the links of the file, and the
    /// flows in it. What is drawn depends on the seed and the flow's name alone.
    #[must_use]
    pub fn lay_out(&self, seed: Seed) -> (Network, Vec<Member<'_>>) {
        let mut network = self.network.clone();
        let mut members: Vec<Member<'_>> = Vec::new();
        for flow in &self.flows {
            for ((id, name), number) in flow.group.ids().zip(flow.group.names()).zip(0u32..) {
                let draw = |what: &str, from: Distribution| match from {
                    Distribution::Constant(x) => x,
                    other => other.sample(&mut seed.stream(&format!("flow/{name}/{what}"))),
                };
                let start = Instant::ZERO + Duration::from_secs_f64(draw("start", flow.start));
                let rtt = flow.lines.rtt.map(|(rtt, path)| {
                    let rtt = match rtt {
                        RoundTrip::Drawn(from) => draw("rtt", from),
                        RoundTrip::Evenly { low, high } => {
                            let steps = f64::from(flow.group.count.saturating_sub(1).max(1));
                            low + (high - low) * f64::from(number) / steps
                        }
                    };
                    (rtt - path.as_secs_f64()) / 2.0
                });
                let access =
                    |line: &OwnLine| (line.clone(), rtt.unwrap_or_else(|| draw("access", line.delay)));
                let exit = |line: &OwnLine| (line.clone(), draw("exit", line.delay));
                let shared = flow.lines.hosts.and_then(|(other, seats)| {
                    let Group { first, count, .. } = self.flows.get(other)?.group;
                    let of = |seat: u32| members.get(saturating::<usize>(first + seat));
                    let seats = match seats {
                        Seats::InTurn => [number % count.max(1); 2],
                        Seats::Drawn => {
                            let mut stream = seed.stream(&format!("flow/{name}/hosts"));
                            [(); 2].map(|()| {
                                saturating::<u32>(u64_from_f64(stream.uniform() * f64::from(count)))
                            })
                        }
                    };
                    Some((of(seats[0])?.from, of(seats[1])?.to))
                });
                let from = match flow.lines.access.as_ref().map(access) {
                    None => flow.from,
                    Some((line, delay)) => own_line(&mut network, &name, "access", flow.from, &line, delay),
                };
                let to = match flow.lines.exit.as_ref().map(exit) {
                    None => flow.to,
                    Some((line, delay)) => own_line(&mut network, &name, "exit", flow.to, &line, delay),
                };
                let (from, to) = shared.unwrap_or((from, to));
                members.push(Member { id, name, from, to, start, flow });
            }
        }
        (network, members)
    }
}

/// A host at the end of a line of its own to `node`, both ways. Without a free name for it the host
/// is the node itself.
fn own_line(
    network: &mut Network,
    flow: &str,
    what: &str,
    node: NodeId,
    line: &OwnLine,
    delay: f64,
) -> NodeId {
    let Ok(host) = network.node(&format!("{flow}/{what}")) else { return node };
    let delay = Duration::from_secs_f64(delay);
    for (name, from, to) in
        [(format!("{flow}/{what}"), host, node), (format!("{flow}/{what} back"), node, host)]
    {
        let spec = LinkSpec { queue: line.queue, ..LinkSpec::new(&name, from, to, line.rate, delay) };
        if network.link(spec).is_err() {
            return node;
        }
    }
    host
}
