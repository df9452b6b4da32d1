//! The built command, as a user calls it.

use std::process::{Command, Output, Stdio};

fn tfrc(args: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin!("tfrc"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn json(output: &Output) -> serde_json::Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn number(document: &serde_json::Value, key: &str) -> f64 {
    document[key].as_f64().expect(key)
}

#[test]
fn equation_prints_the_rate() {
    for flag in ["--json", "-J"] {
        let answer = json(&tfrc(&["equation", "--rtt", "100ms", "-s", "1500B", "-p", "0.01", flag]));
        assert!((number(&answer, "rate_bps") / 1_347_986.812_355_915_8 - 1.0).abs() < 1e-12);
        assert!((number(&answer, "p") - 0.01).abs() < 1e-15);
        assert!((number(&answer, "rtt_s") - 0.1).abs() < 1e-15);
        assert!((number(&answer, "rto_s") - 0.4).abs() < 1e-15);
        assert_eq!(answer["segment_bytes"], 1500);
        assert_eq!(answer["schema_version"], 1);
        assert_eq!(answer.as_object().map(serde_json::Map::len), Some(6));
    }
}

#[test]
fn equation_finds_the_loss_event_rate() {
    let line = ["equation", "--rtt", "100ms", "-s", "1500B", "--rate", "1347986.8123559158bit/s", "--json"];
    let answer = json(&tfrc(&line));
    assert!((number(&answer, "p") / 0.01 - 1.0).abs() < 1e-9);
}

#[test]
fn equation_speaks_to_people_on_stdout() {
    let output = tfrc(&["equation", "--rtt", "100ms", "-s", "1500B", "-p", "1%"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
    assert!(text(&output.stdout).contains("11.2 per round-trip time"));
}

#[test]
fn impossible_arguments_are_status_2_with_a_hint_on_stderr() {
    for (line, hint) in [
        ("equation --rtt 100ms -p 0", "above 0 and at most 1"),
        ("equation --rtt 100ms -p -0.1", "a probability"),
        ("equation --rtt 100ms -p 1.5", "a probability"),
        ("equation --rtt 100ms -p nan", "a probability"),
        ("equation --rtt 0 -p 0.01", "a time above zero"),
        ("equation --rtt 0.1ns -p 0.01", "a time above zero"),
        ("equation --rtt 100parsec -p 0.01", "a time, such as 250ms"),
        ("equation --rtt 100ms -s 0 -p 0.01", "a size above zero"),
        ("equation --rtt 100ms -s 1km -p 0.01", "a size, such as"),
        ("equation --rtt 100ms --rto 0s -p 0.01", "a time above zero"),
        ("equation --rtt 100ms --rate 0", "a rate above zero"),
        ("equation --rtt 100ms --rate 3furlongs", "a rate, such as"),
        ("equation --rtt 100ms --rate 1bit/s", "the least rate is"),
        ("equation --rtt 100ms -p 0.01 --rate 1M", "cannot be used with"),
        ("equation --rtt 100ms", "required"),
        ("equation -p 0.01", "--rtt"),
        ("completions tcsh", "bash"),
        ("equatoin", "equation"),
    ] {
        let output = tfrc(&line.split(' ').collect::<Vec<_>>());
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{line}: {err}");
        assert!(out.is_empty(), "{line}: {out}");
        assert!(err.contains(hint), "{line}: no {hint:?} in {err}");
    }
}

#[test]
fn help_and_version_are_fine() {
    let version = tfrc(&["--version"]);
    assert_eq!(version.status.code(), Some(0));
    assert_eq!(text(&version.stdout), concat!("tfrc ", env!("CARGO_PKG_VERSION"), "\n"));
    for line in [&["--help"][..], &["-h"], &["equation", "--help"]] {
        let help = tfrc(line);
        assert_eq!(help.status.code(), Some(0));
        assert!(text(&help.stdout).contains("Usage: tfrc"));
    }
    assert_eq!(tfrc(&[]).status.code(), Some(2));
}

#[test]
fn every_shell_has_its_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = tfrc(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("equation"), "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_for_every_subcommand() {
    let dir = tempfile::tempdir().expect("a directory");
    let man1 = dir.path().join("share/man1");
    let output = tfrc(&["man", man1.to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut pages: Vec<String> = std::fs::read_dir(&man1)
        .expect("the directory was made")
        .map(|entry| entry.expect("entry").file_name().into_string().expect("text"))
        .collect();
    pages.sort_unstable();
    for page in ["tfrc.1", "tfrc-completions.1", "tfrc-equation.1", "tfrc-man.1"] {
        assert!(pages.iter().any(|p| p == page), "{page} in {pages:?}");
    }
    let page = std::fs::read_to_string(man1.join("tfrc-equation.1")).expect("page");
    assert!(page.contains(".TH") && page.contains("\\-\\-rtt"));

    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("a file");
    assert_eq!(tfrc(&["man", file.to_str().expect("text")]).status.code(), Some(1));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for line in [&["completions", "bash"][..], &["equation", "--rtt", "1s", "-p", "0.1", "-J"], &["--help"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = Command::new(assert_cmd::cargo::cargo_bin!("tfrc"))
            .args(line)
            .stdout(writer)
            .output()
            .expect("the command starts");
        assert_eq!(output.status.code(), Some(0), "{line:?}");
        assert_eq!(text(&output.stderr), "", "{line:?}");
    }
}

/// A promise that the user's own cap breaks. Nobody has to answer for that.
#[test]
fn a_cap_below_the_guarantee_is_refused() {
    let line = ["send", "127.0.0.1:9", "-n", "1kB", "-b", "400k", "--guarantee", "500k", "--dscp", "af11"];
    let output = tfrc(&line);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("cannot be kept below a cap") && err.contains("hint: use -b"), "{err}");
}

/// design: a guarantee without a mark is refused unless the circuit breaker is on. Nobody has to
/// answer for that.
#[test]
fn a_guarantee_without_mark_and_circuit_breaker_is_refused() {
    let base = ["send", "127.0.0.1:9", "-n", "1kB", "--guarantee", "500k", "--circuit-breaker", "off"];
    for dscp in [&[][..], &["--dscp", "cs0"], &["--dscp", "ef"]] {
        let output = tfrc(&[&base[..], dscp].concat());
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(output.stdout.is_empty());
        assert!(err.contains("uncontrolled UDP") && err.contains("hint: add --dscp af11"), "{err}");
    }
    for line in ["send h --guarantee 0", "send h --dscp af14", "send h --guarantee-threshold 2"] {
        assert_eq!(tfrc(&line.split(' ').collect::<Vec<_>>()).status.code(), Some(2), "{line}");
    }
}

/// A program without QUIC does not offer private sessions; with it, it does.
#[test]
fn only_who_has_private_sessions_offers_them() {
    for line in [&["send", "--help"][..], &["send", "--help-all"], &["recv", "--help"], &["stream", "--help"]]
    {
        let help = text(&tfrc(line).stdout);
        for option in ["--quic", "--peer-key"] {
            assert_eq!(help.contains(option), cfg!(feature = "quic"), "{line:?}: {option}");
        }
    }
}

/// A program without QUIC knows the option, and says how to have it.
#[cfg(not(feature = "quic"))]
#[test]
fn a_private_session_needs_quic() {
    for line in [&["send", "localhost", "--quic"][..], &["recv", "--quic", "-p", "0"]] {
        let output = tfrc(line);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("built without QUIC") && said.contains("--features quic"), "{said}");
    }
}
