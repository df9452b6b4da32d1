//! `tfrc send -R` and `tfrc recv --from`: the end that receives is the one that connects.

use std::process::Stdio;

use tfrc_report::record::{Outcome, Summary};
use tfrc_session::{Common, Endpoint, Listen, Options};

use crate::e2e::network::{Place, end_link, link, noise, recv, scenario, send};
use crate::e2e::program::{Program, run, tfrc};

/// Starts a sender that listens on a free port of the loopback interface; where that is.
fn serve(args: &[&str], stdin: Stdio) -> (Program, String) {
    let mut command = tfrc(["send", "-R", "--bind", "127.0.0.1", "-p", "0"]);
    command.args(args).stdin(stdin);
    let mut program = Program::start(command);
    let line = program.wait_for("listening on");
    let address = line.rsplit(' ').next().expect("an address").to_owned();
    (program, address)
}

fn fetch(from: &str, args: &[&str]) -> Program {
    let mut command = tfrc(["recv", "--from", from]);
    command.args(args);
    Program::start(command)
}

/// Both ends say the same of every packet.
fn agree(sender: &Summary, receiver: &Summary) {
    let counts = |s: &Summary| {
        let all = [s.sent_packets, s.received_packets, s.lost_packets, s.late_packets, s.received_bytes];
        all.map(|n| n.expect("known"))
    };
    let [sent, received, lost, late, _] = counts(sender);
    assert_eq!(sent, received + lost + late, "{sender:?}");
    assert_eq!(counts(sender), counts(receiver));
    let outcomes = (sender.outcome, receiver.outcome);
    assert_eq!(outcomes, (Some(Outcome::Complete), Some(Outcome::Complete)), "{sender:?} {receiver:?}");
}

#[test]
fn a_file_is_fetched_by_either_rate_control() {
    let place = Place::new();
    for (variant, length) in [("tfrc", 300_000), ("tfrc-sp", 6_000)] {
        let content = noise(length);
        let (original, arrived) = (place.write("in", &content), place.file(variant));
        let (sender, address) =
            serve(&["-f", &original, "--variant", variant, "-l", "300B", "--json"], Stdio::null());
        let receiver: Summary = fetch(&address, &["-o", &arrived, "--json"]).succeed().json();
        let sender: Summary = sender.succeed().json();
        agree(&sender, &receiver);
        for end in [&sender, &receiver] {
            assert_eq!((end.variant.as_deref(), end.lost_packets), (Some(variant), Some(0)));
        }
        assert!(std::fs::read(&arrived).expect("written") == content);
    }
}

/// Linux ends so as a server: CloseReq, which the client answers by itself (RFC 4340 §8.3).
#[test]
fn a_sender_that_asks_for_the_close_leaves_a_file() {
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    for lossy in [&["--lossy"][..], &[]] {
        let arrived = place.file(if lossy.is_empty() { "whole" } else { "lossy" });
        let finished = runtime.block_on(async {
            let common = Common { accept: Listen::One, ..Common::default() };
            let options = Options { common, ..Options::default() };
            let listening = Endpoint::bind(([127, 0, 0, 1], 0).into(), &options).expect("a port");
            let address = listening.local_addr().to_string();
            let receiver = fetch(&address, &[&["-o", &arrived, "--json"], lossy].concat());
            let connection = listening.accept().await.expect("a receiver");
            for byte in 0..20 {
                connection.send(vec![byte; 50]).await.expect("open");
            }
            connection.flushed().await;
            connection.request_close("").await;
            tokio::task::spawn_blocking(|| receiver.end()).await.expect("no panic")
        });
        assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
        let Summary { outcome, received_bytes, .. } = finished.json();
        assert_eq!((outcome, received_bytes), (Some(Outcome::Complete), Some(1000)));
        let content: Vec<u8> = (0..20).flat_map(|byte| [byte; 50]).collect();
        assert!(std::fs::read(&arrived).expect("written") == content);
        assert!(finished.stderr.contains("holds 1,000 bytes"), "{}", finished.stderr);
    }
}

/// The address that the sender sees is that of the relay, as behind a translator.
#[test]
fn counts_agree_over_a_bottleneck() {
    let (sender, address) = serve(&["-n", "600kB", "--json"], Stdio::null());
    let (relay, entrance) = link(&scenario("bottleneck.toml"), &address);
    let receiver: Summary = fetch(&entrance, &["--json"]).succeed().json();
    let sender: Summary = sender.succeed().json();
    let (_, back) = end_link(relay);
    agree(&sender, &receiver);
    assert!(back.arrived > 400, "the data goes from the sender that listens: {back:?}");
    assert!(sender.rtt_s.is_some_and(|rtt| rtt > 0.02), "{sender:?}");
}

