//! Ends that disagree about sequence numbers resynchronise or end; ends that are
//! idle or have a bad path live on.

use tfrc_dccp::wire::PacketType;
use tfrc_dccp::{Cause, ConnectionConfig, State};
use tfrc_testkit::{Fate, Pair, Random, Side, capped, ms};
use tfrc_units::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// A sender at 100 kB/s, connected.
fn sender() -> Pair {
    let config = ConnectionConfig { tfrc: capped(100_000.0), ..ConnectionConfig::default() };
    let mut pair = Pair::with(config.clone(), config, |_| Fate::Deliver);
    pair.client.to_send = 1_000_000;
    pair.run(ms(2500));
    pair
}

/// Adds `ahead` to the Sequence Number of the next Data packet.
fn change_one_number(pair: &mut Pair, ahead: u64) {
    const TYPE: usize = 8;
    const NUMBER: std::ops::Range<usize> = 10..16;
    let mut changed = None;
    pair.edit = Some(Box::new(move |bytes| {
        if changed.is_none() && bytes[TYPE] >> 1 == PacketType::Data.wire() {
            let mut number = [0; 8];
            number[2..].copy_from_slice(&bytes[NUMBER]);
            let new = u64::from_be_bytes(number) + ahead;
            bytes[NUMBER].copy_from_slice(&new.to_be_bytes()[2..]);
            changed = Some(new);
        }
    }));
}

/// One number is changed on the way, to one inside the window (1000 wide, three quarters of it
/// ahead). Either data flows again, or both ends are over within 65 s; meanwhile each sends at most
/// eight Syncs and as many SyncAcks a second.
#[test]
fn a_changed_number_leaves_no_pair_out_of_step() {
    let mut causes = Vec::new();
    for ahead in [1, 10, 60, 120, 240, 260, 300, 390, 460, 560, 740] {
        let mut pair = sender();
        let start = pair.now;
        change_one_number(&mut pair, ahead);
        let logged = pair.log.len();
        pair.run(Duration::from_secs(65));
        let before = pair.server.received.len();
        pair.run(Duration::from_secs(10));
        let (client, server) = (pair.client.closed(), pair.server.closed());
        match (client, server) {
            (Some(client), Some(_)) => causes.push(client.cause),
            (None, None) => {
                let flows = pair.server.received.len() - before;
                assert!((1900..=2100).contains(&flows), "{ahead}: {flows} datagrams in 10 s");
            }
            ends => panic!("{ahead}: {ends:?}"),
        }
        let seconds =
            usize::try_from(pair.now.saturating_since(start).as_nanos() / 1_000_000_000).expect("few");
        for side in [Side::Client, Side::Server] {
            let sent = pair.log.iter().skip(logged).filter(|(flight, _)| {
                flight.from == side && matches!(flight.kind, PacketType::Sync | PacketType::SyncAck)
            });
            let sent = sent.count();
            assert!(sent <= 16 * (seconds + 1), "{ahead}: {sent} Syncs in {seconds} s");
        }
    }
    assert!(causes.contains(&Cause::OutOfStep(MINUTE)), "{causes:?}");
    assert!(causes.contains(&Cause::PeerReset), "the other end noticed first: {causes:?}");
}

/// A datagram is lost, and then there is nothing to send for an hour: Syncs are answered, and that
/// is life enough.
#[test]
fn an_idle_pair_with_a_loss_behind_it_lives_on() {
    let mut pair = sender();
    pair.client.to_send = 0;
    pair.run(Duration::from_secs(5));
    pair.rule = Box::new(|flight| Fate::drop_if(flight.kind.carries_datagram()));
    pair.client.to_send = 20;
    pair.run(Duration::from_secs(20));
    assert_eq!(pair.client.to_send, 0);
    pair.run(MINUTE * 60);
    assert_eq!((pair.client.state(), pair.server.state()), (Some(State::Open), Some(State::Open)));
    pair.rule = Box::new(|_| Fate::Deliver);
    let before = pair.server.received.len();
    pair.client.to_send = 5;
    pair.run(MINUTE * 3);
    assert_eq!(pair.server.received.len(), before + 5);
}

/// One datagram in 20 s for five hours, one packet in ten lost in each direction. (At three in ten
/// silence ends it: four questions in a minute go unanswered often enough.)
#[test]
fn a_slow_beat_on_a_bad_path_lives_on() {
    let mut pair = sender();
    pair.client.to_send = 0;
    let mut random = Random::new(1);
    pair.rule = Box::new(move |_| Fate::drop_if(random.happens(0.1)));
    for _ in 0..900 {
        pair.client.to_send = 1;
        pair.run(Duration::from_secs(20));
    }
    assert_eq!((pair.client.state(), pair.server.state()), (Some(State::Open), Some(State::Open)));
}
