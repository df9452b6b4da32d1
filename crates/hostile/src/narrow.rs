//! Paths that carry less than their first link does: three network namespaces, the second link
//! narrow, with the router's messages about it and without them.

use std::path::Path;

use super::engine::{Bench, Case, CaseRow, Ground, Load};
use super::namespace::run;
use super::program::{SOON, Stream};
use super::veth::Beyond;

/// The cases of this file.
pub(crate) const CASES: [Case; 4] = [
    Case::new("pmtu-1300", Load::Waiting, |b, d| narrow(b, d, 1, 1300, Icmp::Passes)),
    Case::new("pmtu-1300-silent", Load::Waiting, |b, d| narrow(b, d, 2, 1300, Icmp::Dropped)),
    Case::new("pmtu-900", Load::Waiting, |b, d| narrow(b, d, 3, 900, Icmp::Passes)),
    Case::new("pmtu-900-silent", Load::Waiting, |b, d| narrow(b, d, 4, 900, Icmp::Dropped)),
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
    let mut receiver = far.start(directory, "recv", &bench.binary, &arguments)?;
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
