//! `tfrc emu`: programs and kernel TCP in network namespaces of their own.
//!
//! Where the system gives no namespaces, each test says why on standard error and ends: the rest of
//! the program does not need them.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::e2e::program::{Finished, LIMIT, Program, tfrc};

const NETWORK: &str = "duration = '2s'\nwarmup = '500ms'\nnodes = ['near', 'middle', 'far']\n\
    [[link]]\nname = 'access'\nfrom = 'near'\nto = 'middle'\nrate = '100Mbit/s'\ndelay = '1ms'\n\
    [[link]]\nname = 'path'\nfrom = 'middle'\nto = 'far'\nrate = '4Mbit/s'\ndelay = '10ms'\nqueue = '20p'\n";

const FLOWS: &str = "[[flow]]\nname = 'tcp'\nkind = 'tcp'\nfrom = 'near'\nto = 'far'\n\
    [flow.tcp]\nvariant = 'cubic'\n\
    [[flow]]\nname = 'tfrc'\nkind = 'tfrc'\nfrom = 'near'\nto = 'far'\n\
    [[flow]]\nname = 'voice'\nkind = 'cbr'\nfrom = 'near'\nto = 'far'\nrate = '64kbit/s'\nsegment = '160B'\n\
    [[flow]]\nname = 'probe'\nkind = 'ping'\nfrom = 'near'\nto = 'far'\n\
    [[flow]]\nname = 'pages'\nkind = 'web'\nfrom = 'far'\nto = 'near'\n\
    [flow.web]\nbetween_pages = \"100ms\"\n";

/// A scenario file, gone with the test.
struct Scenario(tempfile::TempDir);

impl Scenario {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("s.toml"), text).expect("written");
        Self(folder)
    }

    /// `tfrc emu` on it with these arguments.
    fn emu(&self, arguments: &[&str]) -> Command {
        let mut command = tfrc(["emu"]);
        command.arg(self.0.path().join("s.toml")).args(arguments);
        command
    }

    /// The end of such a run; `None` where the system gives no namespaces.
    fn run(&self, arguments: &[&str]) -> Option<Finished> {
        let ended = Program::start(self.emu(arguments)).end();
        if ended.stderr.contains("gives no namespaces") {
            skipped(&ended.stderr);
            return None;
        }
        Some(ended)
    }
}

#[test]
fn programs_meet_through_the_network_and_give_their_status() {
    let scenario = Scenario::new(NETWORK);
    let script = "getent hosts far && tfrc_count=$(ls /sys/class/net 2>/dev/null | wc -l) && exit 7";
    let Some(ended) = scenario.run(&["--at", "near", script]) else { return };
    assert_eq!(ended.status.code(), Some(7), "{}", ended.stderr);
    assert!(String::from_utf8_lossy(&ended.stdout).contains("10.77.0."), "{}", ended.stderr);
    // A server that does not end by itself is ended with the last command.
    let folder = scenario.0.path().join("got");
    let server = format!("exec {} recv -o {}", env!("CARGO_BIN_EXE_tfrc"), folder.display());
    let client = format!("exec {} send far -n 50kB", env!("CARGO_BIN_EXE_tfrc"));
    let Some(ended) = scenario.run(&["--at", "far", &server, "--at", "near", &client]) else { return };
    // A busy machine is outside of the limits, and says so.
    let outside = ended.stderr.contains("outside of the limits");
    assert_eq!(ended.status.code(), Some(if outside { 3 } else { 0 }), "{}", ended.stderr);
    assert_eq!(fs::read(&folder).expect("received").len(), 50_000);
    assert!(ended.stderr.contains("path: "), "{}", ended.stderr);
}

#[test]
fn programs_find_an_interface_that_runs() {
    // IFF_RUNNING of net0: without it WebRTC's libraries, for one, take no address of an interface.
    let look = "python3 -c 'import fcntl, socket, sys; \
                flags = fcntl.ioctl(socket.socket(), 0x8913, b\"net0\" + bytes(36))[16]; \
                sys.exit(5 if flags & 0x40 else 6)'";
    let scenario = Scenario::new(NETWORK);
    let Some(ended) = scenario.run(&["--at", "near", look]) else { return };
    assert_eq!(ended.status.code(), Some(5), "{}", ended.stderr);
}

