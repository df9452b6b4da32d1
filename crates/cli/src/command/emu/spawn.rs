//! Emulated runs for `tfrc reproduce`: each in a process of its own, which makes its namespaces.

use std::io::Write;
use std::process::{Command, Stdio};

use tfrc_lab::emulated::{EmulatedRun, EmulationJob};

/// Runs a job in a process of its own.
///
/// # Errors
/// A sentence: what that process said, or why it could not be run.
pub fn emulate(job: &EmulationJob) -> Result<EmulatedRun, String> {
    let text = serde_json::to_string(job).map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut child = Command::new(program)
        .args(["emu", "--job"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("tfrc emu: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A child that has ended says below why.
        drop(stdin.write_all(text.as_bytes()));
    }
    let output = child.wait_with_output().map_err(|error| format!("tfrc emu: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().strip_prefix("error: ").unwrap_or(said.trim()).to_owned();
        return Err(if said.is_empty() { format!("tfrc emu: {}", output.status) } else { said });
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the result of tfrc emu: {error}"))
}
