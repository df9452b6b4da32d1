//! Ctrl-C, sent as a real signal to a process of its own: this test's own program, started a second
//! time.
#![cfg(unix)]
#![expect(clippy::disallowed_macros, reason = "the second process speaks to the first on standard error")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use tfrc_cli::interrupt::Interrupt;

const ROLE: &str = "TFRC_TEST_INTERRUPT";

/// In the second process: a run that ends on the first wish, or one that hangs in spite of it.
fn play(role: &str) {
    let mut interrupt = Interrupt::install().expect("signals can be watched");
    assert!(!interrupt.is_wished());
    eprintln!("ready");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(interrupt.wished());
    assert!(interrupt.is_wished());
    if role == "hangs" {
        loop {
            std::thread::park();
        }
    }
}

fn start(test: &str, role: &str) -> (Child, impl FnMut(&str)) {
    let mut child = Command::new(std::env::current_exe().expect("a program"))
        .args(["--exact", test, "--nocapture"])
        .env(ROLE, role)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let wait_for = move |wanted: &str| {
        assert!(
            lines.any(|line| line.expect("text").contains(wanted)),
            "the process ended without {wanted:?}"
        );
    };
    (child, wait_for)
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &pid]).status().expect("kill starts").success());
}

#[test]
fn the_first_ends_the_run_and_the_second_aborts() {
    if let Ok(role) = std::env::var(ROLE) {
        return play(&role);
    }
    let name = "interrupt::the_first_ends_the_run_and_the_second_aborts";
    for (first, role) in [("INT", "ends"), ("TERM", "ends")] {
        let (mut child, mut wait_for) = start(name, role);
        wait_for("ready");
        signal(&child, first);
        wait_for("ending");
        assert_eq!(child.wait().expect("it ends").code(), Some(0), "{first}");
    }
    let (mut child, mut wait_for) = start(name, "hangs");
    wait_for("ready");
    signal(&child, "INT");
    wait_for("ending");
    signal(&child, "INT");
    wait_for("aborted");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
}
