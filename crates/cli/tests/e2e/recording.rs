//! Files of `send` and `recv`: recordings and the report of `send` never replace anything unasked,
//! and a journal is its owner's.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::e2e::network::{Place, recv, send};
use crate::e2e::program::run;

#[test]
fn one_file_is_not_named_twice() {
    let place = Place::new();
    let (data, new) = (place.write("data", "precious"), place.file("new"));
    let link = place.file("link");
    std::os::unix::fs::symlink(&data, &link).expect("linked");
    for args in [
        vec!["-f", &data, "--pcap", &data],
        vec!["-f", &data, "--journal", &link],
        vec!["-f", &link, "--report", &data],
        vec!["--pcap", &new, "--journal", &new],
        vec!["--pcap", &new, "--report", &new],
    ] {
        for overwrite in [&[][..], &["--overwrite"]] {
            let refused = run([&["send", "127.0.0.1:9"], &args[..], overwrite].concat());
            assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", refused.stderr);
            assert!(refused.stderr.contains("name this file"), "{}", refused.stderr);
        }
    }
    assert_eq!(std::fs::read(&data).expect("there"), b"precious");
    assert!(!std::path::Path::new(&new).exists());
}

#[test]
fn standard_input_is_a_file_too() {
    let place = Place::new();
    let data = place.write("data", "precious");
    let input = std::fs::File::open(&data).expect("there");
    let refused = send("127.0.0.1:9", &["-f", "-", "--pcap", &data, "--overwrite"], input.into()).end();
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
    assert_eq!(std::fs::read(&data).expect("there"), b"precious");
}

#[test]
fn recordings_replace_nothing_unasked_and_a_journal_is_private() {
    let place = Place::new();
    let files = ["journal", "pcap", "report"].map(|name| place.write(name, "of before"));
    let [journal, pcap, report] = &files;
    let mode = |path: &str| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    std::fs::set_permissions(journal, std::fs::Permissions::from_mode(0o644)).expect("ours");
    for option in [["--journal", journal], ["--pcap", pcap], ["--report", report]] {
        let refused = run([&["send", "127.0.0.1:9"], &option[..]].concat());
        assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains("exists already"), "{}", refused.stderr);
    }
    for file in &files {
        assert_eq!(std::fs::read(file).expect("there"), b"of before");
    }
    let new = place.file("new");
    for args in [
        vec!["--journal", journal, "--pcap", pcap, "--report", report, "--overwrite"],
        vec!["--journal", &new],
    ] {
        let (receiver, address) = recv(&["-1"]);
        send(&address, &[&["-n", "20kB"], &args[..]].concat(), Stdio::null()).succeed();
        receiver.succeed();
    }
    assert_eq!((mode(journal), mode(&new)), (0o600, 0o600));
    for journal in [journal, &new] {
        assert_eq!(run(["replay", journal]).status.code(), Some(0));
    }
    assert!(std::fs::read_to_string(report).expect("there").starts_with("<!doctype html>"));
    assert!(std::fs::read(pcap).expect("there").starts_with(&[0x4D, 0x3C, 0xB2, 0xA1]));
}

/// A client that brings nothing is no page; time series have every connection.
#[test]
fn a_receiver_writes_a_page_and_time_series() {
    let place = Place::new();
    let [page, series, data] = ["page.html", "series.csv", "data"].map(|name| place.file(name));
    let (mut receiver, address) = recv(&["-o", &data, "--report", &page, "--series", &series]);
    let mut nothing = send(&address, &["-f", "-"], Stdio::piped());
    let pipe = nothing.stdin();
    nothing.wait_for("connected");
    nothing.signal("INT");
    nothing.succeed();
    drop(pipe);
    receiver.wait_for("without sending anything");
    send(&address, &["-n", "200kB", "-b", "4M"], Stdio::null()).succeed();
    let said = receiver.succeed().stderr;
    assert_eq!(said.matches("report written to").count(), 1, "{said}");
    let page = std::fs::read_to_string(&page).expect("a page");
    assert!(page.contains("200 kB received from 127.0.0.1:"), "{page}");
    let series = std::fs::read_to_string(&series).expect("time series");
    let mut flows: Vec<&str> = series.lines().skip(1).filter_map(|line| line.split(',').nth(2)).collect();
    assert!(flows.len() > 4 && series.starts_with("run,point,flow,link,t_s,"), "{series}");
    flows.dedup();
    assert!(flows.iter().all(|flow| flow.starts_with("127.0.0.1:")) && flows.len() <= 2, "{flows:?}");
    for (args, says) in [
        (&["--report", "page.html"][..], "--report draws one connection"),
        (&["-o", &data, "--overwrite", "--series", &data], "name this file"),
    ] {
        let refused = run([&["recv", "--bind", "127.0.0.1", "-p", "0"], args].concat());
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(says), "{args:?}: {}", refused.stderr);
    }
}
