//! A file of which bytes are missing: what both ends say of it, over DCCP and over QUIC, and that a
//! file has its place before the sender hears so.

use std::path::Path;
use std::process::{Command, Stdio};

use tfrc_report::record::{Outcome, Summary};

use crate::e2e::network::{Place, link, noise};
use crate::e2e::program::{Finished, Program, tfrc};

/// Bytes of the file.
const FILE: usize = 600_000;

/// A session between two ends in this place, over DCCP or over QUIC.
pub(crate) struct Ends<'a> {
    pub(crate) place: &'a Place,
    pub(crate) quic: bool,
}

impl Ends<'_> {
    fn command(&self, settings: &str, args: &[&str]) -> Command {
        let mut command = tfrc(args);
        command.env("XDG_CONFIG_HOME", self.place.file(settings));
        if self.quic {
            command.arg("--quic");
        }
        command
    }

    /// A receiver, its address, and the arguments by which a sender knows it.
    pub(crate) fn recv(&self, args: &[&str]) -> (Program, String, Vec<String>) {
        let args = [&["recv", "--bind", "127.0.0.1", "-p", "0", "--json"], args].concat();
        let mut receiver = Program::start(self.command("receiver", &args));
        let line = receiver.wait_for("listening on");
        let address = line.rsplit(' ').next().expect("an address").to_owned();
        if !self.quic {
            return (receiver, address, Vec::new());
        }
        let line = receiver.wait_for("--peer-key");
        let mut words = line.split_whitespace().skip_while(|word| *word != "--peer-key");
        let key = words.nth(1).expect("a key").to_owned();
        (receiver, address, vec!["--peer-key".to_owned(), key])
    }

    pub(crate) fn send(&self, to: &str, key: &[String], args: &[&str], stdin: Stdio) -> Program {
        let mut command = self.command("sender", &[&["send", to, "--json"], args].concat());
        command.args(key).stdin(stdin);
        Program::start(command)
    }

    /// The ends of a sender and a receiver with a path of this `loss` between them.
    fn session(&self, loss: &str, recv: &[&str], send: &[&str], stdin: Stdio) -> (Finished, Finished) {
        let path = format!("rate = \"20Mbit/s\"\ndelay = \"5ms\"\nqueue = \"100p\"\nloss = \"{loss}\"");
        self.session_over(&path, recv, send, stdin)
    }

    /// The ends of a sender and a receiver with this link between them.
    pub(crate) fn session_over(
        &self,
        path: &str,
        recv: &[&str],
        send: &[&str],
        stdin: Stdio,
    ) -> (Finished, Finished) {
        let (receiver, address, key) = self.recv(&[&["-1"], recv].concat());
        let (relay, entrance) = link(&self.place.one_link(path), &address);
        let sender = self.send(&entrance, &key, send, stdin).end();
        let receiver = receiver.end();
        relay.signal("INT");
        relay.succeed();
        (sender, receiver)
    }
}

/// DCCP and QUIC.
pub(crate) fn both() -> [bool; 2] {
    [false, true]
}

#[track_caller]
fn ended(finished: &Finished, status: i32, words: &[&str]) -> Summary {
    let last = finished.stderr.lines().rev().find(|line| !line.starts_with("error")).unwrap_or_default();
    assert_eq!(finished.status.code(), Some(status), "{}", finished.stderr);
    for word in words {
        assert!(last.contains(word), "no {word:?} in the last line of\n{}", finished.stderr);
    }
    finished.json()
}

/// A file that is appended to is not repaired: bytes that are missing make it no success.
#[test]
fn a_file_that_lost_bytes_is_not_whole() {
    for quic in both() {
        let place = Place::new();
        let ends = Ends { place: &place, quic };
        let (from, to) = (place.write("in", noise(FILE)), place.file("out"));
        let (sender, receiver) = ends.session("3%", &["-o", &to, "--append"], &["-f", &from], Stdio::null());
        let words = ["failed: not whole: ", " of 600,000 bytes missing; ", " lost on the way"];
        let (sent, got) = (ended(&sender, 1, &words), ended(&receiver, 1, &words));
        for summary in [&sent, &got] {
            assert_eq!((summary.outcome, summary.file_bytes), (Some(Outcome::Failed), Some(600_000)));
            assert_eq!(summary.missing_bytes, summary.received_bytes.map(|bytes| 600_000 - bytes));
            assert!(summary.missing_bytes > Some(0) && summary.repaired_bytes.is_none());
        }
        let held = std::fs::metadata(&to).expect("kept").len();
        assert!(got.received_bytes == Some(held));
    }
}

