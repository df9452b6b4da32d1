//! The controller in connections of noq over a path in virtual time.

#![expect(clippy::disallowed_macros, reason = "a test prints its table")]

use std::sync::Arc;
use std::time::Instant;

use tfrc::Settings;
use tfrc::config::RateCap;
use tfrc::study::Profile;
use tfrc_noq::TfrcConfig;
use tfrc_testkit::path::noq::{Noq, disorder, estimate};
use tfrc_testkit::path::quic::shares::{self, greedy};
use tfrc_testkit::path::quic::{PAYLOAD, Peer, Quic, Traffic, moves, world};
use tfrc_testkit::path::{Rule, lossy};
use tfrc_testkit::{Fate, Random, Side, Wire};
use tfrc_units::{Duration, Rate};

const MS: fn(u64) -> Duration = Duration::from_millis;
const SECONDS: fn(u64) -> Duration = Duration::from_secs;

/// Share of TFRC's fixed point and gaps between arrivals, a row for each path; the README has them.
#[test]
fn the_fixed_point_is_met() {
    let (table, shares) = shares::table::<Noq>();
    let picture = greedy::<Noq>(0.01, MS(50), lossy(0.01, 1)).picture();
    println!("{table}\n{picture}");
    assert!(shares.iter().all(|share| (0.9..=1.1).contains(share)), "{table}");
    let readme = include_str!("../README.md");
    assert!(
        readme.contains(&table) && readme.contains(&picture),
        "crates/noq/README.md should have:\n{table}\n{picture}"
    );
}

/// Marks in place of losses: the same rate.
#[test]
fn marks_count_as_losses() {
    let mut random = Random::new(1);
    let rule: Rule =
        Box::new(
            move |side| {
                if side == Side::Client && random.happens(0.01) { Fate::Mark } else { Fate::Deliver }
            },
        );
    let share = greedy::<Noq>(0.01, MS(50), rule).share;
    assert!((0.9..=1.1).contains(&share), "{share}");
}

fn capped(mbit: f64) -> TfrcConfig {
    let cap = RateCap::AtMost(Rate::from_bits_per_sec(mbit * 1e6));
    TfrcConfig::new(Settings { cap, ..Settings::default() }).expect("a cap above zero")
}

/// A new port of the client, as a translator gives it.
#[test]
fn a_new_port_goes_on() {
    moves::a_new_port_goes_on::<Noq>(Arc::new(capped(2.0)));
}

/// A new host of the client.
#[test]
fn a_new_host_begins_anew() {
    moves::a_new_host_begins_anew::<Noq>(Arc::new(capped(2.0)));
}

/// Packets that are never acknowledged, of the handshake, probes of the MTU, both directions at
/// once: no loss event while the path loses nothing.
#[test]
fn a_path_without_losses_has_no_loss_event() {
    let mut world = world::<Noq>(Wire::new(MS(25)), lossy(0.0, 1), Arc::new(capped(4.0)), true);
    (world.client.traffic, world.server.traffic) = (Traffic::Greedy, Traffic::Greedy);
    world.run(SECONDS(60));
    for peer in [&mut world.client, &mut world.server] {
        let tfrc = peer.quic.tfrc();
        assert_eq!((tfrc.advisor().loss_events(), tfrc.advisor().forgotten()), (0, 0));
        assert!(tfrc.advisor().loss_event_rate().is_zero());
        let rtt = tfrc.advisor().rtt().expect("acknowledged");
        assert!((MS(48)..=MS(56)).contains(&rtt), "{rtt}");
        // The cap, as the estimate that applications see, and as the rate that arrives.
        assert_eq!(estimate(peer.quic.connection().expect("a connection")), Some(4_000_000));
        let rate = peer.arrivals.len() as f64 * (PAYLOAD + 38) as f64 * 8.0 / 60.0;
        assert!((3.7e6..=4.05e6).contains(&rate), "{rate}");
    }
}

/// A path of 4 ms, which the transport takes for one of 100 ms before its first acknowledgement.
#[test]
fn the_first_round_trip_time_is_that_of_the_path() {
    let mut world = world::<Noq>(Wire::new(MS(2)), lossy(0.0, 1), Arc::new(capped(1.0)), false);
    world.client.traffic = Traffic::Greedy;
    world.run(MS(300));
    let rtt = world.client.quic.tfrc().advisor().rtt().expect("acknowledged");
    assert!(rtt <= MS(6), "{rtt}");
}

fn arrivals_in(peer: &Peer<Noq>, from: Instant, to: Instant) -> usize {
    peer.arrivals.iter().filter(|at| (from..to).contains(*at)).count()
}

/// An encoder at 0.5 Mbit/s on a path that carries 3: X stays steady, at most twice the most that
/// arrived in any round-trip time; when the encoder makes more, the path is used within 5 s.
#[test]
fn an_application_that_sends_little_keeps_its_room() {
    let wire = Wire::bottleneck(MS(25), Rate::from_bits_per_sec(3e6), 30);
    let mut world = world::<Noq>(wire, lossy(0.0, 1), Noq::tfrc_of(Profile::Balanced), false);
    let start = world.now();
    world.client.traffic = Traffic::PerSecond(52.0);
    world.run(SECONDS(5));
    let mut estimates = Vec::new();
    for _ in 0..250 {
        world.run(MS(100));
        estimates
            .push(estimate(world.client.quic.connection().expect("a connection")).expect("a path") as f64);
    }
    let at = |seconds: f64| start + std::time::Duration::from_secs_f64(seconds);
    let window =
        |n: u32| arrivals_in(&world.server, at(f64::from(n) * 0.05), at(f64::from(n) * 0.05 + 0.052));
    let most = (20..590).map(window).max().unwrap_or(0) as f64 * (PAYLOAD + 38) as f64 * 8.0 / 0.05;
    let (low, high) = estimates.iter().fold((f64::MAX, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
    assert!(low >= 0.5e6, "{low}");
    assert!(high <= 2.0 * most * 1.05, "{high} with {most}");
    world.client.traffic = Traffic::Greedy;
    world.run(SECONDS(10));
    let rate = arrivals_in(&world.server, at(35.0), at(40.0)) as f64 * (PAYLOAD + 38) as f64 * 8.0 / 5.0;
    assert!((2.5e6..=3.05e6).contains(&rate), "{rate}");
}

/// Late packets, which noq takes for lost and finds again; the README has the table.
#[test]
fn late_packets_are_not_lost() {
    let (table, rows) = disorder::table();
    println!("{table}");
    let [usual @ .., hardest] = rows.as_slice() else { panic!("{table}") };
    assert!(usual.iter().all(|row| (0.9..=1.1).contains(&row.to_cubic)), "{table}");
    // CUBIC, which saves one window, loses more there.
    assert!((0.8..=1.05).contains(&hardest.to_order) && hardest.to_cubic >= 0.9, "{table}");
    assert!(include_str!("../README.md").contains(&table), "crates/noq/README.md should have:\n{table}");
}

/// Losses among the late packets stay losses: TFRC has at most the rate that they allow alone.
#[test]
fn losses_among_late_packets_stay() {
    let tfrc = |share, late| disorder::rate(Noq::tfrc_of(Profile::Rfc5348), share, late, 0.01);
    let alone = tfrc(0.0, 0);
    for late in [10, 40] {
        let mixed = tfrc(0.05, late);
        println!("1 % lost: {alone:.2} Mbit/s; 5 % late by {late} ms too: {mixed:.2}");
        assert!((0.85..=1.05).contains(&(mixed / alone)), "{mixed} with {alone} Mbit/s");
    }
}
