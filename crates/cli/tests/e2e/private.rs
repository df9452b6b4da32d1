//! `--quic`: private sessions, by the keys of both ends. Each test has folders of settings of its
//! own, so that it finds no keys of the user's.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tfrc_report::record::{Outcome, Summary};

use crate::e2e::network::{Place, end_link, link, noise, scenario};
use crate::e2e::program::{Finished, Program, tfrc};

/// A key that nobody has.
const NOBODY: &str = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The program with its settings in a folder of this place.
fn at(place: &Place, settings: &str, args: &[&str]) -> Command {
    let mut command = tfrc(args);
    command.env("XDG_CONFIG_HOME", place.file(settings));
    command
}

/// A receiver or sender that listens: its address and the fingerprint of its key.
fn listen(place: &Place, settings: &str, args: &[&str]) -> (Program, String, String) {
    let mut program = Program::start(at(place, settings, args));
    let line = program.wait_for("listening on");
    let address = line.rsplit(' ').next().expect("an address").to_owned();
    let line = program.wait_for("--peer-key");
    let words: Vec<&str> = line.split_whitespace().collect();
    let key = words.iter().position(|word| *word == "--peer-key").and_then(|at| words.get(at + 1));
    (program, address, (*key.expect("a whole line to paste")).to_owned())
}

fn recv(place: &Place, args: &[&str]) -> (Program, String, String) {
    listen(place, "receiver", &[&["recv", "--quic", "--bind", "127.0.0.1", "-p", "0"], args].concat())
}

fn send(place: &Place, to: &str, args: &[&str]) -> Finished {
    Program::start(at(place, "sender", &[&["send", to, "--quic"], args].concat())).end()
}

/// Both ends say the same of every packet.
fn agree(sender: &Summary, receiver: &Summary) {
    let counts = |s: &Summary| {
        let all = [s.sent_packets, s.received_packets, s.lost_packets, s.late_packets, s.received_bytes];
        all.map(|n| n.expect("known"))
    };
    assert_eq!(counts(sender), counts(receiver));
    let outcomes = (sender.outcome, receiver.outcome);
    assert_eq!(outcomes, (Some(Outcome::Complete), Some(Outcome::Complete)), "{sender:?} {receiver:?}");
}

fn refused(finished: &Finished, words: &[&str]) {
    assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr);
    words.iter().for_each(|word| assert!(finished.stderr.contains(word), "{word}: {}", finished.stderr));
}

#[cfg(unix)]
fn mode(file: impl AsRef<Path>) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).expect("there").permissions().mode() & 0o777
}

/// The first key is made, named, and kept; the second time nothing has to be named.
#[test]
fn a_file_goes_from_one_to_the_other() {
    let place = Place::new();
    let content = noise(300_000);
    let original = place.write("in", &content);
    for (name, named) in [("first", true), ("second", false)] {
        let arrived = place.file(name);
        let (receiver, address, key) = recv(&place, &["-o", &arrived, "--json"]);
        // The port is another each time, and a host is known with its port.
        let known = place.file("sender/tfrc/known_hosts");
        if !named {
            let line = std::fs::read_to_string(&known).expect("kept");
            assert!(line.ends_with(&format!("{key}\n")) && mode(&known) == 0o600, "{line}");
            std::fs::write(&known, format!("# by hand\n{address} {key}\n")).expect("ours");
        }
        let key: &[&str] = if named { &["--peer-key", &key] } else { &[] };
        let sender = send(&place, &address, &[&["-f", &original, "--json"], key].concat());
        assert!(sender.status.success(), "{}", sender.stderr);
        assert_eq!(sender.stderr.contains("is known by this key from now on"), named, "{}", sender.stderr);
        agree(&sender.json(), &receiver.succeed().json());
        assert!(std::fs::read(&arrived).expect("written") == content);
        assert_eq!(mode(place.file("receiver/tfrc/key")), 0o600);
    }
}

