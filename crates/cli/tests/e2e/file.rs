//! Files that arrive whole over bad paths: what is lost is sent again, over DCCP and over QUIC, and
//! what a peer of 0.2.0 gets, which knows nothing of that.

use std::path::Path;
use std::process::{Command, Stdio};

use tfrc_report::record::{Outcome, Summary};
use tfrc_session::{Common, Endpoint, Listen, Options, Recordings, Tally, connect_any};

use crate::e2e::network::{Place, link, noise, recv, send};
use crate::e2e::program::{Finished, Program};
use crate::e2e::whole::{Ends, at_once, both, of_both};

#[track_caller]
fn whole(finished: &Finished, length: usize) -> Summary {
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    let last = finished.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("complete: the file is whole: "), "{}", finished.stderr);
    let summary: Summary = finished.json();
    let length = Some(u64::try_from(length).expect("small"));
    assert_eq!((summary.file_bytes, summary.received_bytes), (length, length), "{summary:?}");
    assert_eq!((summary.outcome, summary.missing_bytes), (Some(Outcome::Complete), Some(0)));
    summary
}

/// Sends a file of this length over a path, and compares it.
#[track_caller]
fn arrives(quic: bool, length: usize, path: &str, args: &[&str]) -> (Summary, Summary) {
    let place = Place::new();
    let ends = Ends { place: &place, quic };
    let content = noise(length);
    let (from, to) = (place.write("in", &content), place.file("out"));
    let path = format!("rate = \"20Mbit/s\"\ndelay = \"5ms\"\nqueue = \"100p\"\n{path}");
    let send = [&["-f", &from], args].concat();
    let (sender, receiver) = ends.session_over(&path, &["-o", &to], &send, Stdio::null());
    let (sent, got) = (whole(&sender, length), whole(&receiver, length));
    assert!(std::fs::read(&to).expect("named") == content, "the file has changed on the way");
    assert!(!Path::new(&format!("{to}.part")).exists());
    let again = sent.repaired_bytes.expect("a file");
    // Of the first pass, too, what comes behind the first question fills a gap.
    let late = path.contains("reorder");
    assert!(late || got.repaired_bytes <= Some(again), "{sent:?} {got:?}");
    assert_eq!(sent.sent_bytes, sent.file_bytes.map(|length| length + again));
    (sent, got)
}

#[test]
fn a_file_is_whole_at_any_loss() {
    let losses = [("0%", 300_000), ("1%", 3_000_000), ("5%", 200_000), ("20%", 100_000)];
    at_once(of_both(losses), |(quic, (loss, length))| {
        // Of the words of both ends, too.
        let path = format!("loss = \"{loss}\"\nreverse = {{ loss = \"{loss}\" }}");
        let (sent, _) = arrives(quic, length, &path, &[]);
        assert_eq!(sent.repaired_bytes > Some(0), loss != "0%", "{loss} {sent:?}");
    });
}

#[test]
fn short_files_are_whole() {
    at_once(of_both([0, 1, 1316, 1317]), |(quic, length)| {
        arrives(quic, length, "loss = \"10%\"", &[]);
    });
}

/// A fifth of the packets is late, by up to three of them; some come twice.
#[test]
fn disorder_and_copies_leave_a_file_as_it_was() {
    for quic in both() {
        let path = "loss = \"1%\"\nreorder = { share = \"20%\", extra = \"2ms\" }\nduplicate = \"2%\"";
        arrives(quic, 600_000, path, &[]);
    }
}

/// The link loses half of its rate, and then all of it for a second.
#[test]
fn a_halved_and_an_absent_link_leave_a_file_as_it_was() {
    for quic in both() {
        let changes = [
            "{ at = \"300ms\", rate = \"10Mbit/s\" }",
            "{ at = \"600ms\", loss = \"100%\" }",
            "{ at = \"1600ms\", loss = \"0%\" }",
        ];
        let (sent, _) = arrives(quic, 1_500_000, &format!("changes = [{}]", changes.join(", ")), &[]);
        assert!(sent.repaired_bytes > Some(0), "{sent:?}");
    }
}

/// Of a file that is sent in part, that part is whole.
#[test]
fn the_beginning_of_a_file_is_whole() {
    let place = Place::new();
    let ends = Ends { place: &place, quic: false };
    let content = noise(300_000);
    let (from, to) = (place.write("in", &content), place.file("out"));
    let path = "rate = \"20Mbit/s\"\ndelay = \"5ms\"\nloss = \"3%\"";
    let (sender, receiver) =
        ends.session_over(path, &["-o", &to], &["-f", &from, "-n", "200kB"], Stdio::null());
    whole(&sender, 200_000);
    whole(&receiver, 200_000);
    assert!(std::fs::read(&to).expect("named") == content[..200_000]);
}

