//! Captures of simulated flows, of every kind.

use tfrc_report::capture::{Capture, Captured};
use tfrc_scenario::Scenario;
use tfrc_world::{Run, run};

const LINK: &str = "duration = '30s'\nwarmup = '5s'\nnodes = ['left', 'right']\n\
    [[link]]\nfrom = 'left'\nto = 'right'\nrate = '2Mbit/s'\ndelay = '20ms'\nqueue = '20p'\n";

#[test]
fn every_flow_can_be_captured() {
    let kinds = ["tcp", "dccp", "tfrc", "cbr", "ping"].map(|kind| {
        let rate = if kind == "cbr" { "rate = '50kbit/s'\n" } else { "" };
        format!("[[flow]]\nkind = '{kind}'\nfrom = 'left'\nto = 'right'\n{rate}")
    });
    let text = Scenario::parse("test.toml", &format!("{LINK}{}", kinds.concat())).expect("right");
    let mut packets = Vec::new();
    let mut capture = Capture::new(&text, |packet| packets.push(packet));
    let outcome = Run::of(&text).copy(|copy| capture.add(copy)).outcome();
    drop(capture);
    assert_eq!(outcome, Some(run(&text)));
    assert!(packets.is_sorted_by_key(|packet| packet.at));
    for (flow, protocol) in [6, 33, 33, 17, 1].into_iter().enumerate() {
        let [near, far] = [10, 11].map(|net| [net, 0, 0, flow as u8]);
        let of = |from: [u8; 4]| packets.iter().filter(move |packet| packet.bytes[12..16] == from);
        assert!(of(near).chain(of(far)).all(|packet| packet.bytes[9] == protocol), "{flow}");
        assert!(of(near).all(|packet| packet.bytes[16..20] == far), "{flow}");
        let length = |packet: &Captured| u32::from(u16::from_be_bytes([packet.bytes[2], packet.bytes[3]]));
        assert!(of(near).all(|packet| packet.length == length(packet)), "{flow}");
        // Each flow sends, and all but the one without answers hear of it.
        assert!(of(near).count() >= 10, "{flow}: {}", of(near).count());
        assert_eq!(of(far).count() > 0, flow != 3, "{flow}");
    }
    // The acknowledgements of the TCP end where its data do, within what is on its way.
    let number = |packet: &Captured, at: usize| {
        u32::from_be_bytes(packet.bytes[20 + at..24 + at].try_into().expect("four bytes"))
    };
    let of = |net: u8| packets.iter().filter(move |packet| packet.bytes[12..16] == [net, 0, 0, 0]);
    let sent = of(10).map(|packet| number(packet, 4)).max().expect("data");
    let acknowledged = of(11).map(|packet| number(packet, 8)).max().expect("acknowledgements");
    assert!(acknowledged > 100_000 && sent.abs_diff(acknowledged) < 200_000, "{sent} {acknowledged}");
}

#[test]
fn both_ends_of_a_transfer_close() {
    let tcp = "[[flow]]\nkind = 'tcp'\nfrom = 'left'\nto = 'right'\ntransfer = '100kB'\n";
    let text = Scenario::parse("test.toml", &format!("{LINK}{tcp}")).expect("right");
    let mut packets = Vec::new();
    let mut capture = Capture::new(&text, |packet| packets.push(packet));
    assert!(Run::of(&text).copy(|copy| capture.add(copy)).outcome().is_some());
    drop(capture);
    let number = |packet: &Captured, at: usize| {
        u32::from_be_bytes(packet.bytes[20 + at..24 + at].try_into().expect("four bytes"))
    };
    let fins = |net: u8| {
        let of = packets.iter().filter(move |packet| packet.bytes[12] == net);
        of.filter(|packet| packet.bytes[33] & 1 == 1).collect::<Vec<_>>()
    };
    // The last segment of 100 kB, perhaps sent again, and one answer, which acknowledges its FIN.
    let (last, answers) = (fins(10), fins(11));
    let payload = |packet: &Captured| packet.length - 20 - 4 * u32::from(packet.bytes[32] >> 4);
    let ends: Vec<u32> = last.iter().map(|packet| number(packet, 4) + payload(packet)).collect();
    assert!(!ends.is_empty() && ends.iter().all(|end| *end == 100_001), "{ends:?}");
    let [answer] = answers[..] else { panic!("{} answers", answers.len()) };
    assert_eq!((number(answer, 4), number(answer, 8)), (1, 100_002));
}
