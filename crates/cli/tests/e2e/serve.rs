//! `recv` for many: a file or a program for each connection, the log, metrics, the end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::e2e::network::{Place, noise, recv, recv_into, send};
use crate::e2e::program::{LIMIT, Program, run, tfrc};

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    names
}

/// One of three is killed: the others are whole, its file stays marked, and a fourth is served.
#[test]
fn each_connection_has_its_own_file_and_a_killed_sender_harms_no_other() {
    let place = Place::new();
    let content = noise(200_000);
    let from = place.write("in", &content);
    let folder = place.file("files");
    std::fs::create_dir(&folder).expect("made");
    let pattern = format!("{folder}/%n-%a.ts");
    let (mut receiver, address) = recv(&["-o", &pattern, "--idle-timeout", "1s", "-v"]);
    let mut killed = send(&address, &["--pps", "50", "-t", "10min"], Stdio::null());
    // Some of its data has come.
    killed.wait_for("1.0 s");
    let others: Vec<Program> =
        (0..2).map(|_| send(&address, &["-f", &from, "-b", "2M"], Stdio::null())).collect();
    for other in others {
        other.succeed();
    }
    killed.signal("KILL");
    killed.end();
    receiver.wait_for("connection 1 from 127.0.0.1:");
    let line = receiver.wait_for("no data came for 1 s");
    assert!(line.contains("WARN") && line.contains("1-127.0.0.1.ts.part holds"), "{line}");
    send(&address, &["-f", &from], Stdio::null()).succeed();
    receiver.signal("TERM");
    let receiver = receiver.succeed();
    let said = &receiver.stderr;
    assert!(said.contains("stopped: interrupted after 4 connections, 1 of them failed"), "{said}");
    let complete: Vec<&str> = said.lines().filter(|line| line.contains(" complete: ")).collect();
    assert_eq!(complete.len(), 3, "{said}");
    for line in complete {
        assert!(
            line.contains(" from 127.0.0.1:") && line.contains(" datagrams, 200000 bytes, 0 lost"),
            "{line}"
        );
        // One number for a connection, in the log and in the name of its file.
        let number = line.split_once("connection ").and_then(|(_, rest)| rest.split_once(' '));
        let (number, _) = number.expect("a number");
        assert!(line.ends_with(&format!("/{number}-127.0.0.1.ts holds 200,000 bytes")), "{line}");
    }
    let expected = ["1-127.0.0.1.ts.part", "2-127.0.0.1.ts", "3-127.0.0.1.ts", "4-127.0.0.1.ts"];
    assert_eq!(names(Path::new(&folder)), expected);
    for whole in &expected[1..] {
        assert!(std::fs::read(format!("{folder}/{whole}")).expect("there") == content, "{whole}");
    }
    assert!(std::fs::metadata(format!("{folder}/{}", expected[0])).expect("there").len() > 0);
}

#[test]
fn a_program_reads_each_connection() {
    let place = Place::new();
    let content = noise(100_000);
    let from = place.write("in", &content);
    let to = place.file("%n-%a");
    let (mut receiver, address) = recv(&["--exec", &format!("sh -c 'cat > {to}; exit $(( %n / 2 ))'")]);
    for _ in 0..2 {
        send(&address, &["-f", &from, "-b", "20M"], Stdio::null()).succeed();
    }
    receiver.wait_for("connection 1 from");
    let line = receiver.wait_for("connection 2 from");
    assert!(line.contains("failed: ") && line.contains("sh ended with exit status: 1"), "{line}");
    for number in 1..=2 {
        let name = place.file(&format!("{number}-127.0.0.1"));
        assert!(std::fs::read(&name).expect("written") == content, "{name}");
    }
    receiver.signal("TERM");
    receiver.succeed();
    // A missing program is the failure of one connection, reported to its sender.
    let (mut receiver, address) = recv(&["--exec", "/nonexistent/program"]);
    let sender = send(&address, &["-n", "10kB"], Stdio::null()).end();
    assert!(sender.stderr.contains("the receiver cannot write its output"), "{}", sender.stderr);
    receiver.wait_for("the program cannot be started: /nonexistent/program");
    receiver.signal("TERM");
    receiver.succeed();
}

