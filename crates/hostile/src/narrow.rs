//! Paths that carry less than a sender believes: three network namespaces, the second link narrow,
//! with the router's messages about it and without them; and an interface that becomes slow.

use std::path::Path;

use rustix::process::Signal;

use super::engine::{Bench, Case, CaseRow, Ground, Load};
use super::faults::stream_mean;
use super::namespace::run;
use super::program::{SOON, Stream};
use super::veth::Beyond;

/// The cases of this file.
pub(crate) const CASES: [Case; 5] = [
    Case::new("pmtu-1300", Load::Waiting, |b, d| narrow(b, d, 1, 1300, Icmp::Passes)),
    Case::new("pmtu-1300-silent", Load::Waiting, |b, d| narrow(b, d, 2, 1300, Icmp::Dropped)),
    Case::new("pmtu-900", Load::Waiting, |b, d| narrow(b, d, 3, 900, Icmp::Passes)),
    Case::new("pmtu-900-silent", Load::Waiting, |b, d| narrow(b, d, 4, 900, Icmp::Dropped)),
    Case::new("full-socket", Load::Waiting, full_socket),
];

/// The router's messages about packets that are too long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Icmp {
    Dropped,
    Passes,
}

/// Bits a second of the sender, and for how many seconds: long enough for three tries of a second
/// each at two lengths.
const CAP: &str = "1M";
const SECONDS: &str = "16s";
/// IPv4, UDP and DCCP headers, and the room that a sender leaves for options.
const HEADERS: u64 = 28 + 24 + 24;

/// A transfer over a path whose second link carries `mtu` bytes.
fn narrow(bench: &Bench, directory: &Path, net: u8, mtu: u64, icmp: Icmp) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("three hosts need network namespaces"));
    }
    let (router, far) = (Beyond::empty()?, Beyond::empty()?);
    let (here, there) = (format!("near-{net}"), format!("far-{net}"));
    let near_net = |host: u8| format!("192.0.2.{}", (net - 1) * 4 + host);
    let far_net = |host: u8| format!("198.51.100.{}", (net - 1) * 4 + host);
    let size = mtu.to_string();
    // Near is this namespace; the address ending in 2 is the router's on either side.
    run("ip", &["link", "add", &here, "type", "veth", "peer", "name", "r0", "netns", &router.process()])?;
    run("ip", &["addr", "add", &format!("{}/30", near_net(1)), "dev", &here])?;
    run("ip", &["link", "set", &here, "up"])?;
    router.run(&["ip", "addr", "add", &format!("{}/30", near_net(2)), "dev", "r0"])?;
    router.run(&["ip", "link", "set", "r0", "up"])?;
    router.run(&[
        "ip",
        "link",
        "add",
        "r1",
        "type",
        "veth",
        "peer",
        "name",
        &there,
        "netns",
        &far.process(),
    ])?;
    router.run(&["ip", "addr", "add", &format!("{}/30", far_net(2)), "dev", "r1"])?;
    router.run(&["ip", "link", "set", "r1", "mtu", &size, "up"])?;
    router.run(&["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"])?;
    far.run(&["ip", "addr", "add", &format!("{}/30", far_net(1)), "dev", &there])?;
    far.run(&["ip", "link", "set", &there, "up"])?;
    far.run(&["ip", "route", "add", "default", "via", &far_net(2)])?;
    run("ip", &["route", "add", &format!("{}/32", far_net(1)), "via", &near_net(2)])?;
    if icmp == Icmp::Dropped {
        router.run(&["ip", "rule", "add", "pref", "1", "ipproto", "icmp", "blackhole"])?;
    }
    let file = directory.join("out");
    let arguments = ["recv", "--bind", &far_net(1), "-1", "--json", "-o", &file.to_string_lossy()];
    let mut receiver = far.start(directory, "recv", &bench.binary, &bench.words(&arguments))?;
    receiver.wait_for("listening")?;
    let arguments = ["send", &far_net(1), "-b", CAP, "-t", SECONDS, "--json"];
    let mut sender = bench.start(directory, "send", &arguments, Stream::Own, Stream::Own)?;
    let (sent, received) = (sender.end(SOON * 4), receiver.end(SOON * 4));
    let summary: serde_json::Value = serde_json::from_str(&sender.output()).unwrap_or_default();
    let count = |key: &str| summary[key].as_u64().unwrap_or_default();
    let arrived = count("sent_packets").saturating_sub(count("lost_packets"));
    let longest = count("max_datagram_bytes");
    let messages = if icmp == Icmp::Passes { "with" } else { "without" };
    let mut row =
        CaseRow::new(format!("the second link carries {mtu} bytes, {messages} ICMP; {CAP}bit/s, {SECONDS}"));
    row.saw(format!("sender {}: “{}”; receiver {}: “{}”", sent.how, sent.last, received.how, received.last));
    row.honest =
        format!("{arrived} of {} datagrams arrive, {longest} bytes at the end", count("sent_packets"));
    row.bar(sent.is(0) && received.is(0), "exit 0 at both ends");
    row.bar((400..=mtu - HEADERS).contains(&longest), "datagrams as long as the path takes, or shorter");
    // Alone the cap is some 90 to 280 datagrams a second.
    row.bar(arrived >= 500, "at least 500 datagrams arrive");
    Ok(row)
}

