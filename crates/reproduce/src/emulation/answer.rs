//! One emulated run: from the cache, or from the emulator.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::EmulationResult;
use crate::runner::Hooks;
use tfrc_lab::cache::Cache;
use tfrc_lab::emulated::{EmulatedRun, EmulatedWorld, EmulationJob};

/// Tries of a run whose fidelity is outside of its limits.
const TRIES: u32 = 2;

/// Answer to a job, as the cache keeps it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) run: EmulatedRun,
    day: String,
    revision: Option<String>,
}

impl Kept {
    /// Where and when it was done.
    pub(crate) fn about(&self) -> EmulationResult {
        EmulationResult {
            kernel: self.run.kernel.clone(),
            days: [self.day.clone(), self.day.clone()],
            revision: self.revision.clone(),
            fidelity: None,
        }
    }
}

/// The answer to a job: the cache's, or that of the emulator, which is asked once more if the
/// fidelity is outside of its limits.
pub(crate) fn answer(job: &EmulationJob, cache: Option<&Cache>, hooks: &Hooks<'_>) -> Result<Kept, String> {
    let Some(EmulatedWorld { emulator, release, revision }) = hooks.emulated else {
        return Err("failed: this program cannot emulate".to_owned());
    };
    let key = key(job, release);
    match cache.map(|cache| cache.text(&key)) {
        Some(Ok(Some(text))) => {
            if let Ok(kept) = serde_json::from_str(&text) {
                return Ok(kept);
            }
        }
        Some(Err(why)) => (hooks.warn)(&why),
        Some(Ok(None)) | None => {}
    }
    let mut violations = Vec::new();
    for _ in 0..TRIES {
        let run = emulator(job).map_err(|why| format!("failed: {why}"))?;
        violations = run.fidelity.violations();
        if violations.is_empty() {
            let kept = Kept { run, day: today(), revision: revision.clone() };
            if let Some(cache) = cache
                && let Err(error) = cache.put_text(&key, &serde_json::json!(kept).to_string())
            {
                (hooks.warn)(&format!("a result cannot be kept: {error}"));
            }
            return Ok(kept);
        }
    }
    Err(format!("invalid: {}", violations.join(", ")))
}

/// Everything except the program that determines a run: the world, the kernel and the job, wherever
/// its file is.
pub(crate) fn key(job: &EmulationJob, release: &str) -> String {
    let job = EmulationJob { name: String::new(), folder: PathBuf::new(), ..job.clone() };
    format!("emulated\nLinux {release}\n{}", serde_json::json!(job))
}

/// The day in UTC, `YYYY-MM-DD`.
fn today() -> String {
    jiff::Timestamp::now().strftime("%F").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_lab::recording::{LinkFlows, Looks};

    #[test]
    fn a_key_has_the_traces_and_not_the_place() {
        let job = EmulationJob {
            name: "a".to_owned(),
            text: "duration = '1s'".to_owned(),
            folder: PathBuf::from("here"),
            traces: None,
            set: Vec::new(),
            seed: 1,
            looks: Looks::None,
            link_flows: LinkFlows::None,
        };
        let plain = key(&job, "6");
        assert!(!plain.contains("folder") && !plain.contains("traces"), "{plain}");
        assert_eq!(key(&EmulationJob { folder: PathBuf::from("there"), ..job.clone() }, "6"), plain);
        assert_ne!(key(&EmulationJob { traces: Some(1), ..job }, "6"), plain);
    }
}
