//! `tfrc reproduce`, as a user calls it, on experiments of a few simulated seconds.

use std::path::Path;
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = "duration = '4s'\nwarmup = '1s'\nnodes = ['a', 'b']\n\
    [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\ndelay = '10ms'\nqueue = '10p'\n\
    [[flow]]\nname = 'one'\nkind = 'cbr'\nrate = '100kbit/s'\nfrom = 'a'\nto = 'b'\n";

const EXPERIMENT: &str = "title = 'T'\nsource = 'S'\nmust_agree = true\ndeterministic = true\nkeys = { rate = ['flow.one.rate'] }\n\
    [run.one]\n[[cells]]\ncolumn = 'kbps'\nvalue = \"flow('one', 'send_rate_bps') / 1000\"\n";

/// Experiments `p/right` and `p/wrong`, of which the second does not agree.
fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, published) in [("right", "100"), ("wrong", "200")] {
        let at = dir.path().join("experiments/p").join(name);
        std::fs::create_dir_all(&at).expect("made");
        for (file, text) in [
            ("experiment.toml", EXPERIMENT.to_owned()),
            ("scenario.toml", SCENARIO.to_owned()),
            ("published.csv", format!("rate,kbps\n100kbit/s,{published}\n")),
        ] {
            std::fs::write(at.join(file), text).expect("written");
        }
    }
    dir
}

