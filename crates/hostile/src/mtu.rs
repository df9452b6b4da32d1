//! Interfaces with a small MTU: files arrive whole over a clean veth pair, whatever its MTU, and
//! data that cannot be sent is counted.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::engine::{Bench, Case, CaseRow, Ground, Load};
use super::honest;
use super::namespace::run;
use super::program::{Program, SOON, Stream};
use super::veth::Beyond;

/// The cases of this file.
pub(crate) const CASES: [Case; 8] = [
    Case::new("mtu-1280", Load::Waiting, |b, d| whole(b, d, 1, 1280, 6)),
    Case::new("mtu-1350", Load::Waiting, |b, d| whole(b, d, 2, 1350, 6)),
    Case::new("mtu-576", Load::Waiting, |b, d| whole(b, d, 3, 576, 2)),
    Case::new("mtu-500", Load::Waiting, |b, d| whole(b, d, 4, 500, 2)),
    Case::new("mtu-100", Load::Waiting, |b, d| no_room(b, d, 5, 100)),
    // QUIC's datagrams have 1200 bytes at least (RFC 9000 §14).
    Case::new("quic-mtu-1000", Load::Waiting, |b, d| no_room(b, d, 9, 1000)),
    Case::new("mtu-falls", Load::Waiting, falls),
    Case::new("mtu-datagrams", Load::Waiting, datagrams),
];

/// The least MTU of IPv6 (RFC 8200 §5).
const LEAST_OF_IPV6: u32 = 1280;

/// A veth pair into another namespace, whose two ends have an MTU.
struct Narrow {
    beyond: Beyond,
    here: String,
    there: String,
    /// The address beyond, of each version that the MTU allows.
    hosts: Vec<String>,
}

impl Narrow {
    fn make(net: u8, mtu: u32) -> Result<Self, String> {
        let beyond = Beyond::empty()?;
        let (here, there) = (format!("m{net}"), format!("w{net}"));
        run(
            "ip",
            &["link", "add", &here, "type", "veth", "peer", "name", &there, "netns", &beyond.process()],
        )?;
        let narrow = Self { beyond, here, there, hosts: Vec::new() };
        narrow.set(mtu)?;
        run("ip", &["link", "set", &narrow.here, "up"])?;
        narrow.beyond.run(&["ip", "link", "set", &narrow.there, "up"])?;
        let mut hosts =
            vec![(format!("203.0.113.{}", 4 * net + 1), format!("203.0.113.{}", 4 * net + 2), "30")];
        if mtu >= LEAST_OF_IPV6 {
            hosts.push((format!("fd00:39:{net}::1"), format!("fd00:39:{net}::2"), "64"));
        }
        for (near, far, bits) in &hosts {
            let nodad: &[&str] = if near.contains(':') { &["nodad"] } else { &[] };
            run("ip", &[&["addr", "add", &format!("{near}/{bits}"), "dev", &narrow.here], nodad].concat())?;
            let there = ["ip", "addr", "add", &format!("{far}/{bits}"), "dev", &narrow.there];
            narrow.beyond.run(&[&there, nodad].concat())?;
        }
        Ok(Self { hosts: hosts.into_iter().map(|(_, far, _)| far).collect(), ..narrow })
    }

    fn set(&self, mtu: u32) -> Result<(), String> {
        let mtu = mtu.to_string();
        run("ip", &["link", "set", &self.here, "mtu", &mtu])?;
        self.beyond.run(&["ip", "link", "set", &self.there, "mtu", &mtu])
    }

    /// Starts a receiver beyond; it, and how a sender calls it.
    fn receive(
        &self,
        bench: &Bench,
        directory: &Path,
        host: &str,
        more: &[&str],
    ) -> Result<(Program, String), String> {
        let arguments = [&["recv", "--bind", host, "-1", "--json"], more].concat();
        let mut receiver = self.beyond.start(directory, "recv", &bench.binary, &bench.words(&arguments))?;
        receiver.wait_for("listening")?;
        Ok((receiver, if host.contains(':') { format!("[{host}]:6511") } else { format!("{host}:6511") }))
    }
}