#[test]
fn strangers_get_neither_files_nor_programs_unless_the_user_says_so() {
    let place = Place::new();
    let pattern = place.file("%n");
    for destination in [["-o", &pattern], ["--exec", "cat"]] {
        let line = [&["recv", "--bind", "0.0.0.0", "-p", "0"], &destination[..]].concat();
        let refused = run(&line);
        assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains("--allow any"), "{}", refused.stderr);
        for (allow, warned) in [("any", true), ("192.0.2.0/24", false)] {
            let mut receiver = Program::start(tfrc([&line[..], &["--allow", allow]].concat()));
            receiver.wait_for("listening on 0.0.0.0:");
            receiver.signal("TERM");
            let said = receiver.succeed().stderr;
            assert_eq!(said.contains("warning: any host"), warned, "{said}");
        }
    }
    for bad in [
        vec!["-o", "%n%x"],
        vec!["-o", "%n", "--append"],
        vec!["-o", "out", "--connections", "2"],
        vec!["--exec", "'cat"],
        vec!["--bind", "localhost:1", "-p", "2"],
    ] {
        let refused = run([&["recv"], &bad[..]].concat());
        assert!(refused.status.code() == Some(2) && refused.stderr.contains("hint:"), "{}", refused.stderr);
    }
    assert_eq!(names(Path::new(&pattern).parent().expect("a folder")), Vec::<String>::new());
}

/// Open connections are asked to end, and nobody else is let in.
#[test]
fn the_end_drains() {
    let place = Place::new();
    let pattern = place.file("%n");
    let (receiver, address) = recv(&["-o", &pattern]);
    let mut sender = send(&address, &["--pps", "50", "-t", "10min"], Stdio::null());
    sender.wait_for("1.0 s");
    receiver.signal("TERM");
    let sender = sender.end();
    assert_eq!(sender.status.code(), Some(1), "{}", sender.stderr);
    assert!(sender.stderr.contains("failed: the receiver was interrupted"), "{}", sender.stderr);
    let said = receiver.succeed().stderr;
    // The connection may hear of the end before the listener counts it.
    let words = ["no new connections are taken; 1 are asked to end", "ending; Ctrl-C again aborts"];
    assert!(words.iter().any(|word| said.contains(word)), "{said}");
    assert!(said.contains("connection 1 from 127.0.0.1:") && said.contains(" stopped: "), "{said}");
    assert!(
        said.lines().last().expect("said").starts_with("stopped: interrupted after 1 connection; "),
        "{said}"
    );
    assert!(Path::new(&place.file("1.part")).exists() && !Path::new(&place.file("1")).exists());
}

#[test]
fn peers_that_are_refused_are_logged() {
    let (mut receiver, address) = recv(&["--connections", "1"]);
    let mut first = send(&address, &["--pps", "50", "-t", "10min"], Stdio::null());
    first.wait_for("1.0 s");
    let second = send(&address, &["-n", "1kB"], Stdio::null()).end();
    assert!(second.stderr.contains("busy"), "{}", second.stderr);
    let line = receiver.wait_for("refused 127.0.0.1:");
    assert!(line.contains("as many connections as are served at once are open"), "{line}");
    first.signal("INT");
    first.succeed();
    receiver.signal("TERM");
    receiver.succeed();
}

#[test]
fn records_name_their_connection() {
    let (mut receiver, address) = recv(&["--connections", "4", "--json-stream"]);
    for _ in 0..2 {
        send(&address, &["-n", "50kB"], Stdio::null()).succeed();
    }
    receiver.wait_for("connection 2 from");
    receiver.signal("TERM");
    let receiver = receiver.succeed();
    let lines: Vec<serde_json::Value> =
        receiver.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for number in 1..=2 {
        let kinds: Vec<&str> = lines
            .iter()
            .filter(|line| line["connection"] == number)
            .map(|line| line["type"].as_str().expect("a type"))
            .collect();
        assert!(kinds.first() == Some(&"start") && kinds.last() == Some(&"end"), "{kinds:?}");
    }
    assert!(lines.iter().all(|line| line["connection"].is_u64()), "{lines:?}");
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a time");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn metrics_are_those_of_the_connections() {
    let mut command = tfrc(["recv", "--bind", "localhost:0", "--connections", "4", "--metrics", "0"]);
    let mut receiver = Program::start(std::mem::replace(&mut command, tfrc(["--version"])));
    let line = receiver.wait_for("listening on");
    let address = line.rsplit(' ').next().expect("an address").to_owned();
    let line = receiver.wait_for("metrics at http://127.0.0.1:");
    let metrics = line.trim_start_matches("metrics at http://").trim_end_matches("/metrics").to_owned();
    for _ in 0..2 {
        send(&address, &["-n", "50kB"], Stdio::null()).succeed();
    }
    receiver.wait_for("connection 2 from");
    assert!(get(&metrics, "/").starts_with("HTTP/1.1 404 "));
    let answer = get(&metrics, "/metrics");
    let (head, page) = answer.split_once("\r\n\r\n").expect("a head and a page");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/plain; version=0.0.4"), "{head}");
    for line in [
        "tfrc_recv_connections_total{outcome=\"complete\"} 2",
        "tfrc_recv_open_connections 0",
        "tfrc_recv_received_bytes_total 100000",
        "tfrc_recv_received_datagrams_total 76",
    ] {
        assert!(page.lines().any(|other| other == line), "{line} is not in\n{page}");
    }
    judged_by_promtool(&["check", "metrics"], page);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/prometheus");
    let read = |path: std::path::PathBuf| std::fs::read_to_string(&path).expect("a file");
    let (rules, tests) = (read(folder.join("tfrc-recv.rules.yml")), read(folder.join("tfrc-recv.test.yml")));
    // Alerts are on metrics that there are, and the guide and the test of the rules have each.
    let named = rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    for name in named.filter(|word| word.starts_with("tfrc_")) {
        assert!(page.contains(&format!("# HELP {name} ")), "no metric {name}");
    }
    let guide = read(folder.join("../../docs/guides/operate.md"));
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() >= 6, "{alerts:?}");
    for alert in alerts {
        assert!(guide.contains(&format!("| `{alert}` |")), "{alert} is not in the guide");
        assert!(tests.contains(&format!("alertname: {alert}\n")), "{alert} is not tested");
    }
    let file = |name: &str| folder.join(name).to_str().expect("text").to_owned();
    judged_by_promtool(&["check", "config", &file("scrape.yml")], "");
    judged_by_promtool(&["test", "rules", &file("tfrc-recv.test.yml")], "");
    assert!(get(&metrics, "/healthz").ends_with("\r\n\r\nok\n"));
    receiver.signal("TERM");
    receiver.succeed();
}

