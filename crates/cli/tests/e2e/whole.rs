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
    pub(crate) fn command(&self, settings: &str, args: &[&str]) -> Command {
        let mut command = tfrc(args);
        command.env("XDG_CONFIG_HOME", self.place.file(settings));
        if self.quic {
            command.arg("--quic");
        }
        command
    }

    /// A receiver, its address, and the arguments by which a sender knows it.
    pub(crate) fn recv(&self, args: &[&str]) -> (Program, String, Vec<String>) {
        self.listen(&[&["recv"], args].concat())
    }

    /// A program that listens, its address, and the arguments by which the other end knows it.
    pub(crate) fn listen(&self, args: &[&str]) -> (Program, String, Vec<String>) {
        let args = [args, &["--bind", "127.0.0.1", "-p", "0", "--json"]].concat();
        let mut program = Program::start(self.command("listener", &args));
        let line = program.wait_for("listening on");
        let address = line.rsplit(' ').next().expect("an address").to_owned();
        if !self.quic {
            return (program, address, Vec::new());
        }
        let line = program.wait_for("--peer-key");
        let mut words = line.split_whitespace().skip_while(|word| *word != "--peer-key");
        let key = words.nth(1).expect("a key").to_owned();
        (program, address, vec!["--peer-key".to_owned(), key])
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

/// Does something for each case, all at once: sessions wait for their paths most of the time.
pub(crate) fn at_once<T: Send>(cases: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(|| check(case));
        }
    });
}

/// Each of these over DCCP and over QUIC.
pub(crate) fn of_both<T: Copy, const N: usize>(cases: [T; N]) -> impl Iterator<Item = (bool, T)> {
    both().into_iter().flat_map(move |quic| cases.map(|case| (quic, case)))
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

/// Holes are meant by a way that is no file, by a sender that drops what is late or ends at a time:
/// bytes behind one move up.
#[test]
fn holes_that_are_meant_are_counted_alone() {
    for quic in both() {
        let place = Place::new();
        let ends = Ends { place: &place, quic };
        let from = place.write("in", noise(FILE));
        let file = ["-f", &*from];
        let cases: [(&[&str], &[&str], bool); 4] = [
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

/// Either end says `--lossy`: each byte that came is in its place, and the receiver names the
/// holes.
#[test]
fn holes_that_are_meant_stay_in_their_place() {
    at_once(of_both([(true, false), (false, true), (true, true)]), |(quic, (recv, send))| {
        let place = Place::new();
        let ends = Ends { place: &place, quic };
        let content = noise(FILE);
        let (from, to) = (place.write("in", &content), place.file("out"));
        let lossy = |is: bool| if is { vec!["--lossy"] } else { vec![] };
        let recv = [vec!["-o", &to], lossy(recv)].concat();
        let send = [vec!["-f", &from], lossy(send)].concat();
        let (sender, receiver) = ends.session("3%", &recv, &send, Stdio::null());
        let (sent, got) =
            (ended(&sender, 0, &["complete: "]), ended(&receiver, 0, &["complete: ", " in holes"]));
        for summary in [&sent, &got] {
            assert_eq!((summary.file_bytes, summary.repaired_bytes), (Some(600_000), None));
            assert_eq!(summary.missing_bytes, summary.received_bytes.map(|bytes| 600_000 - bytes));
        }
        let holes = got.holes.expect("named");
        assert!(sent.holes.is_none() && !holes.is_empty(), "{sent:?}");
        assert_eq!(got.missing_bytes, Some(holes.iter().map(|[_, length]| length).sum()));
        let mut expected = content;
        for [offset, length] in holes {
            let at = usize::try_from(offset).expect("small");
            expected[at..at + usize::try_from(length).expect("small")].fill(0);
        }
        assert!(std::fs::read(&to).expect("named") == expected, "{quic} {recv:?} {send:?}");
    });
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
    let cases = [
        ("made", made, &[][..], false),
        ("removed", removed, &[], false),
        ("exchanged", exchanged, &[], false),
        ("exchanged for good", exchanged, &["--overwrite"], false),
        ("moved", moved, &[], true),
    ];
    at_once(of_both(cases), |(quic, (name, change, args, whole))| {
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
    });
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