#[test]
fn a_host_that_is_not_known_is_refused_before_anything_is_sent() {
    let place = Place::new();
    let finished = send(&place, "127.0.0.1:9", &["-n", "1kB"]);
    refused(&finished, &["127.0.0.1:9 is not known", "known_hosts", "--peer-key"]);
    for wrong in ["SHA256:abc", "here"] {
        refused(&send(&place, "127.0.0.1:9", &["--peer-key", wrong]), &["SHA256:", "43 letters"]);
    }
}

/// Another key than the one that is named, or than the one in the file, with its line.
#[test]
fn a_changed_key_is_refused() {
    let place = Place::new();
    let (receiver, address, key) = recv(&place, &["-o", &place.file("out")]);
    let other = format!("SHA256:{}", "A".repeat(43));
    let named = send(&place, &address, &["-n", "1kB", "--peer-key", &other]);
    refused(&named, &["the key of", &key, &other, "that of --peer-key"]);
    let known = place.file("sender/tfrc/known_hosts");
    assert!(std::fs::read_to_string(&known).is_err(), "a wrong key is not remembered");
    std::fs::write(&known, format!("# one\n\n{address} {other}\n")).expect("ours");
    let kept = send(&place, &address, &["-n", "1kB"]);
    refused(&kept, &["the key of", &key, "line 3 of", "known_hosts", "name it once with --peer-key"]);
    let right = send(&place, &address, &["-n", "1kB", "--peer-key", &key]);
    assert!(right.status.success() && right.stderr.contains(&other), "{}", right.stderr);
    assert_eq!(std::fs::read_to_string(&known).expect("kept"), format!("# one\n\n{address} {key}\n"));
    receiver.succeed();
}

/// Neither end has a folder for its settings: services, containers.
#[test]
fn keys_that_are_named_need_no_home() {
    let place = Place::new();
    let bare = |args: &[&str]| {
        let mut command = tfrc(args);
        command.env_remove("HOME").env_remove("XDG_CONFIG_HOME");
        command
    };
    let (here, there) = (place.file("here.key"), place.file("there.key"));
    let mut receiver =
        Program::start(bare(&["recv", "--quic", "--bind", "127.0.0.1", "-p", "0", "-1", "--key", &there]));
    let line = receiver.wait_for("listening on");
    let address = line.rsplit(' ').next().expect("an address").to_owned();
    let shown = Program::start(bare(&["key", "show", "--key", &there])).succeed().text().to_owned();
    let (key, _) = shown.split_once(' ').expect("a key and its file");
    let named = ["send", &address, "--quic", "-n", "1kB", "--key", &here, "--peer-key", key];
    let sent = Program::start(bare(&named)).succeed();
    assert!(!sent.stderr.contains("known by"), "{}", sent.stderr);
    receiver.succeed();
    let unnamed = Program::start(bare(&["send", &address, "--quic", "-n", "1kB", "--peer-key", key])).end();
    refused(&unnamed, &["neither HOME nor XDG_CONFIG_HOME", "--key"]);
}

/// A key that somebody else has is renewed; a host is forgotten.
#[test]
fn keys_are_shown_renewed_and_forgotten() {
    let place = Place::new();
    let run = |args: &[&str]| Program::start(at(&place, "sender", args)).end();
    let word = |text: &str| text.split(' ').next().expect("a word").to_owned();
    let first = run(&["key", "show"]);
    let key = word(first.text());
    assert!(first.text().ends_with("sender/tfrc/key\n") && key.starts_with("SHA256:"), "{}", first.text());
    assert_eq!(run(&["key", "show"]).text(), first.text());
    let renewed = run(&["key", "new"]).text().to_owned();
    assert!(renewed.contains(&format!("{key} is over")) && word(&renewed) != key, "{renewed}");
    assert_eq!(word(run(&["key", "show"]).text()), word(&renewed));
    refused(&run(&["key", "forget", "there.example"]), &["there.example:6511 is in no line of"]);
    place.write("sender/tfrc/known_hosts", format!("# mine\nthere.example:6511 {key}\n").as_bytes());
    let forgotten = run(&["key", "forget", "There.example"]);
    assert!(forgotten.text().contains(&key) && forgotten.text().contains("line 2"), "{}", forgotten.text());
    let left = std::fs::read_to_string(place.file("sender/tfrc/known_hosts")).expect("kept");
    assert_eq!(left, "# mine\n");
}

