//! How connections end, and what is known of it afterwards: what was left unsent, how long it took,
//! why.

use tfrc_dccp::wire::{PacketType, ResetCode};
use tfrc_dccp::{Cause, ClosedBy, ConnectionConfig};
use tfrc_testkit::{Fate, Flight, Pair, Random, Side, ms};
use tfrc_units::Duration;

fn opened(rule: impl FnMut(&Flight) -> Fate + 'static) -> Pair {
    let mut pair = Pair::opened();
    pair.rule = Box::new(rule);
    pair
}

/// Stops the clock when the client knows of its end.
fn until_closed(pair: &mut Pair, time: Duration) {
    let end = pair.now + time;
    loop {
        pair.drain();
        if pair.client.closed().is_some() || pair.step(end).is_none() {
            return;
        }
    }
}

/// RFC 4340 §8.3: Close goes at once, the datagram that waits does not, and both are reported.
#[test]
fn close_now_discards_what_waits() {
    for wait in [false, true] {
        let mut pair = opened(|_| Fate::Deliver);
        let now = pair.now;
        let discarded = pair.client.with(|connection| {
            connection.send(now, b"too late").expect("it may be sent");
            if wait {
                connection.close(now);
                0
            } else {
                connection.close_now(now)
            }
        });
        pair.run_to_end(Duration::from_secs(5));
        let expected = u64::from(!wait);
        assert_eq!(discarded, expected);
        assert_eq!(pair.client.connection().stats().unsent_packets, expected);
        assert_eq!(pair.server.received.len(), usize::from(wait));
        let closed = pair.client.closed().expect("over");
        assert_eq!((closed.by, closed.code, closed.cause), (ClosedBy::Us, ResetCode::Closed, Cause::Agreed));
    }
}

/// A datagram that waits when the peer ends the connection is counted too.
#[test]
fn what_waits_at_a_broken_end_counts_as_unsent() {
    let mut pair = opened(|_| Fate::Deliver);
    let now = pair.now;
    pair.client.with(|connection| {
        connection.send(now, b"too late").expect("it may be sent");
        connection.abort(now, ResetCode::Aborted);
    });
    assert_eq!(pair.client.connection().stats().unsent_packets, 1);
}

/// Thirty per cent loss in each direction, a round-trip time of 50 ms: nine in ten connections are
/// over after one second, all of them after the close timeout. Seeds are those of the loop.
#[test]
fn a_close_on_a_lossy_path_takes_a_few_round_trips() {
    let mut times = Vec::new();
    for seed in 1..=100u64 {
        let mut random = Random::new(seed);
        let mut pair = opened(move |_| Fate::drop_if(random.happens(0.3)));
        let now = pair.now;
        pair.client.with(|connection| {
            connection.close_now(now);
        });
        until_closed(&mut pair, Duration::from_secs(40));
        times.push(pair.now.saturating_since(now));
    }
    times.sort_unstable();
    assert!(times[90] <= ms(1500), "the slowest tenth begins at {}", times[90]);
    assert!(times[99] <= Duration::from_secs(30), "the slowest took {}", times[99]);
}

/// The host may set a short limit: then that is when it is given up.
#[test]
fn a_close_is_given_up_when_the_host_says_so() {
    let config = ConnectionConfig { close_timeout: Duration::from_secs(2), ..ConnectionConfig::default() };
    let mut pair = Pair::with(config, ConnectionConfig::default(), |_| Fate::Deliver);
    pair.run(ms(200));
    pair.rule = Box::new(|flight| Fate::drop_if(flight.kind == PacketType::Close));
    let now = pair.now;
    pair.client.with(|connection| connection.close_now(now));
    until_closed(&mut pair, Duration::from_secs(5));
    let closed = pair.client.closed().expect("given up");
    assert_eq!(closed.cause, Cause::CloseUnanswered(Duration::from_secs(2)));
    assert_eq!(pair.now.saturating_since(now), Duration::from_secs(2));
    assert!(pair.kinds(Side::Client).contains(&PacketType::Reset));
}
