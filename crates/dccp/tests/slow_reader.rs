//! A reader that does not keep up with its sender: the sender is informed and slows down (RFC 4340
//! §11.6, 11.7; RFC 4342 §5.2).

use tfrc::config::{BrokenPromise, Guarantee, RateCap, Target};
use tfrc::guard::{BreakerLimits, CircuitBreaker, MinimumRate, StopRule};
use tfrc::{Config, Settings};
use tfrc_dccp::ConnectionConfig;
use tfrc_testkit::{Fate, Flight, Pair, Random, Reading, Side, capped, ms};
use tfrc_units::{Duration, Rate};

/// Datagrams a second that the application reads.
const READS: u64 = 100;
const SIZE: usize = 1000;

/// A sender that may send four times what the reader takes, over a path with this delay in each
/// direction.
fn slow_reader(
    delay: Duration,
    queue: usize,
    tfrc: Config,
    rule: impl FnMut(&Flight) -> Fate + 'static,
) -> Pair {
    let client = ConnectionConfig { tfrc, ..ConnectionConfig::default() };
    let server = ConnectionConfig { receive_queue: queue, ..ConnectionConfig::default() };
    let mut pair = Pair::with(client, server, |_| Fate::Deliver);
    pair.set_delay(delay);
    pair.client.size = SIZE;
    pair.client.to_send = 1_000_000;
    pair.server.reading = Reading::Every { gap: Duration::from_secs(1) / READS, next: pair.now };
    pair.rule = Box::new(rule);
    pair
}

/// Datagrams sent and refused in a stretch of time.
fn over(pair: &mut Pair, time: Duration) -> (u64, u64) {
    let before = (pair.client.sent, pair.server.connection().stats().queue_dropped_packets);
    pair.run(time);
    (pair.client.sent - before.0, pair.server.connection().stats().queue_dropped_packets - before.1)
}

/// Thirty seconds at round-trip times from a local network to a continent: after the first six the
/// share refused is below 4 %, the sender goes as fast as the reader reads, and it knows of each
/// datagram that was refused.
#[test]
fn the_sender_follows_its_reader() {
    for (delay_us, queue) in
        [(25_000, 128), (25_000, 1024), (2_500, 128), (250, 128), (100, 128), (100, 1024)]
    {
        let label = format!("one way {delay_us} us, queue {queue}");
        let mut pair =
            slow_reader(Duration::from_micros(delay_us), queue, capped(400_000.0), |_| Fate::Deliver);
        pair.run(Duration::from_secs(12));
        let mut shares = Vec::new();
        for _ in 0..6 {
            let (sent, refused) = over(&mut pair, Duration::from_secs(3));
            shares.push((sent, refused));
            assert!((110..=330).contains(&sent), "{label}: {shares:?}, the reader takes 300");
            assert!(refused * 25 <= sent, "{label}: {shares:?}");
        }
        let (last, _) = shares.last().copied().expect("six");
        assert!((290..=315).contains(&last), "{label}: {shares:?}");
        let refused = pair.server.connection().stats().queue_dropped_packets;
        let told = pair.client.connection().stats().peer_dropped_packets;
        assert!(refused > 0 && refused - told <= 2, "{label}: {told} of {refused}");
        assert_eq!(pair.client.sent - refused, received_or_waiting(&mut pair), "{label}");
    }
}