/// The sender's own interface falls from 10 Mbit/s to 100 kbit/s, so that its socket is full for
/// seconds: timers run and reports are read all the same.
fn full_socket(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("an interface of its own needs a network namespace"));
    }
    let far = Beyond::empty()?;
    let (here, there) = ("near-5", "far-5");
    let (near_address, far_address) = ("192.0.2.201", "192.0.2.202");
    run("ip", &["link", "add", here, "type", "veth", "peer", "name", there, "netns", &far.process()])?;
    run("ip", &["addr", "add", &format!("{near_address}/30"), "dev", here])?;
    run("ip", &["link", "set", here, "up"])?;
    far.run(&["ip", "addr", "add", &format!("{far_address}/30"), "dev", there])?;
    far.run(&["ip", "link", "set", there, "up"])?;
    let shape = |rate| {
        let limits = ["rate", rate, "burst", "3kb", "limit", "10mb"];
        run("tc", &[&["qdisc", "replace", "dev", here, "root", "tbf"], &limits[..]].concat())
    };
    shape("10mbit")?;
    let mut receiver =
        far.start(directory, "recv", &bench.binary, &bench.words(&["recv", "--bind", far_address, "-1"]))?;
    receiver.wait_for("listening")?;
    let arguments = ["send", far_address, "-b", "9M", "-t", "12s", "--json-stream"];
    let mut sender = bench.start(directory, "send", &arguments, Stream::Own, Stream::Own)?;
    sender.wait_for("connected")?;
    std::thread::sleep(std::time::Duration::from_secs(4));
    shape("100kbit")?;
    let sent = sender.end(SOON * 4);
    // What waits in the interface would come for minutes.
    receiver.signal(Signal::TERM);
    let received = receiver.end(SOON);
    let rtt = stream_mean(&sender.output(), "rtt_s", 6.0, 12.0);
    let output = sender.output();
    let records = output.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let late = records.filter(|record| record["t_s"].as_f64().is_some_and(|t| t > 3.5));
    let expired = late.filter(|record| record["event"] == "no_feedback").count();
    let mut row = CaseRow::new("the interface falls from 10 Mbit/s to 100 kbit/s; `send -t 12s`");
    row.saw(format!("sender {}, {:.1} s: “{}”", sent.how, sent.lasted.as_secs_f64(), sent.last));
    row.saw(format!("receiver {}: “{}”", received.how, received.last));
    row.honest = format!("R {:.0} ms, {expired} expiries of the no-feedback timer after the fall", rtt * 1e3);
    row.bar(!sent.crashed() && sent.lasted.as_secs() <= 20, "the sender ends within 8 s of its time");
    row.bar(expired > 0, "the no-feedback timer runs as the socket fills");
    row.bar(rtt >= 0.1, "reports are read while the socket is full");
    Ok(row)
}