/// Files, a pipe, made-up data, short and long packets: equal bytes, `times` transfers for each IP
/// version.
fn whole(bench: &Bench, directory: &Path, net: u8, mtu: u32, times: usize) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("an interface of its own needs a network namespace"));
    }
    let narrow = Narrow::make(net, mtu)?;
    let source = honest::input(directory, 400_000)?;
    let content = fs::read(&source).map_err(|error| error.to_string())?;
    let name = source.to_string_lossy().into_owned();
    let kinds: [&[&str]; 6] = [
        &["-f", &name, "-b", "20M"],
        &["-f", "-", "-b", "20M"],
        &["-n", "400kB", "-b", "20M"],
        &["-f", &name],
        &["-f", &name, "-l", "400B", "-b", "20M"],
        &["-f", &name, "-l", "1000B", "-b", "8M"],
    ];
    let (mut equal, mut zeros, mut all, mut words) = (0, 0, 0, Vec::new());
    for host in &narrow.hosts {
        for kind in kinds.iter().take(times) {
            let file = directory.join("out");
            let _ = fs::remove_file(&file);
            let (mut receiver, to) =
                narrow.receive(bench, directory, host, &["-o", &file.to_string_lossy()])?;
            let is_pipe = kind.contains(&"-");
            let input = if is_pipe { Stream::Pipe } else { Stream::Own };
            let arguments = [&["send", &to, "--json"], *kind].concat();
            let mut sender = bench.start(directory, "send", &arguments, input, Stream::Own)?;
            if let Some(mut pipe) = sender.take_input() {
                pipe.write_all(&content).map_err(|error| error.to_string())?;
            }
            let (sent, received) = (sender.end(SOON), receiver.end(SOON));
            let arrived = fs::read(&file).unwrap_or_default();
            let right =
                if kind.contains(&"-n") { arrived.len() == content.len() } else { arrived == content };
            all += 1;
            equal += usize::from(right);
            zeros += usize::from(sent.is(0) && received.is(0));
            if !(right && sent.is(0) && received.is(0)) {
                words.push(format!(
                    "{}: {} B, “{}”, “{}”",
                    kind.join(" "),
                    arrived.len(),
                    sent.last,
                    received.last
                ));
            }
        }
    }
    let mut row =
        CaseRow::new(format!("a clean veth pair of MTU {mtu}; 400 kB as files, a pipe, made-up data"));
    row.saw(format!("exit 0 at both ends {zeros} of {all}"));
    words.iter().take(2).for_each(|words| row.saw(words));
    row.honest = format!("equal bytes {equal} of {all}");
    row.bar(equal == all, "equal bytes each time");
    row.bar(zeros == all, "exit 0 at both ends each time");
    Ok(row)
}

/// An interface that no session fits into.
fn no_room(bench: &Bench, directory: &Path, net: u8, mtu: u32) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("an interface of its own needs a network namespace"));
    }
    let narrow = Narrow::make(net, mtu)?;
    let (mut receiver, to) = narrow.receive(bench, directory, &narrow.hosts[0], &[])?;
    let sent = bench.run(directory, "send", &["send", &to, "-n", "10kB"])?.end(SOON);
    receiver.signal(Signal::TERM);
    receiver.end(SOON);
    let mut row = CaseRow::new(format!("a veth pair of MTU {mtu}"));
    row.saw(format!("sender {}: “{}”", sent.how, sent.last));
    row.bar(sent.is(1) && sent.last.contains("MTU"), "sender: exit 1 within 10 s, and says why");
    Ok(row)
}

