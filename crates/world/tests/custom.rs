//! Congestion controls and queues of the host's own; the example outside of the workspace.

use std::collections::VecDeque;

use tfrc_scenario::{Document, Scenario, World};
use tfrc_sim::queue::{Admission, Discipline, QueuedPacket, Taken};
use tfrc_units::Instant;
use tfrc_world::Run;
use tfrc_world::custom::{NotRegistered, Registry};

const TEXT: &str = include_str!("../../../contrib/custom-algorithm/custom.toml");

fn scenario(text: &str) -> Scenario {
    let plan = Document::new("custom.toml", text).plan_for(World::Extended).map_err(miette::Report::new);
    plan.unwrap().points.remove(0).scenario
}

#[test]
fn the_example_shares_its_line_with_cubic() {
    let found = custom_algorithm::goodputs(TEXT).expect("it runs");
    let [(_, mine), (_, cubic)] = &found[..] else { panic!("{found:?}") };
    // 1460 and 1448 of 1500 bytes are data.
    assert!((9.3e6..9.8e6).contains(&(mine + cubic)), "{found:?}");
    assert!((0.2..5.0).contains(&(mine / cubic)), "{found:?}");
}

/// First in, first out, with room for fifty packets.
#[derive(Debug, Default)]
struct Tail(VecDeque<u64>);

impl Discipline for Tail {
    fn arrive(&mut self, _: Instant, packet: &QueuedPacket) -> Admission {
        if self.0.len() >= 50 {
            return Admission::Drop;
        }
        self.0.push_back(packet.number);
        Admission::Accept
    }

    fn take(&mut self, _: Instant) -> Option<Taken> {
        self.0.pop_front().map(Taken::Send)
    }
}

#[test]
fn a_drop_tail_queue_of_one_s_own_is_the_simulator_s() {
    let (head, flows) = TEXT.split_once("[[flow]]").expect("flows");
    let cubic = flows.split_once("[[flow]]").expect("two").1;
    let with = |queue: &str| format!("{}[[flow]]{cubic}", head.replace("{ custom = \"head-drop\" }", queue));
    let registry = Registry::default().queue("tail", |_| Tail::default());
    let tail = scenario(&with("{ custom = 'tail' }"));
    let own = Run::of(&tail).own(&registry).expect("it is there").outcome().expect("nothing stops it");
    let built_in = tfrc_world::run(&scenario(&with("'50p'")));
    assert_eq!((own.flows, own.links), (built_in.flows, built_in.links));
}

/// It keeps what arrives, and sends every second packet only.
#[derive(Debug, Default)]
struct Odd(u64);

impl Discipline for Odd {
    fn arrive(&mut self, _: Instant, packet: &QueuedPacket) -> Admission {
        self.0 = packet.number;
        Admission::Accept
    }

    fn take(&mut self, _: Instant) -> Option<Taken> {
        // A number that is not in the queue.
        Some(Taken::Send(self.0 + 1))
    }
}

#[test]
fn a_queue_that_names_no_packet_of_its_own_stops_its_line_and_not_the_run() {
    let registry = Registry::default().queue("odd", |_| Odd::default());
    let text = "duration = '5s'\nnodes = ['a', 'b']\n\
        [[link]]\nname = 'l'\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\ndelay = '1ms'\nqueue = { custom = 'odd' }\n\
        [[flow]]\nkind = 'cbr'\nfrom = 'a'\nto = 'b'\nrate = '100kbit/s'\n";
    let scenario = scenario(text);
    let outcome = Run::of(&scenario).own(&registry).expect("it is there").outcome().expect("it ends");
    assert_eq!(outcome.flows[0].goodput_bps, Some(0.0));
}

#[test]
fn names_that_no_program_has() {
    let error = Registry::default().check(&scenario(TEXT)).expect_err("nothing is registered");
    let known = Vec::new();
    assert_eq!(error, NotRegistered { what: "controller", name: "aimd".to_owned(), known });
    let error = Document::new("custom.toml", TEXT).plan().expect_err("the program has none");
    assert!(error.to_string().contains("in a program of yours"), "{error}");
}