/// With `-R` the sender listens; the file goes to who acknowledges its beginning.
#[test]
fn a_file_that_is_fetched_is_whole() {
    at_once(of_both([(0, "0%"), (1, "10%"), (600_000, "3%")]), |(quic, (length, loss))| {
        let place = Place::new();
        let ends = Ends { place: &place, quic };
        let content = noise(length);
        let (from, to) = (place.write("in", &content), place.file("out"));
        let (sender, address, key) = ends.listen(&["send", "-R", "-f", &from]);
        let path = format!(
            "rate = \"20Mbit/s\"\ndelay = \"5ms\"\nloss = \"{loss}\"\nreverse = {{ loss = \"{loss}\" }}"
        );
        let (relay, entrance) = link(&place.one_link(&path), &address);
        let mut fetch = ends.command("receiver", &["recv", "--from", &entrance, "-o", &to, "--json"]);
        fetch.args(key);
        let receiver = Program::start(fetch).end();
        let sender = sender.end();
        relay.signal("INT");
        relay.succeed();
        whole(&receiver, length);
        whole(&sender, length);
        assert!(std::fs::read(&to).expect("named") == content, "{length}");
    });
}

/// A pipe is read to its end first; each connection of a pattern has its file.
#[test]
fn a_pipe_that_ends_is_whole_and_so_is_each_of_many() {
    let place = Place::new();
    let content = noise(200_000);
    let from = place.write("in", &content);
    let ends = Ends { place: &place, quic: false };
    let mut cat = Command::new("cat").arg(&from).stdout(Stdio::piped()).spawn().expect("cat");
    let pipe = cat.stdout.take().expect("a pipe");
    let to = place.file("out");
    let path = "rate = \"20Mbit/s\"\ndelay = \"5ms\"\nloss = \"3%\"";
    let (sender, receiver) = ends.session_over(path, &["-o", &to], &["-f", "-", "--whole"], pipe.into());
    assert!(cat.wait().expect("it ends").success());
    whole(&sender, content.len());
    whole(&receiver, content.len());
    assert!(std::fs::read(&to).expect("named") == content);

    let name = place.file("in-%n");
    let (receiver, address) = recv(&["-o", &name]);
    let (relay, entrance) = link(&place.one_link(path), &address);
    let senders: Vec<_> = (0..2).map(|_| send(&entrance, &["-f", &from, "--json"], Stdio::null())).collect();
    for sender in senders {
        whole(&sender.end(), content.len());
    }
    for program in [relay, receiver] {
        program.signal("INT");
        program.succeed();
    }
    for n in ["1", "2"] {
        assert!(std::fs::read(name.replace("%n", n)).expect("named") == content, "{n}");
    }
}

fn old(greeting: &str, accept: Listen) -> Options {
    let common = Common { greeting: greeting.to_owned(), accept, ..Common::default() };
    Options { common, ..Options::default() }
}

/// A peer of 0.2.0 sends and gets the bytes of the file, and nothing else.
#[test]
fn a_peer_that_repairs_nothing_is_served_as_it_was() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    let (place, content) = (Place::new(), noise(20_000));
    let (from, to) = (place.write("in", &content), place.file("out"));
    let received = runtime.block_on(async {
        let listening =
            Endpoint::bind(([127, 0, 0, 1], 0).into(), &old("receives", Listen::One)).expect("a port");
        let address = listening.local_addr().to_string();
        let sender = send(&address, &["-f", &from], Stdio::null());
        let connection = listening.accept().await.expect("a sender");
        let mut received = Vec::new();
        while let Some(datagram) = connection.recv().await {
            received.extend(datagram.bytes);
        }
        assert_eq!(connection.peer_closing_text().as_deref(), Some("file 20000"));
        let counts = Tally { received: 16, bytes: 20_000, ..Tally::default() };
        connection.accept_close(&counts.to_string()).await.expect("closed");
        let sender = tokio::task::spawn_blocking(|| sender.end()).await.expect("no panic");
        assert_eq!(sender.status.code(), Some(0), "{}", sender.stderr);
        assert!(sender.stderr.contains("complete: all of 16 datagrams sent"), "{}", sender.stderr);
        received
    });
    assert!(received == content);

    let (receiver, address) = recv(&["-o", &to]);
    runtime.block_on(async {
        let at = [address.parse().expect("an address")];
        let options = old("sends", Listen::Refuse);
        let (_endpoint, connection) =
            connect_any(&at, &options, Recordings::default()).await.expect("it listens");
        for datagram in content.chunks(1316) {
            connection.send(datagram.to_vec()).await.expect("open");
        }
        connection.set_closing_text("file 20000");
        let text = connection.close().await.and_then(|closed| closed.text).expect("counts");
        assert_eq!(text.parse().map(|tally: Tally| (tally.bytes, tally.trouble)), Ok((20_000, None)));
    });
    let receiver = receiver.succeed();
    assert!(
        receiver.stderr.contains("complete: the sender closed after 16 datagrams"),
        "{}",
        receiver.stderr
    );
    assert!(std::fs::read(&to).expect("named") == content);
}