/// A second receiver has a key of its own, and is another host to the sender.
#[test]
fn two_receivers_are_two_hosts() {
    let place = Place::new();
    let (one, first, key) = recv(&place, &["-1"]);
    let own = place.file("other.key");
    let (other, second, other_key) = listen(
        &place,
        "receiver",
        &["recv", "--quic", "--bind", "127.0.0.1", "-p", "0", "-1", "--key", &own],
    );
    assert_ne!(key, other_key);
    refused(&send(&place, &second, &["-n", "1kB", "--peer-key", &key]), &["the key of", &other_key]);
    for (address, key) in [(first, key), (second, other_key)] {
        let sent = send(&place, &address, &["-n", "1kB", "--peer-key", &key]);
        assert!(sent.status.success(), "{}", sent.stderr);
    }
    one.succeed();
    other.succeed();
    let known = std::fs::read_to_string(place.file("sender/tfrc/known_hosts")).expect("kept");
    assert_eq!(known.lines().count(), 2);
}

#[test]
fn a_sender_that_is_not_named_is_not_let_in() {
    let place = Place::new();
    let friend = format!("SHA256:{}", "A".repeat(43));
    let (mut receiver, address, key) = recv(&place, &["-v", "-o", &place.file("%n"), "--allow-key", &friend]);
    let stranger = send(&place, &address, &["-n", "1kB", "--peer-key", &key]);
    refused(&stranger, &["does not let this end in", "--allow-key SHA256:"]);
    let own = stranger.stderr.split("its key is ").nth(1).and_then(|rest| rest.split('\n').next());
    let own = own.expect("the fingerprint").to_owned();
    assert!(receiver.wait_for("refused 127.0.0.1").contains(&own));
    receiver.signal("INT");
    receiver.succeed();
    let (receiver, address, key) = recv(&place, &["-1", "--allow-key", &own, "--allow-key", &friend]);
    let sent = send(&place, &address, &["-n", "1kB", "--peer-key", &key]);
    assert!(sent.status.success(), "{}", sent.stderr);
    receiver.succeed();
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let key = place.write("key", b"rubbish");
    let line = ["recv", "--quic", "--bind", "127.0.0.1", "-p", "0", "--key", &key];
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("ours");
    let run = || Program::start(at(&place, "receiver", &line)).end();
    refused(&run(), &["(mode 644)", &format!("chmod 600 {key}")]);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("ours");
    refused(&run(), &["not a private key", "--key"]);
}

/// The end that receives connects, and knows the sender's key.
#[test]
fn a_file_is_fetched() {
    let place = Place::new();
    let content = noise(200_000);
    let (original, arrived) = (place.write("in", &content), place.file("out"));
    let listens = ["send", "-R", "--quic", "--bind", "127.0.0.1", "-p", "0", "-f", &original, "--json"];
    let (sender, address, key) = listen(&place, "sender", &listens);
    let fetch = ["recv", "--from", &address, "--quic", "-o", &arrived, "--json"];
    let unknown = Program::start(at(&place, "receiver", &fetch)).end();
    refused(&unknown, &["is not known", "--peer-key"]);
    let fetch = [&fetch[..], &["--peer-key", &key]].concat();
    let receiver: Summary = Program::start(at(&place, "receiver", &fetch)).succeed().json();
    let sender: Summary = sender.succeed().json();
    agree(&sender, &receiver);
    assert!(sender.rtt_s.is_some() && receiver.loss_event_rate.is_none());
    assert!(std::fs::read(&arrived).expect("written") == content);
}

