//! The controller in connections of quinn over a path in virtual time.

mod ends;

use std::sync::Arc;

use tfrc::Settings;
use tfrc::config::RateCap;
use tfrc::study::Profile;
use tfrc_quinn::TfrcConfig;
use tfrc_testkit::path::quic::shares::{self, greedy};
use tfrc_testkit::path::quic::{PAYLOAD, Quic, Traffic, moves, world};
use tfrc_testkit::path::{Rule, lossy};
use tfrc_testkit::{Fate, Random, Side, Wire};
use tfrc_units::{Duration, Rate};

use self::ends::Quinn;

const MS: fn(u64) -> Duration = Duration::from_millis;

/// Share of TFRC's fixed point and gaps between arrivals, a row for each path; the README has them.
/// quinn's least burst of ten packets lets more through than X: up to 1.3 of it.
#[test]
fn the_fixed_point_is_nearly_met() {
    let (table, shares) = shares::table::<Quinn>();
    let picture = greedy::<Quinn>(0.01, MS(50), lossy(0.01, 1)).picture();
    println!("{table}\n{picture}");
    assert!(shares.iter().all(|share| (0.9..=1.3).contains(share)), "{table}");
    let readme = include_str!("../../README.md");
    assert!(
        readme.contains(&table) && readme.contains(&picture),
        "README.md should have:\n{table}\n{picture}"
    );
}

/// An application that sends 0.5 Mbit/s for 30 s and then all it can on a path of 3 Mbit/s: X stays
/// steady, applications read it as the window over the round-trip time, and after 5 s the path is
/// used.
#[test]
fn an_application_that_sends_little_keeps_its_room() {
    let wire = Wire::bottleneck(MS(25), Rate::from_bits_per_sec(3e6), 30);
    let mut world = world::<Quinn>(wire, lossy(0.0, 1), Quinn::tfrc_of(Profile::Balanced), false);
    world.client.traffic = Traffic::PerSecond(52.0);
    world.run(MS(5000));
    for _ in 0..250 {
        world.run(MS(100));
        let target = world.client.quic.tfrc().target_bits_per_sec() as f64;
        assert!((0.5e6..=2.0e6).contains(&target), "{target}");
        let path = world.client.quic.connection().expect("a connection").stats().path;
        let read = path.cwnd as f64 * 8.0 / path.rtt.as_secs_f64();
        assert!((0.9..=1.2).contains(&(read / target)), "{read} of {target}");
    }
    world.client.traffic = Traffic::Greedy;
    world.run(MS(5000));
    let before = world.server.arrivals.len();
    world.run(MS(5000));
    let rate = (world.server.arrivals.len() - before) as f64 * (PAYLOAD + 38) as f64 * 8.0 / 5.0;
    assert!((2.5e6..=3.05e6).contains(&rate), "{rate}");
}

/// Marks in place of losses: about the same rate.
#[test]
fn marks_count_as_losses() {
    let mut random = Random::new(1);
    let mark =
        move |side| if side == Side::Client && random.happens(0.01) { Fate::Mark } else { Fate::Deliver };
    let rule: Rule = Box::new(mark);
    let share = greedy::<Quinn>(0.01, MS(50), rule).share;
    assert!((0.9..=1.3).contains(&share), "{share}");
}

fn capped(mbit: f64) -> TfrcConfig {
    let cap = RateCap::AtMost(Rate::from_bits_per_sec(mbit * 1e6));
    TfrcConfig::new(Settings { cap, ..Settings::default() }).expect("a cap above zero")
}

/// A new port of the client, as a translator gives it.
#[test]
fn a_new_port_goes_on() {
    moves::a_new_port_goes_on::<Quinn>(Arc::new(capped(2.0)));
}

/// A new host of the client.
#[test]
fn a_new_host_begins_anew() {
    moves::a_new_host_begins_anew::<Quinn>(Arc::new(capped(2.0)));
}

/// Packets that are never acknowledged, of the handshake, probes of the MTU, both directions at
/// once: no loss event while the path loses nothing.
#[test]
fn a_path_without_losses_has_no_loss_event() {
    let mut world = world::<Quinn>(Wire::new(MS(25)), lossy(0.0, 1), Arc::new(capped(4.0)), true);
    (world.client.traffic, world.server.traffic) = (Traffic::Greedy, Traffic::Greedy);
    world.run(Duration::from_secs(60));
    for peer in [&mut world.client, &mut world.server] {
        let tfrc = peer.quic.tfrc();
        assert_eq!((tfrc.advisor().loss_events(), tfrc.advisor().forgotten()), (0, 0));
        assert!(tfrc.advisor().loss_event_rate().is_zero());
        assert_eq!(tfrc.target_bits_per_sec(), 4_000_000);
        let rate = peer.arrivals.len() as f64 * (PAYLOAD + 38) as f64 * 8.0 / 60.0;
        assert!((3.2e6..=5.2e6).contains(&rate), "{rate}");
    }
}