fn reproduce(at: &Path, args: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin!("tfrc"))
        .current_dir(at)
        .arg("reproduce")
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn the_exit_status_says_what_must_agree() {
    let dir = directory();
    let right = reproduce(dir.path(), &["p/right"]);
    assert_eq!(right.status.code(), Some(0), "{}", text(&right.stderr));
    assert!(
        text(&right.stdout).contains("agrees-with-print: print: 1 of 1 cells agree"),
        "{}",
        text(&right.stdout)
    );
    let all = reproduce(dir.path(), &["all", "--no-cache"]);
    assert_eq!(all.status.code(), Some(3));
    assert!(
        text(&all.stderr).contains("must agree with the print or with ns-2 and do not: p/wrong"),
        "{}",
        text(&all.stderr)
    );
    let unknown = reproduce(dir.path(), &["q"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("no experiment's id begins with `q`"));
    std::fs::remove_file(dir.path().join("experiments/p/right/published.csv")).expect("was there");
    let gone = reproduce(dir.path(), &["p/right"]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(text(&gone.stderr).contains("published.csv"), "{}", text(&gone.stderr));
}

#[test]
fn the_documents_keys() {
    let dir = directory();
    let output = reproduce(dir.path(), &["p", "-J"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let one = &document["experiments"][1];
    assert_eq!(one["id"], "p/wrong");
    assert_eq!((&one["source"], &one["verdict"]), (&"S".into(), &"disagrees".into()));
    let cell = one["cells"][0].as_object().expect("a cell");
    assert_eq!((&one["verdict_print"], &one["verdict_ns2"]), (&"disagrees".into(), &serde_json::Value::Null));
    for key in [
        "row",
        "column",
        "published",
        "ns2",
        "measured",
        "rfc_profile",
        "ci95",
        "ratio",
        "ratio_over",
        "verdict_print",
        "verdict_ns2",
        "verdict",
    ] {
        assert!(cell.contains_key(key), "{key}");
    }
    assert_eq!(cell["published"], 200.0);
    let ratio = cell["ratio"].as_f64().expect("a number");
    assert!((ratio - 0.5).abs() < 0.01, "{ratio}");
    let again = reproduce(dir.path(), &["p", "-J", "--jobs", "3", "--no-cache"]);
    assert_eq!(again.stdout, output.stdout, "the same bytes from the cache, and on three threads");
}

#[test]
fn the_list_and_the_report() {
    let dir = directory();
    let list = reproduce(dir.path(), &["list"]);
    assert_eq!(text(&list.stdout), "p/right  S: T *\np/wrong  S: T *\n* must agree\n");
    let out = reproduce(dir.path(), &["p/right", "--out", "report"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    for file in ["index.html", "results.json", "results.md", "p/right.csv"] {
        assert!(dir.path().join("report").join(file).exists(), "{file}");
    }
    let line = |out: &str, ids: &[&str]| {
        reproduce(dir.path(), &[ids, &["--out", out]].concat());
        let page = std::fs::read_to_string(dir.path().join(out).join("results.md")).expect("the page");
        page.lines().find(|line| line.contains("p/right")).map(str::to_owned).expect("its line")
    };
    assert_eq!(line("one", &["p/right"]), line("both", &["all"]), "a line depends on its experiment alone");
}

#[test]
fn a_figure_for_a_paper() {
    let dir = directory();
    let figure = |file: &str, ids: &[&str]| reproduce(dir.path(), &[ids, &["--figure", file]].concat());
    for (file, start) in [("a.svg", &b"<svg xmlns="[..]), ("a.pdf", b"%PDF-1."), ("a.PNG", b"\x89PNG")] {
        let output = figure(file, &["p/right"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let bytes = std::fs::read(dir.path().join(file)).expect("written");
        assert!(bytes.starts_with(start), "{file}");
    }
    let pdf = std::fs::read(dir.path().join("a.pdf")).expect("written");
    assert!(pdf.windows(9).any(|part| part == b"/FontFile"), "its text is in a font");
    for (file, ids, says) in [
        ("a.pdf", &["all"][..], "draws one experiment, and these are 2: p/right, p/wrong"),
        ("a.jpg", &["p/right"], "the file extension sets the format"),
        ("none/a.pdf", &["p/right"], "there is no folder none"),
    ] {
        let refused = figure(file, ids);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains(says), "{}", text(&refused.stderr));
    }
}

#[test]
fn shards_share_a_cache() {
    let dir = directory();
    for (shard, cache) in [("1/2", "a"), ("2/2", "b")] {
        let output = reproduce(dir.path(), &["all", "--shard", shard, "--cache", cache]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let joined = reproduce(dir.path(), &["p/right", "--cache", "c", "--cache", "a", "--cache", "b"]);
    assert_eq!(joined.status.code(), Some(0), "{}", text(&joined.stderr));
    assert!(!dir.path().join("c").exists(), "nothing had to be run");
}

/// The first Ctrl-C lets the runs in progress end, and what was measured is kept: the same command
/// goes on from there.
#[test]
#[cfg(unix)]
fn interrupted_and_taken_up_again() {
    let dir = directory();
    let at = dir.path().join("experiments/p/right");
    std::fs::write(at.join("scenario.toml"), SCENARIO.replace("'4s'", "'20000s'")).expect("written");
    let rows: String = (1..=400).map(|n| format!("{n}kbit/s,{n}\n")).collect();
    std::fs::write(at.join("published.csv"), format!("rate,kbps\n{rows}")).expect("written");
    let long = ["p/right", "--jobs", "1", "--cache", "kept", "--out", "report"];
    let child = Command::new(assert_cmd::cargo::cargo_bin!("tfrc"))
        .current_dir(dir.path())
        .arg("reproduce")
        .args(long)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // The first run kept says that the signals are watched by now.
    while !dir.path().join("kept").exists() {
        std::thread::yield_now();
    }
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(told.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the same command goes on from here"), "{}", text(&output.stderr));
    let page =
        std::fs::read_to_string(dir.path().join("report/results.md")).expect("a report of what there is");
    assert!(page.contains("interrupted"), "{page}");
    let kept = |dir: &Path| walk(&dir.join("kept"));
    let before = kept(dir.path());
    assert!((1..800).contains(&before), "{before} runs were kept");

    std::fs::write(at.join("published.csv"), "rate,kbps\n1kbit/s,1\n").expect("written");
    let again = reproduce(dir.path(), &["p/right", "--cache", "kept"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert!(kept(dir.path()) >= before, "nothing that was kept is lost");
}

/// Counts the files below a directory.
fn walk(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir).map(|list| list.flatten().collect::<Vec<_>>()).unwrap_or_default();
    entries.iter().map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { 1 }).sum()
}