#[test]
fn either_end_can_be_interrupted() {
    let place = Place::new();
    let endless = ["--pps", "50", "-t", "1min", "--json"];
    let arrived = place.file("a");
    let (mut sender, address) = serve(&endless, Stdio::null());
    let mut receiver = fetch(&address, &["-o", &arrived, "--json"]);
    sender.wait_for("connected");
    receiver.wait_for("connected");
    sender.signal("INT");
    let (sender, receiver): (Summary, Summary) = (sender.succeed().json(), receiver.end().json());
    assert_eq!(sender.outcome, Some(Outcome::Stopped), "{sender:?}");
    assert_eq!(sender.received_packets, receiver.received_packets);

    let arrived = place.file("b");
    let (mut sender, address) = serve(&endless, Stdio::null());
    let mut receiver = fetch(&address, &["-o", &arrived, "--json"]);
    sender.wait_for("connected");
    receiver.wait_for("connected");
    receiver.signal("INT");
    let (sender, receiver) = (sender.end(), receiver.end());
    assert_eq!((sender.status.code(), receiver.status.code()), (Some(1), Some(1)));
    let sender: Summary = sender.json();
    assert!(sender.reason.is_some_and(|reason| reason.contains("the receiver was interrupted")));
    assert!(!std::path::Path::new(&arrived).exists());
}

#[test]
fn a_sender_that_sends_nothing_is_given_up() {
    let (mut sender, address) = serve(&["-f", "-"], Stdio::piped());
    let receiver = fetch(&address, &["--idle", "300ms"]).end();
    assert_eq!(receiver.status.code(), Some(1));
    assert!(receiver.stderr.contains("see --idle"), "{}", receiver.stderr);
    // It waits for another receiver, which gets all of the data.
    sender.wait_for("still listening");
    let mut next = fetch(&address, &["--json"]);
    next.wait_for("connected");
    let mut pipe = sender.stdin();
    std::io::Write::write_all(&mut pipe, &noise(5000)).expect("read");
    drop(pipe);
    sender.succeed();
    assert_eq!(next.succeed().json::<Summary>().received_bytes, Some(5000));
}

#[test]
fn a_second_receiver_is_told_that_the_sender_is_busy() {
    let (mut sender, address) = serve(&["--pps", "50", "-t", "1min"], Stdio::null());
    let first = fetch(&address, &["--json"]);
    sender.wait_for("connected");
    let second = fetch(&address, &[]).end();
    assert_eq!(second.status.code(), Some(1));
    assert!(second.stderr.contains("busy with another connection"), "{}", second.stderr);
    sender.signal("INT");
    sender.succeed();
    let first: Summary = first.succeed().json();
    assert!(first.received_packets > Some(0));
}

#[test]
fn a_sender_that_everybody_could_fetch_from_asks_who_may() {
    for (line, status, said) in [
        (vec!["send", "-R", "-p", "0"], 2, "--allow"),
        (vec!["send", "-R", "--bind", "127.0.0.1", "-p", "0", "--wait", "20ms"], 1, "no receiver connected"),
        (vec!["send", "host", "-R"], 2, "cannot be used with"),
        (vec!["send", "host", "-p", "7000"], 2, "cannot be used with"),
        (vec!["send"], 2, "HOST"),
        (vec!["recv", "--from", "host", "--bind", "127.0.0.1"], 2, "cannot be used with"),
        (vec!["recv", "--wait", "1s"], 2, "--from"),
    ] {
        let finished = run(&line);
        assert_eq!(finished.status.code(), Some(status), "{line:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(said), "{line:?}: {}", finished.stderr);
    }
}

/// Two ends with the same part find out at once, and say so.
#[test]
fn two_senders_and_two_receivers_are_told() {
    let (listener, address) = serve(&["-n", "100kB"], Stdio::null());
    let caller = Program::start(tfrc(["send", &address, "-n", "100kB", "--wait", "1min"])).end();
    let listener = listener.end();
    for end in [&caller, &listener] {
        assert_eq!(end.status.code(), Some(1), "{}", end.stderr);
        let last = end.stderr.lines().last().unwrap_or_default();
        assert!(last.contains("sends, too: one end has to receive"), "{}", end.stderr);
    }
    let place = Place::new();
    let file = place.file("out");
    for args in [vec!["-1"], vec!["-o", &file]] {
        let (listener, address) = recv(&args);
        let caller = fetch(&address, &[]).end();
        let listener = listener.end();
        for end in [&caller, &listener] {
            assert_eq!(end.status.code(), Some(1), "{}", end.stderr);
            let last = end.stderr.lines().last().unwrap_or_default();
            assert!(last.contains("receives, too: one end has to send"), "{}", end.stderr);
        }
    }
    // A receiver of many goes on.
    let (listener, address) = recv(&["--json"]);
    assert_eq!(fetch(&address, &[]).end().status.code(), Some(1));
    send(&address, &["-n", "10kB"], Stdio::null()).succeed();
    listener.signal("TERM");
    assert!(listener.succeed().stderr.contains("2 connections, 1 of them failed"));
}