#[test]
fn every_kind_of_flow_gets_through() {
    let scenario = Scenario::new(&format!("{NETWORK}{FLOWS}"));
    let capture = scenario.0.path().join("path.pcap");
    let [page, series] = ["page.html", "series.csv"].map(|name| scenario.0.path().join(name));
    let wanted = [
        "--json",
        "--pcap",
        "path",
        capture.to_str().expect("text"),
        "--report",
        page.to_str().expect("text"),
        "--series",
        series.to_str().expect("text"),
    ];
    let Some(ended) = scenario.run(&wanted) else { return };
    // A busy machine may make the run invalid, which is not a fault of the program: it says so.
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", ended.stderr);
    let result: Value = serde_json::from_slice(&ended.stdout).expect("a document");
    let flows = result["flows"].as_array().expect("flows");
    assert_eq!(flows.len(), 5);
    for flow in flows {
        // A page whose first packet the full queue drops waits a second for the next, as in any
        // network.
        let least = if flow["kind"] == "web" { -1.0 } else { 0.0 };
        assert!(flow["goodput_bps"].as_f64().is_some_and(|rate| rate > least), "{flow}");
    }
    assert_eq!(result["fidelity"]["own_drops"].as_u64(), Some(0), "{result}");
    assert!(result["kernel"]["release"].as_str().is_some_and(|release| !release.is_empty()));
    assert!(fs::read(&capture).expect("a capture").len() > 10_000);
    assert!(fs::read_to_string(&page).expect("a page").contains("kernel"));
    assert!(fs::read_to_string(&series).expect("time series").lines().count() > flows.len());
}

#[test]
fn every_kind_of_flow_may_end_before_the_run() {
    let scenario = Scenario::new(&format!("{NETWORK}{FLOWS}"));
    let flows = ["tcp", "tfrc", "voice", "probe", "pages"];
    let stops = flows.map(|flow| format!("flow.{flow}.stop=1200ms"));
    let wanted: Vec<&str> =
        std::iter::once("--json").chain(stops.iter().flat_map(|stop| ["--set", stop])).collect();
    let Some(ended) = scenario.run(&wanted) else { return };
    // A busy machine may make the run invalid, and then it says so.
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", ended.stderr);
    let result: Value = serde_json::from_slice(&ended.stdout).expect("a document");
    assert_eq!(result["flows"].as_array().map(Vec::len), Some(flows.len()), "{result}");
}

#[test]
fn what_the_kernel_lacks_and_what_is_not_there_are_told() {
    let flow =
        "[[flow]]\nname = 'old'\nkind = 'tcp'\nfrom = 'near'\nto = 'far'\n[flow.tcp]\nvariant = 'tahoe'\n";
    let scenario = Scenario::new(&format!("{NETWORK}{flow}"));
    for (arguments, says) in [
        (&[][..], "no Tahoe"),
        (&["--at", "nowhere", "true"], "no node `nowhere`"),
        (&["--shell", "nowhere"], "no node `nowhere`"),
        (&["--set", "flow.old.tcp.variant=reno", "--pcap", "nothing", "x"], "no link `nothing`"),
    ] {
        let ended = Program::start(scenario.emu(arguments)).end();
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(says), "{arguments:?}: {}", ended.stderr);
    }
    // By hand, outside of namespaces, the inner command does nothing.
    let mut inside = tfrc(["emu-inside"]);
    inside.arg(scenario.0.path().join("s.toml")).args(["--at", "near", "true"]);
    let ended = Program::start(inside).end();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("not in a namespace of its own"), "{}", ended.stderr);
}

/// Sends to a group and to both broadcast addresses until both other nodes have answered, and then
/// three packets to an address that no node has.
const TO_EVERYONE: &str = r#"python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
s.settimeout(0.1)
for to in "239.1.2.3", "255.255.255.255", "10.77.255.255":
    heard = set()
    for n in range(300):
        s.sendto(to.encode(), (to, 5000))
        try:
            while len(heard) < 2:
                data, who = s.recvfrom(99)
                if data == to.encode():
                    heard.add(who)
        except OSError:
            continue
        break
    print(to, len(heard), flush=True)
for n in range(3):
    s.sendto(b"x", ("10.77.0.99", 5000))
'"#;

/// Answers what it hears, of the group too.
const ANSWERING: &str = r#"exec python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
group = socket.inet_aton("239.1.2.3") + socket.inet_aton("0.0.0.0")
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
while True:
    s.sendto(*s.recvfrom(99))
'"#;

#[test]
fn everyone_hears_multicast_and_what_no_node_is_there_for_is_counted() {
    let third = "[[link]]\nname = 'side'\nfrom = 'middle'\nto = 'third'\nrate = '1Mbit/s'\ndelay = '1ms'\n";
    let scenario = Scenario::new(&format!("{NETWORK}{third}").replace("'far']", "'far', 'third']"));
    let wanted =
        ["--json", "--at", "far", ANSWERING, "--at", "third", ANSWERING, "--at", "near", TO_EVERYONE];
    let Some(ended) = scenario.run(&wanted) else { return };
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", ended.stderr);
    let heard: Vec<&str> = ended.text().lines().take(3).collect();
    assert_eq!(heard, ["239.1.2.3 2", "255.255.255.255 2", "10.77.255.255 2"], "{}", ended.stderr);
    assert!(
        ended.stderr.contains("\n3 packets had no node to go to (10.77.0.99)\n"),
        "of IPv6 and the like there is nothing: {}",
        ended.stderr
    );
    let result: Value =
        serde_json::from_str(ended.text().lines().last().expect("a line")).expect("a document");
    let expected = serde_json::json!([{ "destination": "10.77.0.99", "packets": 3 }]);
    assert_eq!(result["fidelity"]["undeliverable"], expected, "{result}");
}

