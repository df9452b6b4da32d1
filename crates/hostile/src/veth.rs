//! Forged ICMP messages by the hundred thousand at a transfer between two network namespaces, over
//! a veth pair.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::engine::{Bench, Case, CaseRow, Form, Ground, Load};
use super::honest::{self, TransferPlan};
use super::icmp::{Forger, LEAST_DATAGRAM, port_of};
use super::namespace::run;
use super::program::{Program, SOON, Stream};
use super::stranger::pace;

/// The cases of this file.
pub(crate) const CASES: [Case; 2] = [
    Case::new("veth-icmp4", Load::Busy, |bench, directory| {
        transfer(bench, directory, &Family { name: "4", near: "192.0.2.1", far: "192.0.2.2", bits: "24" })
    }),
    Case::new("veth-icmp6", Load::Busy, |bench, directory| {
        transfer(
            bench,
            directory,
            &Family { name: "6", near: "2001:db8:7::1", far: "2001:db8:7::2", bits: "64" },
        )
    }),
];

/// Messages a second at each end: two attackers and a transfer share two processors.
const PER_SECOND: u64 = 10_000;
/// Bits a second of the transfer.
const CAP: u64 = 5_000_000;
/// The receiver's UDP port.
const PORT: u16 = 6511;

/// Addresses of one IP version (documentation prefixes of RFC 5737 and RFC 3849).
struct Family {
    name: &'static str,
    near: &'static str,
    far: &'static str,
    bits: &'static str,
}

/// A network namespace of a process that sleeps; it goes with the process.
pub(crate) struct Beyond(Child);

impl Beyond {
    /// Makes the namespace, with nothing in it but a loopback interface.
    pub(crate) fn empty() -> Result<Self, String> {
        let child = Command::new("unshare")
            .args(["--net", "sleep", "infinity"])
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| format!("unshare: {error}"))?;
        let beyond = Self(child);
        let process = beyond.process();
        let own = std::fs::read_link("/proc/self/ns/net").map_err(|error| error.to_string())?;
        let begin = Instant::now();
        while std::fs::read_link(format!("/proc/{process}/ns/net")).is_ok_and(|its| its == own) {
            if begin.elapsed() > SOON {
                return Err("no second network namespace".to_owned());
            }
            thread::sleep(Duration::from_millis(5));
        }
        beyond.run(&["ip", "link", "set", "lo", "up"])?;
        Ok(beyond)
    }

    /// Makes the namespace and a veth pair into it.
    fn make(family: &Family) -> Result<Self, String> {
        let beyond = Self::empty()?;
        let (near, far) = (format!("near{}", family.name), format!("far{}", family.name));
        let (here, there) =
            (format!("{}/{}", family.near, family.bits), format!("{}/{}", family.far, family.bits));
        run("ip", &["link", "add", &near, "type", "veth", "peer", "name", &far, "netns", &beyond.process()])?;
        // Only IPv6 knows duplicate address detection, whose wait nobody needs here.
        let nodad: &[&str] = if family.name == "6" { &["nodad"] } else { &[] };
        run("ip", &[&["addr", "add", &here, "dev", &near], nodad].concat())?;
        run("ip", &["link", "set", &near, "up"])?;
        beyond.run(&[&["ip", "addr", "add", &there, "dev", &far], nodad].concat())?;
        beyond.run(&["ip", "link", "set", &far, "up"])?;
        Ok(beyond)
    }

    /// The process whose namespace it is.
    pub(crate) fn process(&self) -> String {
        self.0.id().to_string()
    }

    /// The words before a command that is to run there.
    fn enter(&self) -> [String; 4] {
        ["--target".to_owned(), self.0.id().to_string(), "--net".to_owned(), "--".to_owned()]
    }

    /// Runs a command there to its end.
    pub(crate) fn run(&self, command: &[&str]) -> Result<(), String> {
        let enter = self.enter();
        run("nsenter", &[enter.each_ref().map(String::as_str).as_slice(), command].concat())
    }

    /// Starts a program there.
    pub(crate) fn start(
        &self,
        directory: &Path,
        label: &str,
        binary: &Path,
        arguments: &[&str],
    ) -> Result<Program, String> {
        let (enter, binary) = (self.enter(), binary.to_string_lossy());
        let words = [enter.each_ref().map(String::as_str).as_slice(), &[&binary], arguments].concat();
        Program::start(Path::new("nsenter"), directory, label, &words, Stream::Own, Stream::Own)
    }
}

