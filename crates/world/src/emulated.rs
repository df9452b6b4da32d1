//! The seam between experiments and the emulator: the job that is asked for, and the answer with
//! its fidelity.
//!
//! A job is a scenario that runs in real time, with the kernel's TCP, in a process of its own; both
//! types cross the boundary of the process as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::keep::{LinkFlows, Looks};
use crate::recording::Recording;

/// One emulated run of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmulationJob {
    /// Name of the scenario, for messages.
    pub name: String,
    /// Text of the scenario's file.
    pub text: String,
    /// The folder of the file; traces are named relative to it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub folder: PathBuf,
    /// A hash of the traces that links follow, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<u64>,
    /// Assignments `path=value` to the scenario, in their order.
    pub set: Vec<String>,
    /// The seed, in place of the scenario's.
    pub seed: u64,
    /// Samples of states.
    pub looks: Looks,
    /// Counts by flow at links.
    pub link_flows: LinkFlows,
}

fn is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

/// The answer to a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EmulatedRun {
    /// The run, as a simulated one is recorded.
    pub recording: Recording,
    /// The distance from the network that the scenario describes.
    pub fidelity: Fidelity,
    /// The kernel that the run had.
    pub kernel: KernelNotes,
    /// The threads that ran the flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<NodeThread>,
}

/// A thread or a program at a node of an emulated network, and how it got the processor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeThread {
    /// Name of the thread: `node NAME` for all flows at a node, or that of a program.
    pub name: String,
    /// Time that it ran, seconds.
    pub ran_s: f64,
    /// Time that it was ready to run and others had the processor, seconds.
    pub waited_s: f64,
}

/// Distance between the emulated network and the one that the scenario describes.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Fidelity {
    /// Worst relative difference, over links that were busy, between the delivered and the
    /// configured rate. `None` if no link was busy.
    #[serialize_always]
    pub rate_error: Option<f64>,
    /// Median of the difference between the time at which a packet left the emulator and the time
    /// at which the engine let it leave, seconds.
    pub delay_error_p50_s: f64,
    /// The 99th percentile of that difference, seconds.
    pub delay_error_p99_s: f64,
    /// Median lateness of the emulator's wake-ups, seconds.
    pub wakeup_p50_s: f64,
    /// The 99th percentile of that lateness, seconds.
    pub wakeup_p99_s: f64,
    /// Packets that the emulator lost, as opposed to a queue or a loss model of the scenario.
    pub own_drops: u64,
    /// Wake-ups after which the engine was behind the wall clock by more than the limit on the 99th
    /// percentile of the delay error.
    pub overruns: u64,
    /// Shortest round trip that packets took, without queues, seconds. `None` in runs that were
    /// recorded without it.
    pub shortest_round_trip_s: Option<f64>,
    /// Delay of the slowest source of datagrams behind its times at the end, seconds.
    pub source_behind_s: f64,
    /// Greatest share of the run for which a thread or program at a node was ready to run and
    /// others had the processor. `None` where the system does not count, as in the two below.
    pub programs_waited: Option<f64>,
    /// The greatest share of one of the kernel's threads that do the network's work (`ksoftirqd`).
    pub kernel_waited: Option<f64>,
    /// Share of the processors' time that a hypervisor gave to others.
    pub stolen: Option<f64>,
    /// Most bytes by which a datagram of a TFRC flow was shorter than its file asks, as a packet of
    /// DCCP over UDP takes no longer one. Not a reason to refuse the run.
    pub shortened_bytes: u32,
}

/// Limits of [`Fidelity`] beyond which a run is invalid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FidelityLimits {
    /// Greatest [`Fidelity::rate_error`].
    pub rate_error: f64,
    /// Greatest [`Fidelity::delay_error_p50_s`].
    pub delay_error_p50_s: f64,
    /// Greatest [`Fidelity::delay_error_p99_s`].
    pub delay_error_p99_s: f64,
    /// Greatest [`Fidelity::own_drops`].
    pub own_drops: u64,
    /// Greatest [`Fidelity::source_behind_s`].
    pub source_behind_s: f64,
    /// Greatest [`Fidelity::programs_waited`] and [`Fidelity::kernel_waited`].
    pub waited: f64,
    /// Greatest [`Fidelity::stolen`].
    pub stolen: f64,
}