/// Through a bottleneck that loses packets: losses are the receiver's, X and R the sender's.
#[test]
fn counts_agree_over_a_bottleneck() {
    let place = Place::new();
    let (receiver, address, key) = recv(&place, &["-1", "--json"]);
    let (relay, entrance) = link(&scenario("bottleneck.toml"), &address);
    let series = place.file("series.csv");
    let args = ["-n", "600kB", "--json", "--peer-key", &key, "--series", &series];
    let sender = send(&place, &entrance, &args);
    assert!(sender.status.success(), "{}", sender.stderr);
    let (sender, receiver): (Summary, Summary) = (sender.json(), receiver.succeed().json());
    let (there, _) = end_link(relay);
    agree(&sender, &receiver);
    assert!(there.arrived > 450, "{there:?}");
    assert!(sender.rtt_s.is_some_and(|rtt| (0.04..1.0).contains(&rtt)), "{sender:?}");
    let rate = sender.allowed_rate_bps.expect("known");
    assert!((1e5..1e8).contains(&rate), "{rate}");
    assert!(std::fs::read_to_string(&series).expect("written").lines().count() > 3);
}

#[test]
fn options_of_dccp_are_refused_by_name() {
    let place = Place::new();
    let journal = place.file("j");
    for (option, value) in [
        ("--journal", &*journal),
        ("--pcap", &journal),
        ("--guarantee", "1M"),
        ("--variant", "tfrc-sp"),
        ("--dscp", "ef"),
        ("--circuit-breaker", "on"),
        ("--optimistic-acks", "test"),
        ("--service", "SC:fdpz"),
    ] {
        let finished = send(&place, "127.0.0.1:9", &[option, value]);
        refused(&finished, &[option]);
    }
    let line = ["recv", "--quic", "--service", "SC:fdpz"];
    refused(&Program::start(at(&place, "receiver", &line)).end(), &["--service belongs to DCCP"]);
    let line = ["recv", "--quic", "--peer-key", &format!("SHA256:{}", "A".repeat(43))];
    refused(&Program::start(at(&place, "receiver", &line)).end(), &["--allow-key"]);
}

/// An end that is interrupted, an end that nobody is at, and plain DCCP at a private port.
#[test]
fn ends_that_are_no_file() {
    let place = Place::new();
    let (mut receiver, address, key) = recv(&place, &["-o", &place.file("out"), "--json"]);
    let endless = ["--pps", "50", "-t", "1min", "--json", "--peer-key", &key];
    let mut sender =
        Program::start(at(&place, "sender", &[&["send", &address, "--quic"], &endless[..]].concat()));
    sender.wait_for("connected");
    // An end that is interrupted before it has sent anything fails at the other.
    receiver.wait_for("goodput");
    sender.signal("INT");
    let (sender, receiver): (Summary, Value) = (sender.succeed().json(), receiver.succeed().json());
    assert_eq!((sender.outcome, &receiver["outcome"]), (Some(Outcome::Stopped), &"complete".into()));
    let nobody = send(&place, &address, &["-n", "1kB"]);
    assert_eq!(nobody.status.code(), Some(1), "{}", nobody.stderr);
    assert!(nobody.stderr.contains("nobody listens there"), "{}", nobody.stderr);
}

/// Datagrams of another program, with a deadline, at both ends.
#[test]
fn datagrams_keep_their_boundaries() {
    let place = Place::new();
    let player = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    player.set_read_timeout(Some(crate::e2e::program::LIMIT)).expect("a time");
    let out = player.local_addr().expect("bound").to_string();
    let (receiver, address, key) = recv(&place, &["--udp-out", &out, "-1"]);
    let args =
        ["send", &address, "--quic", "--udp-in", "127.0.0.1:0", "--deadline", "5s", "--peer-key", &key];
    let mut command = at(&place, "sender", &args);
    command.stdin(Stdio::null());
    let mut sender = Program::start(command);
    let to = sender.wait_for("taking datagrams at").rsplit(' ').next().expect("a port").to_owned();
    sender.wait_for("connected");
    let mut buffer = [0; 2000];
    for length in [1, 700, 1100] {
        player.send_to(&vec![7; length], &to).expect("sent");
        assert_eq!(player.recv(&mut buffer).expect("a datagram"), length);
    }
    sender.signal("INT");
    sender.succeed();
    receiver.succeed();
}