/// Holes are meant: by one end, by both, by a way that is no file, by a sender that drops what is
/// late or ends at a time.
#[test]
fn holes_that_are_meant_are_counted_alone() {
    for quic in both() {
        let place = Place::new();
        let ends = Ends { place: &place, quic };
        let from = place.write("in", noise(FILE));
        let file = ["-f", &*from];
        let cases: [(&[&str], &[&str], bool); 6] = [
            (&["--lossy"], &file, true),
            (&[], &["-f", &from, "--lossy"], true),
            (&[], &["-f", &from, "--deadline", "1min"], true),
            (&[], &["-f", &from, "-t", "1min"], true),
            (&[], &["-f", "-"], true),
            (&[], &file, false),
        ];
        for (n, (recv, send, writes)) in cases.into_iter().enumerate() {
            let to = place.file(&format!("out-{n}"));
            let out: &[&str] = if writes { &["-o", &to] } else { &[] };
            let stdin = if send.contains(&"-") {
                let mut cat = Command::new("cat").arg(&from).stdout(Stdio::piped()).spawn().expect("cat");
                let pipe = cat.stdout.take().expect("a pipe");
                std::thread::spawn(move || cat.wait());
                pipe.into()
            } else {
                Stdio::null()
            };
            let (sender, receiver) = ends.session("3%", &[out, recv].concat(), send, stdin);
            let (sent, got) = (ended(&sender, 0, &["complete: "]), ended(&receiver, 0, &["complete: "]));
            assert!(sent.lost_packets > Some(0) && sent.lost_packets == got.lost_packets, "{n} {sent:?}");
            assert_eq!(got.missing_bytes, None, "{n}");
            if writes {
                let length = std::fs::metadata(&to).expect("named").len();
                assert!(got.received_bytes == Some(length) && length < 600_000, "{n}");
            }
        }
    }
}

/// A sender that is interrupted has not sent its file, and both ends say so.
#[test]
fn a_file_is_not_whole_if_its_sender_was_interrupted() {
    for (quic, lossy) in [(false, false), (true, false), (false, true)] {
        let place = Place::new();
        let ends = Ends { place: &place, quic };
        let (from, to) = (place.write("in", noise(20_000_000)), place.file("out"));
        let (mut receiver, address, key) = ends.recv(&["-o", &to]);
        let meant: &[&str] = if lossy { &["--lossy"] } else { &[] };
        let args = [&["-f", &from, "-b", "2M"], meant].concat();
        let sender = ends.send(&address, &key, &args, Stdio::null());
        receiver.wait_for("goodput");
        sender.signal("INT");
        let (sender, receiver) = (sender.end(), receiver.end());
        if lossy {
            ended(&sender, 0, &["stopped: interrupted"]);
            ended(&receiver, 0, &["complete: "]);
            assert!(Path::new(&to).exists());
            continue;
        }
        let sent =
            ended(&sender, 1, &["failed: not whole: ", " of 20,000,000 bytes missing; ", "interrupted"]);
        let got = ended(&receiver, 1, &["failed: not whole: the sender ended before", "out.part holds "]);
        assert_eq!((sent.received_bytes, sent.file_bytes), (got.received_bytes, Some(20_000_000)));
        assert!(!Path::new(&to).exists() && Path::new(&format!("{to}.part")).exists());
    }
}

/// Somebody changes the folder while the data comes: no end says complete of a file that is not
/// there, and nothing of somebody else's gets its name.
#[test]
fn no_sender_hears_of_a_place_that_the_file_has_not_got() {
    type Change = fn(&Path);
    let made: Change = |to| std::fs::write(to, "theirs").expect("written");
    let removed: Change = |to| std::fs::remove_file(to.with_extension("part")).expect("removed");
    let exchanged: Change = |to| {
        std::fs::remove_file(to.with_extension("part")).expect("removed");
        std::fs::write(to.with_extension("part"), "theirs").expect("written");
    };
    let moved: Change =
        |to| std::fs::rename(to.with_extension("part"), to.with_extension("away")).expect("moved");
    for quic in both() {
        for (name, change, args, whole) in [
            ("made", made, &[][..], false),
            ("removed", removed, &[], false),
            ("exchanged", exchanged, &[], false),
            ("exchanged for good", exchanged, &["--overwrite"], false),
            ("moved", moved, &[], true),
        ] {
            let place = Place::new();
            let ends = Ends { place: &place, quic };
            let content = noise(FILE);
            let (from, to) = (place.write("in", &content), place.file("out"));
            let (mut receiver, address, key) = ends.recv(&[&["-o", &to], args].concat());
            let sender = ends.send(&address, &key, &["-f", &from, "-b", "2M"], Stdio::null());
            receiver.wait_for("goodput");
            change(Path::new(&to));
            let (sender, receiver) = (sender.end(), receiver.end());
            let read = std::fs::read(&to).ok();
            if whole {
                ended(&sender, 0, &["complete: "]);
                ended(&receiver, 0, &["complete: "]);
                assert!(read.is_some_and(|read| read == content), "{name}");
            } else {
                ended(&sender, 1, &["failed: the receiver cannot write its output"]);
                ended(&receiver, 1, &["failed: "]);
                assert!(read.is_none_or(|read| read == b"theirs"), "{name}");
            }
        }
    }
}

/// With `--append` the file must still be the one that was opened.
#[test]
fn what_is_appended_to_must_still_be_there() {
    let place = Place::new();
    let ends = Ends { place: &place, quic: false };
    let (from, to) = (place.write("in", noise(FILE)), place.file("out"));
    let (mut receiver, address, key) = ends.recv(&["-o", &to, "--append", "-1"]);
    let sender = ends.send(&address, &key, &["-f", &from, "-b", "2M"], Stdio::null());
    receiver.wait_for("goodput");
    std::fs::remove_file(&to).expect("there");
    ended(&sender.end(), 1, &["failed: the receiver cannot write its output"]);
    ended(&receiver.end(), 1, &["is not the file that was written"]);
}
