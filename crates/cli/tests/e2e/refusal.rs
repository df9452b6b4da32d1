//! Refusals: requests that cannot be met, and the messages the user gets.

use std::path::Path;
use std::process::Stdio;

use crate::e2e::network::{Place, recv, send};
use crate::e2e::program::{LIMIT, Program, run, tfrc};

#[test]
fn a_second_connection_at_once_is_refused_and_the_first_goes_on() {
    let (receiver, address) = recv(&["-1", "--json"]);
    let mut first = send(&address, &["--pps", "50", "--json"], Stdio::null());
    first.wait_for("connected");
    let second = send(&address, &["-n", "1kB"], Stdio::null()).end();
    assert_eq!(second.status.code(), Some(1), "{}", second.stderr);
    assert!(
        second.stderr.contains("busy with another connection") && second.stderr.contains(&address),
        "{}",
        second.stderr
    );
    assert!(second.stdout.is_empty());
    first.signal("INT");
    let first: serde_json::Value = first.succeed().json();
    let receiver: serde_json::Value = receiver.succeed().json();
    assert!(first["sent_packets"].as_u64() > Some(0));
    assert_eq!(first["sent_packets"], receiver["sent_packets"]);
    assert_eq!(receiver["lost_packets"], 0);
}

#[test]
fn a_listener_for_another_service_refuses() {
    let (receiver, address) = recv(&["--service", "SC:fdpz"]);
    let sender = send(&address, &["-n", "1kB", "--json-stream"], Stdio::null()).end();
    assert_eq!(sender.status.code(), Some(1), "{}", sender.stderr);
    assert!(
        sender.stderr.contains("serves another service code") && sender.stderr.contains(&address),
        "{}",
        sender.stderr
    );
    let last = sender.text().lines().last().expect("a line");
    assert!(last.contains("\"error\"") && last.contains("serves another service code"), "{last}");
    receiver.signal("INT");
    receiver.succeed();
}

/// Nobody answers; an unreachable port says nothing about a path (it is forged too easily), so the
/// user is who gives up.
#[test]
fn waiting_for_nobody_can_be_ended() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    silent.set_read_timeout(Some(LIMIT)).expect("a time");
    let address = silent.local_addr().expect("bound").to_string();
    let sender = send(&address, &[], Stdio::null());
    // Its Request has come: it is waiting.
    assert!(silent.recv(&mut [0; 2000]).expect("a Request") > 0);
    sender.signal("INT");
    let sender = sender.end();
    assert_eq!(sender.status.code(), Some(1), "{}", sender.stderr);
    assert!(sender.stderr.contains(&format!("before {address} answered")), "{}", sender.stderr);
}

#[test]
fn a_port_in_use_is_told() {
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port().to_string();
    let receiver = run(["recv", "--bind", "127.0.0.1", "-p", &port]);
    assert_eq!(receiver.status.code(), Some(1));
    assert!(receiver.stderr.contains(&format!("127.0.0.1:{port}")), "{}", receiver.stderr);
}

#[test]
fn files_that_are_not_there_are_usage_errors() {
    let place = Place::new();
    let absent = place.file("absent/file");
    for line in [
        vec!["send", "127.0.0.1:9", "-f", &absent],
        vec!["recv", "--bind", "127.0.0.1", "-p", "0", "-o", &absent],
        vec!["sim", &absent],
        vec!["link", &absent, "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"],
        vec!["replay", &absent],
        vec!["capture", &absent],
    ] {
        let finished = run(&line);
        assert_eq!(finished.status.code(), Some(2), "{line:?}: {}", finished.stderr);
        assert!(finished.stdout.is_empty());
        assert!(
            finished.stderr.contains("absent/file") && finished.stderr.contains("hint:"),
            "{}",
            finished.stderr
        );
    }
}

#[test]
fn a_mistake_in_a_scenario_is_shown_in_its_place() {
    let place = Place::new();
    // (the link's keys, the mistake under the caret, the advice)
    for (keys, mistake, advice) in [
        ("rate = \"2Mbit/s\"\ndelya = \"20ms\"", "delya", "`delay`"),
        ("rate = \"2Mbit/s\"\ndelay = \"20 parsec\"", "20 parsec", "a time"),
        ("rate = \"2Mbit/s\"\ndelay = \"20ms\"\nqueue = \"many\"", "many", "25p"),
        ("rate = \"2Mbit/s\"\ndelay = \"20ms\"\nloss = { scriped = [1] }", "scriped", "`scripted`"),
    ] {
        let path = place.one_link(keys);
        for mut command in [tfrc(["sim"]), tfrc(["link", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"])] {
            command.arg(&path);
            let finished = Program::start(command).end();
            let said = &finished.stderr;
            assert_eq!(finished.status.code(), Some(2), "{said}");
            assert!(finished.stdout.is_empty());
            assert!(said.contains("link.toml:") && said.contains(mistake) && said.contains(advice), "{said}");
            assert!(under(said, mistake), "no mark under {mistake:?}:\n{said}");
        }
    }
}

/// Returns true if a line of marks follows the line with `mistake` in it, below just these
/// characters.
fn under(picture: &str, mistake: &str) -> bool {
    let lines: Vec<Vec<char>> = picture.lines().map(|line| line.chars().collect()).collect();
    let wanted: Vec<char> = mistake.chars().collect();
    lines.windows(2).any(|pair| {
        let place = pair[0].windows(wanted.len()).position(|part| part == wanted);
        place.is_some_and(|at| {
            let below = pair[1].get(at..at + wanted.len()).unwrap_or_default();
            !below.is_empty() && below.iter().all(|mark| ['─', '┬', '^', '-'].contains(mark))
        })
    })
}

#[test]
fn the_scenarios_of_the_repository_are_right() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut seen = 0;
    for entry in std::fs::read_dir(dir).expect("scenarios") {
        let path = entry.expect("entry").path();
        if path.extension().is_none_or(|suffix| suffix != "toml") {
            continue;
        }
        tfrc_scenario::Scenario::load(&path, tfrc_scenario::World::Simulated)
            .unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
        seen += 1;
    }
    assert!(seen >= 5);
}

/// A guaranteed flow does not go on into silence (RFC 8083 §4.1): three times five seconds without
/// feedback end it.
#[test]
fn the_circuit_breaker_ends_a_guaranteed_flow_that_hears_nothing() {
    let (receiver, address) = recv(&["-1", "--json"]);
    let sender = &["--guarantee", "200k", "--pps", "20", "-t", "2min", "--json"];
    let mut sender = send(&address, sender, Stdio::null());
    sender.wait_for("connected");
    receiver.signal("STOP");
    sender.wait_for("stopped by the circuit breaker: no feedback although packets were sent");
    receiver.signal("CONT");
    let sender = sender.end();
    assert_eq!(sender.status.code(), Some(1), "{}", sender.stderr);
    // It heard that not all was sent.
    assert_eq!(receiver.end().status.code(), Some(1));
}
