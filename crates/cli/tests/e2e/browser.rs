//! The page of a run, opened in a real browser.

use std::process::Stdio;

use crate::e2e::network::{Place, end_link, link, recv, scenario, send};
use crate::e2e::program::{Program, other};

/// Opens a page from disk: the document after its scripts have run, and what the console said.
fn open(place: &Place, page: &str) -> (String, Vec<String>) {
    let mut chromium = other("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]);
    chromium.args([
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--disable-dev-shm-usage",
    ]);
    chromium.args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000", "--dump-dom"]);
    chromium.arg(format!("--user-data-dir={}", place.file("profile"))).arg(format!("file://{page}"));
    let finished = Program::start(chromium).succeed();
    let console =
        finished.stderr.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    (finished.text().to_owned(), console)
}

#[test]
fn the_page_of_a_run_draws_its_charts_without_a_complaint() {
    let place = Place::new();
    let page = place.file("run.html");
    let (receiver, address) = recv(&["-1"]);
    let (relay, entrance) = link(&scenario("bottleneck.toml"), &address);
    send(&entrance, &["-n", "400kB", "--report", &page], Stdio::null()).succeed();
    receiver.succeed();
    end_link(relay);
    let written = std::fs::read_to_string(&page).expect("written");
    assert!(!written.contains("<canvas"), "canvases are the script's work");

    let (document, console) = open(&place, &page);
    assert!(console.is_empty(), "{console:#?}");
    let count = |what: &str| document.matches(what).count();
    assert!(count("<figure ") >= 3, "allowed rate, loss event rate, round-trip time at least");
    assert_eq!(count("<canvas"), count("<figure "), "a canvas for each chart");
    assert!(count("<table") >= 1);
}

/// A check of the check: a page that complains is noticed.
#[test]
fn a_complaint_of_a_page_is_heard() {
    let place = Place::new();
    let page = place.write(
        "bad.html",
        "<!doctype html><title>x</title><script>console.error('alas'); absent();</script>",
    );
    let (_, console) = open(&place, &page);
    assert!(console.iter().any(|line| line.contains("alas")), "{console:?}");
    assert!(console.iter().any(|line| line.contains("absent is not defined")), "{console:?}");
}
