//! The emulator of `tfrc reproduce`: this program once more, as `tfrc emu --job`, for each run.

use std::fs;
use std::io;
use std::process::{Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tfrc_lab::emulated::{EmulatedRun, EmulationJob};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use crate::interrupt::Interrupt;

/// Runs a job in a process of its own, which an interrupt of this one ends.
///
/// # Errors
/// The last lines that the process wrote to standard error.
pub(super) fn emulate(job: &EmulationJob, interrupt: &Interrupt) -> Result<EmulatedRun, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("tfrc emu: {error}"))?;
    let output = runtime.block_on(answer(job, interrupt.clone()))?;
    if !output.status.success() {
        return Err(reason(&output));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the answer of tfrc emu: {error}"))
}

/// The output of the process, which gets the job on its standard input.
async fn answer(job: &EmulationJob, mut interrupt: Interrupt) -> Result<Output, String> {
    let told = |error: io::Error| format!("tfrc emu: {error}");
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut child = Command::new(program)
        .args(["emu", "--job"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(told)?;
    let end = ending(&child);
    let text = serde_json::to_string(job).map_err(|error| error.to_string())?;
    let work = async {
        if let Some(mut stdin) = child.stdin.take() {
            // A process that reads nothing says why on standard error.
            let _ = stdin.write_all(text.as_bytes()).await;
        }
        child.wait_with_output().await
    };
    tokio::pin!(work);
    let output = tokio::select! {
        output = &mut work => output,
        () = interrupt.wished() => {
            end();
            work.await
        }
    };
    output.map_err(told)
}

/// Asks the process to end.
fn ending(child: &Child) -> impl Fn() + use<> {
    let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
    move || {
        // An error means that it has ended already.
        let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
    }
}

/// The reason that a process gave, in one line.
fn reason(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [] => format!("tfrc emu: {}", output.status),
        lines => lines.join(" "),
    }
}

/// The release of the running kernel; empty where the system does not report it.
pub(super) fn kernel_release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease");
    release.map(|release| release.trim().to_owned()).unwrap_or_default()
}