/// One end alone has `--quic`: the end that calls says so, and does not wait for what cannot come.
#[test]
fn an_end_that_speaks_the_other_protocol_is_found_out() {
    let place = Place::new();
    let original = place.write("in", "data");
    for (private, sentence) in
        [(true, "takes private sessions only: add --quic"), (false, "started with --quic")]
    {
        let (quic, other): (&[&str], &[&str]) =
            if private { (&["--quic"], &[]) } else { (&[], &["--quic", "--peer-key", NOBODY]) };
        for (listens, calls) in [
            (&["recv"][..], &["send", "{}", "-f", &original, "--wait", "1min"][..]),
            (&["send", "-R", "-f", &original], &["recv", "--from", "{}", "-o", "/dev/null"]),
        ] {
            let listens = [listens, &["--bind", "127.0.0.1", "-p", "0"], quic].concat();
            let mut listener = Program::start(at(&place, "listener", &listens));
            let line = listener.wait_for("listening on");
            let address = line.rsplit(' ').next().expect("an address").to_owned();
            let calls: Vec<_> =
                [calls, other].concat().into_iter().map(|word| word.replace("{}", &address)).collect();
            let calls: Vec<_> = calls.iter().map(String::as_str).collect();
            let caller = Program::start(at(&place, "caller", &calls)).end();
            assert_eq!(caller.status.code(), Some(1), "{}", caller.stderr);
            assert!(caller.stderr.contains(sentence), "{}", caller.stderr);
            listener.signal("INT");
            listener.end();
        }
    }
}

/// A receiver that is started after its sender, on a port that the sender knows.
#[test]
fn a_receiver_may_come_later() {
    let place = Place::new();
    let (first, address, key) = recv(&place, &["-1"]);
    let sent = send(&place, &address, &["-n", "1kB", "--peer-key", &key]);
    assert!(sent.status.success(), "{}", sent.stderr);
    first.succeed();
    let mut sender =
        Program::start(at(&place, "sender", &["send", &address, "--quic", "-n", "1kB", "--wait", "1min"]));
    sender.wait_for("trying");
    let port = address.rsplit(':').next().expect("a port");
    let again = ["recv", "--quic", "--bind", "127.0.0.1", "-p", port, "-1", "--json-stream"];
    let receiver = Program::start(at(&place, "receiver", &again));
    sender.succeed();
    let finished = receiver.succeed();
    let start: Value = serde_json::from_str(finished.text().lines().next().expect("a line")).expect("JSON");
    assert_eq!(start["parameters"]["transport"], "quic");
}

/// Picture and sound, encoded at the rate that QUIC allows.
#[test]
fn a_test_picture_is_private() {
    let place = Place::new();
    let arrived = place.file("out.ts");
    let (receiver, address, key) = recv(&place, &["-o", &arrived, "--json"]);
    let line = ["stream", "test", &address, "--quic", "--peer-key", &key, "-t", "3s", "--json"];
    let sender: Summary = Program::start(at(&place, "sender", &line)).succeed().json();
    let receiver: Summary = receiver.succeed().json();
    assert_eq!(sender.received_bytes, receiver.received_bytes);
    let bytes = std::fs::read(&arrived).expect("written");
    assert!(bytes.len() > 20_000 && bytes.len().is_multiple_of(188), "{}", bytes.len());
    assert!(bytes.chunks(188).all(|packet| packet[0] == 0x47), "packets of an MPEG transport stream");
}