impl Drop for Beyond {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A transfer between the namespaces, with an attacker at each end.
fn transfer(bench: &Bench, directory: &Path, family: &Family) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        let mut row = CaseRow::skipped("a veth pair needs network namespaces");
        row.bar(bench.form == Form::Short, "only the short form may leave this out");
        return Ok(row);
    }
    // Half of the messages for each IP version, half of those at each end.
    let each = bench.messages / 4;
    let seconds = each / PER_SECOND + 2;
    let bytes = usize::try_from(CAP / 8 * seconds).map_err(|error| error.to_string())?;
    let beyond = Beyond::make(family)?;
    let (port, file) = (PORT.to_string(), directory.join("out"));
    let arguments = ["recv", "--bind", family.far, "-p", &port, "-1", "-o", &file.to_string_lossy()];
    let mut receiver = beyond.start(directory, "recv", &bench.binary, &bench.words(&arguments))?;
    receiver.wait_for("listening")?;
    let host = if family.name == "6" { format!("[{}]", family.far) } else { family.far.to_owned() };
    let source = honest::input(directory, bytes)?;
    let plan = TransferPlan { bytes, cap: "5M", send: &["--json"], ..TransferPlan::USUAL };
    let begin = Instant::now();
    let mut sender = honest::send(bench, directory, &format!("{host}:{PORT}"), &source, &plan)?;
    let near = port_of(&mut sender)?;
    // The attacker of the sender sits beyond, that of the receiver here: both kinds of messages
    // cross the pair. By this name it is found even if somebody builds it anew meanwhile.
    let myself = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    let (target, peer) = (address(family.near, near)?.to_string(), address(family.far, PORT)?.to_string());
    let words = ["forge", &target, &peer, &each.to_string()];
    let mut attacker = beyond.start(directory, "attacker", &myself, &words)?;
    let (forged, ended) = thread::scope(|scope| -> Result<_, String> {
        let forger = Forger::new(address(family.far, PORT)?.ip(), address(family.near, near)?.ip())?;
        let forging = scope.spawn(move || forge(&forger, (PORT, near), each));
        let ended = sender.end(Duration::from_secs(seconds * 3 + 20));
        Ok((forging.join().unwrap_or_default(), ended))
    })?;
    let time = begin.elapsed();
    let attack = attacker.end(SOON);
    let received = receiver.end(SOON);
    let mut row = CaseRow::new(format!(
        "{each} ICMPv{} errors at the sender, {forged} at the receiver, {PER_SECOND}/s each, right addresses and ports",
        family.name
    ));
    let summary: serde_json::Value = serde_json::from_str(&sender.output()).unwrap_or_default();
    let longest = summary["max_datagram_bytes"].as_u64().unwrap_or_default();
    row.saw(format!(
        "datagrams of {longest} bytes, {} lost of {}",
        summary["lost_packets"], summary["sent_packets"]
    ));
    row.saw(format!("receiver {}", received.how));
    row.bar(attack.is(0), format!("the attacker beyond sends its messages ({} {})", attack.how, attack.last));
    row.bar(longest >= LEAST_DATAGRAM, format!("datagrams of at least {LEAST_DATAGRAM} bytes"));
    row.bar(received.is(0), format!("receiver: exit 0 ({})", received.last));
    let transfer = honest::finish(ended, time, &source, &file);
    transfer.judge_against(bench, Duration::from_secs(seconds), &mut row);
    Ok(row)
}

/// Sends `count` messages of all kinds, [`PER_SECOND`] a second; gives how many.
fn forge(forger: &Forger, ports: (u16, u16), count: u64) -> u64 {
    let begin = Instant::now();
    let mut sent = 0;
    for (number, kind) in (1..=count).zip(forger.kinds().iter().cycle()) {
        forger.send(*kind, ports.0, ports.1);
        sent = number;
        if number.is_multiple_of(50) {
            pace(begin, number, PER_SECOND);
        }
    }
    sent
}

fn address(text: &str, port: u16) -> Result<SocketAddr, String> {
    text.parse().map(|ip| SocketAddr::new(ip, port)).map_err(|error| format!("{text}: {error}"))
}

/// The command line of the attacker in another namespace.
#[derive(Debug, clap::Args)]
pub(crate) struct Forgery {
    /// Address of the end that is attacked
    target: SocketAddr,
    /// Address of its peer, which the messages quote
    peer: SocketAddr,
    /// Number of messages
    count: u64,
}

impl Forgery {
    /// Sends the messages.
    pub(crate) fn run(&self) -> Result<(), String> {
        let forger = Forger::new(self.target.ip(), self.peer.ip())?;
        forge(&forger, (self.target.port(), self.peer.port()), self.count);
        Ok(())
    }
}