/// A path that loses nothing, a reader at half of the guarantee, and one at a tenth of a rate
/// without one: the circuit breaker and the stop rule look at the network, not at the reader.
#[test]
fn a_slow_reader_is_no_congestion() {
    let target = |rate| Target { rate: Rate::from_bytes_per_sec(rate), broken: BrokenPromise::Ignore };
    let always = CircuitBreaker::Always(BreakerLimits::default());
    let minimum = MinimumRate::new(Rate::from_bytes_per_sec(20_000.0), 20.0);
    for (label, settings) in [
        (
            "guarantee",
            Settings { guarantee: Guarantee::FromFirstRtt(target(200_000.0)), ..Settings::default() },
        ),
        ("breaker", Settings { circuit_breaker: always, ..Settings::default() }),
        ("stop rule", Settings { stop_rule: StopRule::Below(minimum), ..Settings::default() }),
    ] {
        let config = Settings { cap: RateCap::AtMost(Rate::from_bytes_per_sec(400_000.0)), ..settings };
        let mut pair = slow_reader(ms(20), 128, config.validate().expect("sound"), |_| Fate::Deliver);
        for (gap, seconds) in [(10, 60), (50, 60), (10, 30)] {
            pair.server.reading = Reading::Every { gap: ms(gap), next: pair.now };
            pair.run(Duration::from_secs(seconds));
            let stopped = pair.client.connection().rate_sender().stopped();
            assert_eq!(stopped, None, "{label}, a datagram read in {gap} ms, at {:?}", pair.now);
        }
    }
}

/// Datagrams that the server has accepted, when nothing is on its way.
fn received_or_waiting(pair: &mut Pair) -> u64 {
    pair.client.to_send = 0;
    pair.server.reading = Reading::AtOnce;
    pair.run(Duration::from_secs(1));
    u64::try_from(pair.server.received.len()).expect("few")
}

/// Acknowledgements are lost, three in ten, and some datagrams are: the count is complete all the
/// same, because each run is in eight reports; and it never exceeds what was refused,
/// because each datagram counts once.
#[test]
fn lost_acknowledgements_hide_no_refusal() {
    let mut random = Random::new(0);
    let mut pair = slow_reader(ms(10), 64, capped(400_000.0), move |flight| {
        let loss = match flight.from {
            Side::Server => 0.3,
            Side::Client => 0.005,
        };
        Fate::drop_if(random.happens(loss))
    });
    pair.run(Duration::from_secs(30));
    pair.rule = Box::new(|_| Fate::Deliver);
    pair.run(Duration::from_secs(2));
    let refused = pair.server.connection().stats().queue_dropped_packets;
    let told = pair.client.connection().stats().peer_dropped_packets;
    assert!(refused > 50, "{refused}");
    assert!(told <= refused && told * 100 >= refused * 98, "{told} of {refused}");
}

/// Refusals just before the end are reported with the Reset.
#[test]
fn the_last_word_completes_the_count() {
    let mut pair = slow_reader(ms(10), 4, capped(400_000.0), |_| Fate::Deliver);
    pair.client.to_send = 50;
    pair.client.close_after = true;
    pair.run_to_end(Duration::from_secs(30));
    let refused = pair.server.connection().stats().queue_dropped_packets;
    assert!(refused > 0);
    assert_eq!(pair.client.connection().stats().peer_dropped_packets, refused);
}

/// An application that stops reading for ten seconds and then goes on: the sender all but stops,
/// and comes back.
#[test]
fn a_reader_that_pauses_is_waited_for() {
    let mut pair = slow_reader(ms(25), 128, capped(400_000.0), |_| Fate::Deliver);
    pair.server.reading = Reading::AtOnce;
    pair.run(Duration::from_secs(5));
    let (before, _) = over(&mut pair, Duration::from_secs(3));
    pair.server.reading =
        Reading::Every { gap: Duration::from_secs(3600), next: pair.now + Duration::from_secs(3600) };
    pair.run(Duration::from_secs(7));
    let (paused, refused) = over(&mut pair, Duration::from_secs(3));
    assert!(paused <= 30 && refused <= 30, "{paused} sent while nobody read");
    pair.server.reading = Reading::AtOnce;
    pair.run(Duration::from_secs(3));
    let (after, refused) = over(&mut pair, Duration::from_secs(3));
    assert!(before > 1000 && after > 1000 && refused == 0, "{before} before, {after} after");
}
