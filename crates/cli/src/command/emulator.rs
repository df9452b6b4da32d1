//! The emulator of `tfrc reproduce`: this program once more, as `tfrc emu --job`, for each run.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use tfrc_lab::emulated::{EmulatedRun, EmulationJob};

/// Runs a job in a process of its own. An interrupt from the terminal ends it too.
///
/// # Errors
/// The last lines that the process wrote to standard error.
pub(super) fn emulate(job: &EmulationJob) -> Result<EmulatedRun, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut child = Command::new(program)
        .args(["emu", "--job"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("tfrc emu: {error}"))?;
    let text = serde_json::to_string(job).map_err(|error| error.to_string())?;
    // A process that reads nothing says why on standard error.
    let told = child.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().map_err(|error| format!("tfrc emu: {error}"))?;
    if !output.status.success() {
        return Err(reason(&output));
    }
    if let Some(Err(error)) = told {
        return Err(format!("tfrc emu: {error}"));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the answer of tfrc emu: {error}"))
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

/// The release of the running kernel; empty where the system does not tell it.
pub(super) fn kernel_release() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease");
    release.map(|release| release.trim().to_owned()).unwrap_or_default()
}
