//! Cost of a run in time and memory.

use std::time::Instant;

use tfrc_report::document::Timing;

pub(super) struct Stopwatch {
    wall: Instant,
    cpu: Option<f64>,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu() }
    }

    pub(super) fn stop(&self, hops: u64) -> Timing {
        let cpu_s = cpu().zip(self.cpu).map(|(now, then)| now - then);
        let ns_per_hop = cpu_s.map(|cpu_s| if hops == 0 { 0.0 } else { cpu_s * 1e9 / hops as f64 });
        Timing { cpu_s, wall_s: self.wall.elapsed().as_secs_f64(), ns_per_hop, peak_memory_bytes: peak() }
    }
}

/// Processor time of this process, seconds.
#[cfg(unix)]
fn cpu() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

#[cfg(not(unix))]
fn cpu() -> Option<f64> {
    None
}

/// The most resident memory so far, as Linux reports it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