impl FidelityLimits {
    /// The limits of every emulated run: rates within 1 %, delays within 0.5 ms in the median and
    /// 2 ms in the 99th percentile, no packet lost by the emulator, sources within 0.1 s, nobody at
    /// a node or in the kernel without a processor for more than 5 % of the time, and 2 % stolen.
    pub const ALL: Self = Self {
        rate_error: 0.01,
        delay_error_p50_s: 0.0005,
        delay_error_p99_s: 0.002,
        own_drops: 0,
        source_behind_s: 0.1,
        waited: 0.05,
        stolen: 0.02,
    };

    /// The limits of a network with this shortest round trip: of [`Self::ALL`], and 5 % of the
    /// round trip in the median and 20 % in the 99th percentile, which is less below 10 ms.
    #[must_use]
    pub fn of(shortest_round_trip_s: Option<f64>) -> Self {
        let all = Self::ALL;
        let Some(round_trip) = shortest_round_trip_s else { return all };
        Self {
            delay_error_p50_s: all.delay_error_p50_s.min(0.05 * round_trip),
            delay_error_p99_s: all.delay_error_p99_s.min(0.2 * round_trip),
            ..all
        }
    }
}

impl Fidelity {
    /// Returns a sentence for each limit that the run does not keep ([`FidelityLimits::of`]).
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let limits = FidelityLimits::of(self.shortest_round_trip_s);
        let mut list = Vec::new();
        // A value that is not a number keeps no limit.
        let is_beyond = |x: f64, limit: f64| x.is_nan() || x.abs() > limit;
        if let Some(error) = self.rate_error.filter(|error| is_beyond(*error, limits.rate_error)) {
            list.push(format!("rate off by {:.2} % of {:.0} %", error * 100.0, limits.rate_error * 100.0));
        }
        for (name, seconds, limit) in [
            ("median", self.delay_error_p50_s, limits.delay_error_p50_s),
            ("99th percentile", self.delay_error_p99_s, limits.delay_error_p99_s),
        ] {
            if is_beyond(seconds, limit) {
                list.push(format!(
                    "{name} of the delay error {:.2} ms of {} ms",
                    seconds * 1e3,
                    (limit * 1e5).round() / 1e2
                ));
            }
        }
        if self.own_drops > limits.own_drops {
            list.push(format!("{} packets lost by the emulator", self.own_drops));
        }
        if is_beyond(self.source_behind_s, limits.source_behind_s) {
            list.push(format!(
                "a source of datagrams {:.2} s behind its times of {} s",
                self.source_behind_s, limits.source_behind_s
            ));
        }
        for (who, share, limit) in [
            ("a program at a node waited for a processor for", self.programs_waited, limits.waited),
            ("the kernel's threads waited for a processor for", self.kernel_waited, limits.waited),
            ("a hypervisor took", self.stolen, limits.stolen),
        ] {
            if let Some(share) = share.filter(|share| is_beyond(*share, limit)) {
                list.push(format!("{who} {:.1} % of the time, of {:.0} %", share * 100.0, limit * 100.0));
            }
        }
        list
    }

    /// The fidelity in a line, for a person.
    #[must_use]
    pub fn words(&self) -> String {
        let rate = self
            .rate_error
            .map_or("no link was busy".to_owned(), |error| format!("rate off by {:.3} %", error * 100.0));
        let mut words = format!(
            "fidelity: {rate}, delays late by {:.3} ms (99th percentile {:.3} ms), woken late by {:.3} ms ({:.3} ms), \
             {} packets lost by the emulator",
            self.delay_error_p50_s * 1e3,
            self.delay_error_p99_s * 1e3,
            self.wakeup_p50_s * 1e3,
            self.wakeup_p99_s * 1e3,
            self.own_drops,
        );
        let shares = [("programs", self.programs_waited), ("kernel", self.kernel_waited)];
        for (who, share) in shares.into_iter().filter_map(|(who, share)| Some((who, share?))) {
            let _ = write!(words, ", {who} waited for a processor {:.1} %", share * 100.0);
        }
        if let Some(share) = self.stolen {
            let _ = write!(words, ", {:.1} % stolen", share * 100.0);
        }
        if self.shortened_bytes > 0 {
            let _ =
                write!(words, ", datagrams of TFRC up to {} bytes shorter than asked", self.shortened_bytes);
        }
        words
    }

    /// Returns true if the run keeps every limit.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.violations().is_empty()
    }
}