/// The MTU of both ends falls in mid-transfer.
fn falls(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("an interface of its own needs a network namespace"));
    }
    let narrow = Narrow::make(6, 1500)?;
    let source = honest::input(directory, 3_000_000)?;
    let (file, part) = (directory.join("out"), directory.join("out.part"));
    let mut row = CaseRow::new("the MTU of a veth pair falls from 1500 to 1300 in mid-transfer of 3 MB");
    for host in &narrow.hosts {
        narrow.set(1500)?;
        let _ = (fs::remove_file(&file), fs::remove_file(&part));
        let (mut receiver, to) = narrow.receive(bench, directory, host, &["-o", &file.to_string_lossy()])?;
        // QUIC takes no more at first than every path carries, and finds out.
        let length: &[&str] = if bench.key.is_some() { &[] } else { &["-l", "1400B"] };
        let name = source.to_string_lossy();
        let arguments = [&["send", &to, "--json", "-f", &name, "-b", "10M"], length].concat();
        let mut sender = bench.run(directory, "send", &arguments)?;
        sender.wait_for("connected")?;
        thread::sleep(Duration::from_secs(1));
        narrow.set(1300)?;
        let (sent, received) = (sender.end(SOON), receiver.end(SOON));
        let summary: serde_json::Value = serde_json::from_str(&sender.output()).unwrap_or_default();
        let count = |key: &str| summary[key].as_u64().unwrap_or_default();
        let arrived = fs::metadata(&file).or_else(|_| fs::metadata(&part));
        let missing = 3_000_000 - arrived.map_or(0, |metadata| metadata.len());
        row.saw(format!("{host}: {} and {}: “{}”", sent.how, received.how, sent.last));
        row.saw(format!(
            "{missing} B missing, {} lost, {} not sent",
            count("lost_packets"),
            count("unsent_packets")
        ));
        row.bar(
            missing <= 1400 * (count("lost_packets") + count("unsent_packets")),
            "nothing is missing uncounted",
        );
        row.bar(received.is(0) == sent.is(0), "both ends have the same status");
        // QUIC finds a narrower path out by its losses alone (RFC 9000 §14.3). What the system has
        // refused meanwhile counts as not sent, and that is no success.
        let is_private = bench.key.is_some();
        row.bar(missing == 0 || is_private, "the file is whole");
        row.bar(sent.is(i32::from(is_private && missing > 0)), "sender: exit 0, or 1 for what is missing");
    }
    Ok(row)
}

/// Datagrams of another program that are longer than the route takes: said, counted, no success at
/// either end.
fn datagrams(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("an interface of its own needs a network namespace"));
    }
    let narrow = Narrow::make(7, 1280)?;
    let (mut receiver, to) = narrow.receive(bench, directory, &narrow.hosts[0], &[])?;
    let port = honest::free_port("127.0.0.1")?;
    let door = format!("127.0.0.1:{port}");
    let mut sender = bench.run(directory, "send", &["send", &to, "--json", "--udp-in", &door])?;
    sender.wait_for("connected")?;
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    for number in 0..40_usize {
        let length = if number.is_multiple_of(4) { 1316 } else { 1000 };
        socket.send_to(&vec![7; length], &door).map_err(|error| error.to_string())?;
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(500));
    sender.signal(Signal::INT);
    let (sent, received) = (sender.end(SOON), receiver.end(SOON));
    let summary: serde_json::Value = serde_json::from_str(&sender.output()).unwrap_or_default();
    let mut row =
        CaseRow::new("`send --udp-in` at MTU 1280: ten of forty datagrams have 1316 bytes, the others 1000");
    row.saw(format!("sender {}: “{}”", sent.how, sent.last));
    row.saw(format!("receiver {}: “{}”", received.how, received.last));
    row.honest = format!(
        "{} too long, {} received of {} sent",
        summary["too_long_packets"], summary["received_packets"], summary["sent_packets"]
    );
    row.bar(
        summary["too_long_packets"] == 10 && summary["sent_packets"] == 30,
        "ten are counted as too long",
    );
    row.bar(sent.is(1) && summary["outcome"] == "failed", "sender: exit 1");
    row.bar(received.is(1), "receiver: exit 1, for the sender said that not all was sent");
    Ok(row)
}
