//! Sessions recorded and replayed.

use crate::e2e::network::{Place, scenario, session_over};
use crate::e2e::program::run;

#[test]
fn a_journal_replays_and_a_changed_byte_is_pointed_at() {
    let place = Place::new();
    let journal = place.file("journal");
    let (session, ..) =
        session_over(&scenario("bottleneck.toml"), &[], &["-n", "300kB", "--journal", &journal]);

    let replayed = run(["replay", "--json", &journal]);
    assert_eq!(replayed.status.code(), Some(0), "{}", replayed.stderr);
    let replayed: serde_json::Value = replayed.json();
    // Besides the data a Request, a Close, and some Acks.
    let transmitted = replayed["transmitted_packets"].as_u64().expect("a count");
    assert!((session.sent() + 2..session.sent() + 50).contains(&transmitted), "{replayed} {session:?}");

    let mut bytes = std::fs::read(&journal).expect("written");
    let middle = bytes.len() / 2;
    // A writer that was killed leaves any part of it: that is replayed, and a sentence says so.
    let cut = run(["replay", "--json", &place.write("cut", &bytes[..middle])]);
    assert_eq!(cut.status.code(), Some(0), "{}", cut.stderr);
    assert!(cut.stderr.contains("its writer was stopped"), "{}", cut.stderr);
    let part: serde_json::Value = cut.json();
    let offset = part["cut_off_at_byte"].as_u64().expect("a place") as usize;
    assert!((middle - 1600..=middle).contains(&offset), "byte {middle}: {part}");
    let before = part["transmitted_packets"].as_u64().expect("a count");
    assert!((transmitted / 10..transmitted).contains(&before), "{part} of {replayed}");
    assert!(replayed["cut_off_at_byte"].is_null() && before > 0, "{replayed}");

    bytes[middle] ^= 0x10;
    let changed = run(["replay", &place.write("changed", bytes)]);
    assert_eq!(changed.status.code(), Some(3), "{}", changed.stderr);
    // The block named begins before the changed byte, by no more than a datagram and its head.
    let mut numbers = changed.stderr.split_whitespace().skip_while(|word| *word != "block").skip(1);
    let block: u64 = numbers.next().and_then(|n| n.parse().ok()).expect("a block");
    let offset: usize =
        numbers.skip_while(|word| *word != "byte").nth(1).and_then(|n| n.parse().ok()).expect("an offset");
    assert!(block > 0 && (middle - 1600..=middle).contains(&offset), "byte {middle}: {}", changed.stderr);
}

#[test]
fn what_is_no_journal_is_a_usage_error() {
    let place = Place::new();
    for (name, content) in [("empty", ""), ("words", "this is no journal at all, it only looks long enough")]
    {
        let refused = run(["replay", &place.write(name, content)]);
        assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("not a tfrc journal") && refused.stdout.is_empty(),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn a_journal_of_another_version_is_refused_by_name() {
    let place = Place::new();
    let refused = run(["replay", &place.write("old", "tfrc journal 1\nand so on")]);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
    let told = "this is a journal of version 1; this program reads version 2";
    assert!(refused.stderr.contains(told) && refused.stdout.is_empty(), "{}", refused.stderr);
}
