//! The send queue of a connection: its bound, its policy for late datagrams, its events, and the
//! rules of the contract that debug builds assert.

use tfrc_dccp::connection::DropReason;
use tfrc_dccp::wire::PacketType;
use tfrc_dccp::{ConnectionConfig, Event, LatePolicy, SendError, WakeReason};
use tfrc_testkit::{Fate, Pair, Side, capped, ms};
use tfrc_units::{Duration, Instant};

fn connecting(config: ConnectionConfig) -> Pair {
    Pair::with(config, ConnectionConfig::default(), |_| Fate::Deliver)
}

/// Hands over datagrams with these numbers; returns the answers.
fn hand_over(pair: &mut Pair, numbers: std::ops::Range<u64>) -> Vec<Result<(), SendError>> {
    let now = pair.now;
    pair.client.with(|connection| {
        numbers.map(|n| connection.send(now, &[&n.to_be_bytes()[..], &[0; 992]].concat())).collect()
    })
}

fn drops(pair: &Pair) -> Vec<(DropReason, u64, u64)> {
    let told = pair.client.events.iter().filter_map(|event| match event {
        Event::Dropped { reason, packets, bytes } => Some((*reason, *packets, *bytes)),
        _ => None,
    });
    told.collect()
}

fn count(pair: &Pair, wanted: &Event) -> usize {
    pair.client.events.iter().filter(|event| *event == wanted).count()
}

#[test]
fn a_full_queue_refuses_and_tells_when_it_has_room() {
    let mut pair = connecting(ConnectionConfig { send_queue: 3, ..ConnectionConfig::default() });
    let answers = hand_over(&mut pair, 0..4);
    assert_eq!(answers, [Ok(()), Ok(()), Ok(()), Err(SendError::Full)], "before the handshake too");
    assert_eq!(pair.client.connection().queued(), 3);
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.server.numbers(), [0, 1, 2]);
    assert_eq!((count(&pair, &Event::Writable), count(&pair, &Event::Flushed)), (1, 1));
    assert_eq!((drops(&pair), pair.client.connection().queued()), (vec![], 0));
}

/// Before the first feedback the rate is low: the datagrams go one by one, each at a timeout.
#[test]
fn one_clock_knows_the_time_of_the_next_datagram() {
    let mut pair = connecting(ConnectionConfig { tfrc: capped(10_000.0), ..ConnectionConfig::default() });
    pair.run(ms(200));
    let start = pair.now;
    assert!(hand_over(&mut pair, 0..20).iter().all(Result::is_ok));
    let mut paced = 0;
    while pair.client.connection().queued() > 0 {
        let wake = pair.client.endpoint.poll_timeout().expect("datagrams wait");
        paced += usize::from(wake.reason == WakeReason::Pacing);
        pair.step(start + Duration::from_secs(60)).expect("in time");
    }
    // The first goes at once, the others every 100 ms, and up to half a millisecond early (§8.3).
    let mut sent = pair.log.iter().filter(|(flight, _)| flight.length > 1000);
    let last = sent.next_back().expect("they went").0.at.saturating_since(start);
    assert!((ms(1850)..=ms(1900)).contains(&last), "{last}");
    assert!(paced >= 19, "{paced}");
    pair.run(ms(200));
    assert_eq!(pair.server.numbers(), (0..20).collect::<Vec<_>>());
}

#[test]
fn late_datagrams_are_dropped_and_told_with_the_reason() {
    let late = LatePolicy::DropAfter(ms(300));
    let mut pair = connecting(ConnectionConfig { send_queue: 3, late, ..ConnectionConfig::default() });
    pair.set_delay(ms(150));
    assert_eq!(hand_over(&mut pair, 0..2), [Ok(()), Ok(())]);
    pair.run(ms(50));
    assert_eq!(hand_over(&mut pair, 2..5), [Ok(()), Ok(()), Ok(())], "the oldest make room");
    assert_eq!(pair.client.connection().queued(), 3);
    // 300 ms for the handshake: they wait for 250 ms.
    pair.run(ms(240));
    pair.client.with(|connection| connection.set_late_policy(LatePolicy::DropAfter(ms(240))));
    pair.run(Duration::from_secs(5));
    assert_eq!(drops(&pair), [(DropReason::Overflow, 2, 2000), (DropReason::Late, 3, 3000)]);
    assert_eq!(pair.client.connection().stats().late_packets, 5);
    assert_eq!(pair.server.numbers(), Vec::<u64>::new());
}