/// An open connection has gauges of its own, and leaves them with its end.
#[test]
fn an_open_connection_is_measured() {
    let mut command = tfrc(["recv", "--bind", "localhost:0", "--connections", "4", "--metrics", "0"]);
    let mut receiver = Program::start(std::mem::replace(&mut command, tfrc(["--version"])));
    let line = receiver.wait_for("listening on");
    let address = line.rsplit(' ').next().expect("an address").to_owned();
    let line = receiver.wait_for("metrics at http://127.0.0.1:");
    let metrics = line.trim_start_matches("metrics at http://").trim_end_matches("/metrics").to_owned();
    let sender = send(&address, &["-t", "20s", "-b", "400k"], Stdio::null());
    let rate = || {
        let page = get(&metrics, "/metrics");
        let line = page.lines().find(|line| line.starts_with("tfrc_recv_connection_rate_bytes_per_second{"));
        let value = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        (value, page)
    };
    let page = loop {
        match rate() {
            (Some(rate), page) if rate > 0.0 => break page,
            _ => std::thread::yield_now(),
        }
    };
    for name in ["rtt_seconds", "loss_event_rate"] {
        let begin = format!("tfrc_recv_connection_{name}{{connection=\"1\",peer=\"127.0.0.1:");
        assert!(page.lines().any(|line| line.starts_with(&begin)), "{begin} is not in\n{page}");
    }
    judged_by_promtool(&["check", "metrics"], page.split_once("\r\n\r\n").expect("a head and a page").1);
    sender.signal("INT");
    sender.succeed();
    receiver.wait_for("connection 1 from");
    assert_eq!(rate().0, None);
    receiver.signal("TERM");
    receiver.succeed();
}

/// `promtool` of the Debian package `prometheus`, where it is installed.
#[expect(clippy::disallowed_macros, reason = "a check that cannot run says so")]
fn judged_by_promtool(arguments: &[&str], page: &str) {
    let mut command = Command::new("promtool");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut promtool = match command.spawn() {
        Ok(promtool) => promtool,
        Err(error) => {
            eprintln!("not judged by promtool (package prometheus): {error}");
            return;
        }
    };
    promtool.stdin.take().expect("piped").write_all(page.as_bytes()).expect("read");
    let answer = promtool.wait_with_output().expect("it ends");
    let words = [answer.stdout, answer.stderr].map(|words| String::from_utf8_lossy(&words).into_owned());
    assert!(answer.status.success() && words[1].is_empty(), "{arguments:?}: {}", words.concat());
}

/// The port of a receiver that is about to end is waited for.
#[test]
fn a_second_start_waits_for_the_port() {
    let (first, address) = recv(&[]);
    let port = address.rsplit(':').next().expect("a port");
    let mut second = Program::start(tfrc(["recv", "--bind", "127.0.0.1", "-p", port]));
    second.wait_for("waiting up to 3 s for it");
    first.signal("TERM");
    first.succeed();
    second.wait_for(&format!("listening on {address}"));
    second.signal("TERM");
    second.succeed();
}

/// A player behind `-o -` sees the end of the data while the sender is still answered.
#[test]
fn standard_output_is_closed_before_the_receiver_lingers() {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let (mut receiver, address) = recv_into(&["-o", "-"], writer.into());
    let sender = send(&address, &["-n", "50kB"], Stdio::null());
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).expect("readable");
    assert_eq!(bytes.len(), 50_000);
    receiver.wait_for("answering the sender for 2 s more");
    sender.succeed();
    receiver.succeed();
}