/// The kernel's TCP that a run had.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KernelNotes {
    /// The kernel's release, such as `6.1.0-18-amd64`.
    pub release: String,
    /// Settings and mechanisms by name: `HyStart`, RACK and TLP, PRR, delayed acknowledgements, the
    /// initial window, BBR's version and pacing.
    pub notes: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Keep;
    use crate::run::Run;
    use tfrc_scenario::Document;

    #[test]
    fn limits_of_fidelity() {
        let good = Fidelity { rate_error: Some(-0.009), delay_error_p99_s: 0.0019, ..Fidelity::default() };
        assert!(good.is_valid(), "{:?}", good.violations());
        let short = Fidelity { shortest_round_trip_s: Some(0.002), ..Fidelity::default() };
        let long = Fidelity { delay_error_p50_s: 0.0004, shortest_round_trip_s: Some(0.1), ..good };
        assert!(long.is_valid(), "{:?}", long.violations());
        for (bad, says) in [
            (Fidelity { rate_error: Some(-0.02), ..good }, "rate off by -2.00 %"),
            (Fidelity { delay_error_p50_s: 0.0006, ..good }, "median of the delay error 0.60 ms"),
            (Fidelity { delay_error_p99_s: 0.003, ..good }, "99th percentile of the delay error 3.00 ms"),
            (Fidelity { delay_error_p50_s: f64::NAN, ..good }, "median"),
            (Fidelity { own_drops: 1, ..good }, "1 packets lost by the emulator"),
            (Fidelity { source_behind_s: 9.5, ..good }, "9.50 s behind its times of 0.1 s"),
            (
                Fidelity { programs_waited: Some(0.24), ..good },
                "a program at a node waited for a processor for 24.0 %",
            ),
            (
                Fidelity { kernel_waited: Some(0.051), ..good },
                "the kernel's threads waited for a processor for 5.1 %",
            ),
            (Fidelity { stolen: Some(0.03), ..good }, "a hypervisor took 3.0 % of the time, of 2 %"),
            // 0.2 ms are fine on a long path, and a tenth of a round trip of 2 ms.
            (
                Fidelity { delay_error_p50_s: 0.0002, delay_error_p99_s: 0.0004, ..short },
                "median of the delay error 0.20 ms of 0.1 ms",
            ),
            (Fidelity { delay_error_p99_s: 0.0005, ..short }, "0.50 ms of 0.4 ms"),
        ] {
            let violations = bad.violations();
            assert!(
                !bad.is_valid() && violations.len() == 1 && violations[0].contains(says),
                "{violations:?}"
            );
        }
    }

    #[test]
    fn a_run_crosses_the_process_unchanged() {
        let text = "duration = '3s'\nwarmup = '1s'\nnodes = ['a', 'b']\n\
            [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\ndelay = '10ms'\nqueue = '10p'\n\
            [[flow]]\nname = 'one'\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\n";
        let scenario = Document::new("t", text).plan().expect("right").points.remove(0).scenario;
        let keep = Keep { looks: Looks::Taken, link_flows: LinkFlows::Counted, ..Keep::NOTHING };
        let run = EmulatedRun {
            recording: Run::of(&scenario).record(keep).expect("nothing stops it"),
            fidelity: Fidelity { rate_error: Some(0.1 + 0.2), ..Fidelity::default() },
            kernel: KernelNotes { release: "6".to_owned(), ..KernelNotes::default() },
            threads: vec![NodeThread { name: "node a".to_owned(), ran_s: 0.5, waited_s: 0.25 }],
        };
        let written = serde_json::to_string(&run).expect("written");
        let read: EmulatedRun = serde_json::from_str(&written).expect("read");
        assert_eq!((read.fidelity, &read.kernel), (run.fidelity, &run.kernel));
        assert_eq!(read.threads, run.threads);
        assert_eq!(serde_json::to_string(&read).expect("written"), written);
        let (a, b) = (&run.recording, &read.recording);
        assert_eq!((&a.outcome, a.from, a.to), (&b.outcome, b.from, b.to));
        assert_eq!((&a.flows[0].sent, &a.flows[0].rtt), (&b.flows[0].sent, &b.flows[0].rtt));
        assert_eq!((a.links[0].stats, &a.links[0].flows), (b.links[0].stats, &b.links[0].flows));
    }
}