#[test]
fn a_datagram_at_its_deadline_still_goes() {
    let late = LatePolicy::DropAfter(ms(50));
    let mut pair = connecting(ConnectionConfig { late, ..ConnectionConfig::default() });
    assert_eq!(hand_over(&mut pair, 0..1), [Ok(())]);
    pair.run(Duration::from_secs(1));
    assert_eq!((pair.server.numbers(), drops(&pair)), (vec![0], vec![]), "50 ms for the handshake");
}

#[test]
fn a_datagram_that_no_longer_fits_is_dropped() {
    let mut pair = connecting(ConnectionConfig::default());
    pair.run(ms(200));
    let now = pair.now;
    let (limit, length) = (pair.client.connection().max_datagram(), 1400);
    pair.client.with(|connection| {
        connection.send(now, &vec![0; length]).expect("it fits");
        connection.send(now, &[0; 9]).expect("it fits");
        connection.path_refuses(now, length);
    });
    assert!(pair.client.connection().max_datagram() < limit);
    pair.run(Duration::from_secs(2));
    assert_eq!(drops(&pair), [(DropReason::TooLong, 1, 1400)]);
    let stats = pair.client.connection().stats();
    assert_eq!((stats.unsent_packets, stats.unsent_bytes, stats.sent_data_packets), (1, 1400, 1));
}

#[test]
fn close_waits_for_the_queue_and_close_now_does_not() {
    for at_once in [false, true] {
        let mut pair = connecting(ConnectionConfig::default());
        pair.run(ms(200));
        assert!(hand_over(&mut pair, 0..20).iter().all(Result::is_ok));
        let now = pair.now;
        pair.client.with(|connection| {
            if at_once { assert_eq!(connection.close_now(now), 20) } else { connection.close(now) }
        });
        assert_eq!(hand_over(&mut pair, 20..21), [Err(SendError::Closed)]);
        pair.run_to_end(Duration::from_secs(60));
        let sent = if at_once { 0 } else { 20 };
        assert_eq!(pair.server.received.len(), sent);
        let expected = if at_once { vec![(DropReason::Ended, 20, 20_000)] } else { vec![] };
        assert_eq!(drops(&pair), expected);
        assert!(matches!(pair.client.events.last(), Some(Event::Closed(_))), "the end comes last");
        let closes = pair.kinds(Side::Client).into_iter().filter(|kind| *kind == PacketType::Close);
        assert_eq!(closes.count(), 1);
    }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "time goes back")]
fn time_that_goes_back_is_noticed() {
    let mut pair = connecting(ConnectionConfig::default());
    pair.run(ms(200));
    pair.client.endpoint.handle_timeout(Instant::ZERO);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "has passed")]
fn a_timeout_that_is_ignored_is_noticed() {
    let mut pair = Pair::new(|_| Fate::Deliver);
    pair.client.endpoint.poll_transmit(pair.now, &mut Vec::new());
    let id = pair.client.id.expect("connecting");
    let _ = pair.client.endpoint.connection_mut(id);
    let request_again = pair.now + Duration::from_secs(2);
    pair.client.endpoint.poll_transmit(request_again, &mut Vec::new());
}

/// A call of the application after the transmissions were taken is due at once.
#[test]
fn a_call_after_the_transmissions_is_due_now() {
    let mut pair = connecting(ConnectionConfig::default());
    pair.run(ms(200));
    assert_eq!(hand_over(&mut pair, 0..1), [Ok(())]);
    let wake = pair.client.endpoint.poll_timeout().expect("a datagram waits");
    assert!(wake.at <= pair.now && wake.reason == WakeReason::Transmit, "{wake:?}");
}