/// A file that changes while it is sent is not whole, and both ends say so.
#[test]
fn a_file_that_changes_meanwhile_is_found_out() {
    let place = Place::new();
    let ends = Ends { place: &place, quic: false };
    let (from, to) = (place.write("in", noise(2_000_000)), place.file("out"));
    let (mut receiver, address, key) = ends.recv(&["-o", &to]);
    // Every tenth packet is lost: bytes of the beginning are read again at the end.
    let path = place.one_link("rate = \"20Mbit/s\"\ndelay = \"5ms\"\nloss = \"10%\"");
    let (relay, entrance) = link(&path, &address);
    let sender = ends.send(&entrance, &key, &["-f", &from, "-b", "4M"], Stdio::null());
    receiver.wait_for("goodput");
    let file = std::fs::OpenOptions::new().write(true).open(&from).expect("ours");
    std::os::unix::fs::FileExt::write_all_at(&file, &[0; 200_000], 0).expect("written");
    let (sender, receiver) = (sender.end(), receiver.end());
    relay.signal("INT");
    relay.succeed();
    for end in [&sender, &receiver] {
        assert_eq!(end.status.code(), Some(1), "{}", end.stderr);
        assert!(end.stderr.contains("the file changed while it was sent"), "{}", end.stderr);
    }
    assert!(!Path::new(&to).exists() && Path::new(&format!("{to}.part")).exists());
}

/// Bytes that are on the disk by this map.
fn on_disk(map: &str) -> u64 {
    let ranges = map.lines().filter_map(|line| {
        let (start, end) = line.split_once(' ')?;
        Some(end.parse::<u64>().ok()? - start.parse::<u64>().ok()?)
    });
    ranges.sum()
}

/// Either end is killed, again and again: each session brings only what was not on the disk, and
/// another file under the name is found out.
#[test]
fn a_file_goes_on_where_it_stood() {
    let place = Place::new();
    let content = noise(3_000_000);
    let (from, to) = (place.write("in", &content), place.file("out"));
    let other = place.write("other", noise(3_000_100));
    let (mut kept, mut last) = (0, None);
    for (kill, rate) in [("sender", "4M"), ("receiver", "4M"), ("none", "40M")] {
        let (mut receiver, address) = recv(&["-1", "-o", &to, "--resume", "--silence", "1s", "--json"]);
        let sender = send(&address, &["-f", &from, "--resume", "-b", rate, "--json"], Stdio::null());
        if kill == "none" {
            let got = whole(&receiver.end(), content.len());
            last = Some((whole(&sender.end(), content.len()), got));
            break;
        }
        receiver.wait_for("2.0 s");
        let (killed, left) = if kill == "sender" { (sender, receiver) } else { (receiver, sender) };
        killed.signal("KILL");
        killed.end();
        if kill == "receiver" {
            left.signal("KILL");
        }
        left.end();
        let map = std::fs::read_to_string(format!("{to}.part.map")).expect("kept");
        assert!(map.starts_with("tfrc map 1\n") && !Path::new(&to).exists(), "{map}");
        let bytes = on_disk(&map);
        assert!(bytes >= kept && bytes < 3_000_000, "{bytes} of {kept}\n{map}");
        kept = bytes;
        if kill == "sender" {
            let (receiver, address) = recv(&["-1", "-o", &to, "--resume"]);
            send(&address, &["-f", &other, "--resume"], Stdio::null()).end();
            let receiver = receiver.end();
            assert!(receiver.status.code() == Some(1), "{}", receiver.stderr);
            assert!(receiver.stderr.contains("not whole: the hash differs"), "{}", receiver.stderr);
        }
    }
    let (sent, _) = last.expect("the last one");
    assert!(std::fs::read(&to).expect("named") == content);
    // Only what the map did not say is sent again.
    let again = sent.repaired_bytes.expect("a file");
    assert!(kept > 0 && sent.sent_bytes == Some(3_000_000 - kept + again), "{kept} {sent:?}");
    assert!(!Path::new(&format!("{to}.part.map")).exists());
}
