//! `recv -o`: when a file appears, which stay, and who may write.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::e2e::network::{Place, noise, recv, send};
use crate::e2e::program::{Program, run, tfrc};

/// The exit status and the words of a `recv` that ends by itself.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let finished = run([&["recv", "--bind", "127.0.0.1", "-p", "0"], args].concat());
    assert!(finished.stdout.is_empty());
    (finished.status.code(), finished.stderr)
}

#[test]
fn a_second_start_in_the_middle_of_a_transfer_harms_nothing() {
    let place = Place::new();
    // 20 s, of which the second start waits 3 s for the port.
    let content = noise(2_500_000);
    let (from, to) = (place.write("in", &content), place.file("out"));
    let part = format!("{to}.part");
    let (mut receiver, address) = recv(&["-o", &to]);
    let port = address.rsplit(':').next().expect("a port").to_owned();
    let sender = send(&address, &["-f", &from, "-b", "1M"], Stdio::null());
    receiver.wait_for("1.0 s");
    assert!(!Path::new(&to).exists() && Path::new(&part).exists());
    // The same command: the port is taken.
    let same = run(["recv", "--bind", "127.0.0.1", "-p", &port, "-o", &to, "--overwrite"]);
    assert_eq!(same.status.code(), Some(1), "{}", same.stderr);
    assert!(same.stderr.contains(&address), "{}", same.stderr);
    for overwrite in [&[][..], &["--overwrite"]] {
        // Another port: the file in the making is locked.
        let (status, words) = refused(&[&["-o", &to], overwrite].concat());
        assert!(status == Some(2) && words.contains("another tfrc recv is writing to it"), "{words}");
    }
    sender.succeed();
    let words = receiver.succeed().stderr;
    assert!(words.contains("complete: ") && words.contains("out holds 2,500,000 bytes"), "{words}");
    assert!(std::fs::read(&to).expect("there") == content, "the file has changed on the way");
    assert!(!Path::new(&part).exists());
    // Run again, it touches nothing.
    let (status, words) = refused(&["-o", &to]);
    assert!(
        status == Some(2) && words.contains("exists already") && words.contains("--overwrite"),
        "{words}"
    );
    assert!(std::fs::read(&to).expect("there") == content);
}

#[test]
fn a_receiver_that_cannot_listen_touches_no_file() {
    let place = Place::new();
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port().to_string();
    let (old, new) = (place.write("old", "precious"), place.file("new"));
    for args in [vec!["-o", &old, "--overwrite"], vec!["-o", &old, "--append"], vec!["-o", &new]] {
        let finished = run([&["recv", "--bind", "127.0.0.1", "-p", &port], &args[..]].concat());
        assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
    }
    assert_eq!(std::fs::read(&old).expect("there"), b"precious");
    let names = std::fs::read_dir(Path::new(&old).parent().expect("a folder")).expect("readable").count();
    assert_eq!(names, 1, "nothing but the old file");
}

#[test]
fn overwrite_replaces_only_when_the_new_file_is_complete() {
    let place = Place::new();
    let content = noise(50_000);
    let (from, to) = (place.write("in", &content), place.write("out", "old"));
    for arguments in [&["-1", "-o", &to, "--overwrite"][..], &["-o", &to, "--overwrite"]] {
        let (receiver, _) = recv(arguments);
        receiver.signal("TERM");
        let ended = receiver.end();
        assert_eq!(ended.status.code(), Some(1), "{}", ended.stderr);
        assert_eq!(std::fs::read(&to).expect("there"), b"old");
    }
    assert!(!Path::new(&format!("{to}.part")).exists(), "nothing came, nothing is left");
    let (receiver, address) = recv(&["-1", "-o", &to, "--overwrite"]);
    send(&address, &["-f", &from], Stdio::null()).succeed();
    receiver.succeed();
    assert!(std::fs::read(&to).expect("there") == content);
}

/// A receiver killed in the middle leaves its part; its successor on the same port is asked about
/// it.
#[test]
fn a_part_left_over_is_named_and_kept() {
    let place = Place::new();
    let (from, to) = (place.write("in", noise(2_000_000)), place.file("out"));
    let part = format!("{to}.part");
    let (mut receiver, address) = recv(&["-o", &to]);
    let port = address.rsplit(':').next().expect("a port").to_owned();
    let sender = send(&address, &["-f", &from, "-b", "1M"], Stdio::null());
    receiver.wait_for("1.0 s");
    receiver.signal("KILL");
    assert_eq!(receiver.end().status.code(), None);
    let held = std::fs::metadata(&part).expect("left").len();
    assert!(held > 0);
    let (status, words) = refused(&["-o", &to]);
    assert!(status == Some(2) && words.contains("left over from an earlier run"), "{words}");
    assert_eq!(std::fs::metadata(&part).expect("left").len(), held);
    // The successor knows nothing of the session.
    let mut command = tfrc(["recv", "--bind", "127.0.0.1", "-p", &port, "-o", &to, "--overwrite"]);
    let mut successor = Program::start(std::mem::replace(&mut command, tfrc(["--version"])));
    successor.wait_for("listening on");
    let sender = sender.end();
    assert_eq!(sender.status.code(), Some(1), "{}", sender.stderr);
    // A successor that took more than five seconds to start came too late.
    let reasons = ["failed: the peer knows nothing of this session", "failed: the receiver is gone"];
    assert!(reasons.iter().any(|reason| sender.stderr.contains(reason)), "{}", sender.stderr);
    successor.signal("INT");
    assert_eq!(successor.end().status.code(), Some(1), "there is no FILE");
    assert!(!Path::new(&part).exists() && !Path::new(&to).exists());
}

#[test]
fn a_fifo_without_a_reader_is_waited_for_and_can_be_interrupted() {
    let place = Place::new();
    let fifo = place.file("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo starts").success());
    for (args, status) in [(vec!["-o", &fifo], 0), (vec!["-o", &fifo, "-1"], 1)] {
        let (mut receiver, _) = recv(&args);
        receiver.wait_for("waiting for a reader");
        receiver.signal("INT");
        let ended = receiver.end();
        assert_eq!(ended.status.code(), Some(status), "{}", ended.stderr);
    }
    let content = noise(100_000);
    let from = place.write("in", &content);
    let (mut receiver, address) = recv(&["-o", &fifo]);
    receiver.wait_for("waiting for a reader");
    let path = fifo.clone();
    let reader = std::thread::spawn(move || std::fs::read(path).expect("readable"));
    send(&address, &["-f", &from, "-b", "20M"], Stdio::null()).succeed();
    receiver.succeed();
    assert!(reader.join().expect("read") == content);
    assert!(!Path::new(&format!("{fifo}.part")).exists());
}

#[test]
fn a_file_takes_one_connection() {
    let place = Place::new();
    let content = noise(30_000);
    let (from, to) = (place.write("in", &content), place.file("out"));
    let (receiver, address) = recv(&["-o", &to]);
    let mut first = send(&address, &["-f", "-"], Stdio::piped());
    let mut pipe = first.stdin();
    std::io::Write::write_all(&mut pipe, &content).expect("read");
    first.wait_for("connected");
    let second = send(&address, &["-f", &from], Stdio::null()).end();
    assert!(second.status.code() == Some(1) && second.stderr.contains("busy"), "{}", second.stderr);
    drop(pipe);
    first.succeed();
    receiver.succeed();
    assert!(std::fs::read(&to).expect("there") == content);
}
