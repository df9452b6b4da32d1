//! Receivers, links and senders put together, and what their summaries must agree on.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tfrc_report::record::Summary;

use crate::e2e::program::{Program, tfrc};

/// Bytes of data in a packet, unless `-l` says otherwise.
pub(crate) const LENGTH: u64 = 1316;

/// A scenario of the repository.
pub(crate) fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name)
}

/// A directory that goes away with the test, and a name in it.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    /// The path of a file in it, as text.
    pub(crate) fn file(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("text").to_owned()
    }

    /// A file in it with this content.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.file(name);
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// A scenario of one link, of which `link` gives the keys that follow `from` and `to`.
    pub(crate) fn one_link(&self, link: &str) -> PathBuf {
        self.seeded_link(7, link)
    }

    /// A scenario of one link, as [`Self::one_link`] writes it, with a seed.
    pub(crate) fn seeded_link(&self, seed: u64, link: &str) -> PathBuf {
        let text = format!(
            "duration = \"60s\"\nseed = {seed}\nnodes = [\"near\", \"far\"]\n\n[[link]]\nfrom = \"near\"\nto = \"far\"\n{link}\n"
        );
        PathBuf::from(self.write("link.toml", text))
    }
}

/// Bytes without a pattern a mistake could hide in: a multiplicative generator's upper bits.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&(state >> 32).to_le_bytes()[..4]);
    }
    bytes.truncate(length);
    bytes
}

/// Starts `tfrc recv` on a free port of the loopback interface; where it listens.
pub(crate) fn recv(args: &[&str]) -> (Program, String) {
    recv_into(args, Stdio::piped())
}

/// Starts it with this standard output.
pub(crate) fn recv_into(args: &[&str], output: Stdio) -> (Program, String) {
    let mut command = tfrc(["recv", "--bind", "127.0.0.1", "-p", "0"]);
    command.args(args);
    let mut program = Program::start_writing(command, output);
    let line = program.wait_for("listening on");
    let address = line.rsplit(' ').next().expect("an address").to_owned();
    (program, address)
}

/// Starts `tfrc link` in front of `to`; where it listens.
pub(crate) fn link(scenario: &Path, to: &str) -> (Program, String) {
    let mut command = tfrc(["link", "--listen", "127.0.0.1:0", "--json", "--to", to]);
    command.arg(scenario);
    let mut program = Program::start(command);
    let line = program.wait_for("relaying");
    let address = line.split(' ').nth(1).expect("an address").to_owned();
    (program, address)
}

/// Packets of each way that a link lost or had no room for, and that arrived at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) arrived: u64,
    pub(crate) dropped: u64,
}

/// Ends `tfrc link` and reads its counters: the way there, the way back.
pub(crate) fn end_link(link: Program) -> (Passed, Passed) {
    link.signal("INT");
    let document: serde_json::Value = link.succeed().json();
    let way = |i: usize| {
        let count =
            |key: &str| document["links"][i][key].as_u64().unwrap_or_else(|| panic!("{key} in {document}"));
        Passed {
            arrived: count("arrived_packets"),
            dropped: count("lost_packets") + count("overflowed_packets"),
        }
    };
    (way(0), way(1))
}

/// Starts `tfrc send` to this address, with `stdin` as its standard input.
pub(crate) fn send(to: &str, args: &[&str], stdin: Stdio) -> Program {
    let mut command = tfrc(["send", to]);
    command.args(args).stdin(stdin);
    Program::start(command)
}

/// Summaries of both ends of a session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) sender: Summary,
    pub(crate) receiver: Summary,
}

/// `tfrc recv -1 --json` and `tfrc send --json` with more arguments each, the sender aiming at
/// `through(receiver)`.
pub(crate) fn session(
    recv_args: &[&str],
    send_args: &[&str],
    through: impl FnOnce(&str) -> String,
) -> Session {
    let (receiver, address) = recv(&[&["-1", "--json"], recv_args].concat());
    let sender = send(&through(&address), &[&["--json"], send_args].concat(), Stdio::null()).succeed().json();
    let receiver = receiver.succeed().json();
    let session = Session { sender, receiver };
    session.check();
    session
}

/// A session over a link of this scenario, with the link's own counters of the two ways.
pub(crate) fn session_over(
    scenario: &Path,
    recv_args: &[&str],
    send_args: &[&str],
) -> (Session, Passed, Passed) {
    let mut relay = None;
    let session = session(recv_args, send_args, |receiver| {
        let (program, address) = link(scenario, receiver);
        relay = Some(program);
        address
    });
    let (there, back) = end_link(relay.expect("started"));
    (session, there, back)
}

impl Session {
    /// Both ends say the same of every packet, and every packet is received, late or lost.
    fn check(&self) {
        let counts = |s: &Summary| {
            let all = (s.sent_packets, s.received_packets, s.lost_packets, s.late_packets, s.received_bytes);
            assert_eq!(
                all.0.expect("sent"),
                all.1.expect("received") + all.2.expect("lost") + all.3.expect("late"),
                "{self:?}"
            );
            all
        };
        assert_eq!(counts(&self.sender), counts(&self.receiver), "{self:?}");
        assert_eq!(self.sender.loss_event_rate, self.receiver.loss_event_rate);
        assert_eq!(self.sender.packet_loss_rate, self.receiver.packet_loss_rate);
    }

    /// Packets sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sender.sent_packets.expect("known")
    }

    /// Packets lost.
    pub(crate) fn lost(&self) -> u64 {
        self.sender.lost_packets.expect("known")
    }
}