#[test]
fn with_programs_the_document_is_the_last_line() {
    let scenario = Scenario::new(NETWORK);
    let Some(ended) = scenario.run(&["--json", "--at", "near", "ping -c 1 -q far >&2; echo pinged; exit 5"])
    else {
        return;
    };
    assert_eq!(ended.status.code(), Some(5), "{}", ended.stderr);
    let [said, document] = ended.text().lines().collect::<Vec<_>>()[..] else { panic!("{}", ended.text()) };
    let result: Value = serde_json::from_str(document).expect("a document");
    assert_eq!((said, &result["schema_version"]), ("pinged", &serde_json::json!(1)));
    assert_eq!(result["links"].as_array().map(Vec::len), Some(4), "{result}");
    assert!(result["fidelity"]["packets"].is_null() && result["invalid"].is_array(), "{result}");
    let threads = result["threads"].as_array().expect("threads");
    assert!(threads.iter().any(|thread| thread["name"] == "node near"), "{result}");
}

/// A pipe gives its text once, and nothing else than its writer ends the wait for it but a signal.
#[test]
fn a_scenario_may_come_by_a_pipe() {
    let scenario = Scenario::new(NETWORK);
    let pipe = scenario.0.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    let name = pipe.to_str().expect("text");
    let write = || {
        let pipe = pipe.clone();
        std::thread::spawn(move || fs::write(pipe, NETWORK).expect("it is read"))
    };
    for command in [&["sim", name][..], &["emu", name, "--at", "near", "exit 5"]] {
        let writer = write();
        let ended = Program::start(tfrc(command)).end();
        writer.join().expect("written");
        if !ended.stderr.contains("gives no namespaces") {
            let expected = if command[0] == "emu" { 5 } else { 0 };
            assert_eq!(ended.status.code(), Some(expected), "{command:?}: {}", ended.stderr);
        }
    }
    let writer = write();
    let mut link = Program::start(tfrc(["link", name, "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"]));
    link.wait_for("relaying");
    link.signal("TERM");
    link.succeed();
    writer.join().expect("written");
    // Standard input is as good.
    let mut emu = tfrc(["emu", "/dev/stdin", "--at", "near", "exit 5"]);
    emu.stdin(Stdio::piped());
    let mut emu = Program::start(emu);
    emu.stdin().write_all(NETWORK.as_bytes()).expect("it is read");
    let ended = emu.end();
    assert!(
        ended.status.code() == Some(5) || ended.stderr.contains("gives no namespaces"),
        "{}",
        ended.stderr
    );
    // Without a writer.
    for command in [&["sim", name][..], &["emu", name], &["emu", "--job"]] {
        let mut waiting = tfrc(command);
        waiting.stdin(Stdio::piped());
        let mut waiting = Program::start(waiting);
        let open = waiting.stdin();
        waiting.signal("TERM");
        let ended = waiting.end();
        assert_eq!(ended.status.signal(), Some(15), "{command:?}: {}", ended.stderr);
        drop(open);
    }
}

/// Says why a test has tested nothing.
#[expect(clippy::disallowed_macros, reason = "for whoever reads the tests' output")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

/// Waits for a word of a run; false where the system gives no namespaces.
fn has_begun(run: &mut Program, word: &str) -> bool {
    let line = run.wait_for_either(word, "gives no namespaces");
    if line.contains(word) {
        return true;
    }
    skipped(&line);
    false
}

#[test]
fn a_run_that_is_interrupted_keeps_what_it_measured() {
    let text = format!("{NETWORK}{FLOWS}").replace("duration = '2s'", "duration = '100s'");
    let scenario = Scenario::new(&text);
    let mut run = Program::start(scenario.emu(&[]));
    if !has_begun(&mut run, "2.0 s ") {
        return;
    }
    run.signal("INT");
    let ended = run.end();
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", ended.stderr);
    assert!(ended.text().contains("tfrc"), "{}", ended.text());
}

/// Killed as hard as can be, it leaves no process behind.
#[test]
fn nothing_is_left_after_a_kill() {
    let scenario = Scenario::new(NETWORK);
    let script = format!("echo alive >&2; exec sleep 1000 7<{}", scenario.0.path().join("s.toml").display());
    let mut run = Program::start_writing(scenario.emu(&["--at", "near", &script]), Stdio::null());
    if !has_begun(&mut run, "alive") {
        return;
    }
    run.signal("KILL");
    let opened = scenario.0.path().join("s.toml");
    let deadline = std::time::Instant::now() + LIMIT;
    while holders(&opened) > 0 {
        assert!(std::time::Instant::now() < deadline, "a process of the run is left");
        std::thread::yield_now();
    }
}

/// Processes that have a file open.
fn holders(file: &std::path::Path) -> usize {
    let wanted = fs::canonicalize(file).expect("there");
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    let has = |folder: std::path::PathBuf| {
        let open = fs::read_dir(folder.join("fd")).into_iter().flatten().flatten();
        open.into_iter().any(|fd| fs::read_link(fd.path()).is_ok_and(|path| path == wanted))
    };
    processes.filter(|entry| has(entry.path())).count()
}
