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
    /// The parts of its waits beyond 2 ms, seconds. Waits within 5 ms count as one.
    #[serde(default)]
    pub late_s: f64,
}

/// Packets that the emulated network has no node for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undeliverable {
    /// Their destination, such as `multicast 239.1.2.3`, `10.77.0.9` or `IPv6`; `others` for all
    /// after the first hundred.
    pub destination: String,
    /// Their number.
    pub packets: u64,
}

/// Distance between the emulated network and the one that the scenario describes.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// others had the processor. `None` where the system does not count, as in the three below.
    pub programs_waited: Option<f64>,
    /// Greatest share of the run in which a packet for such a thread would have waited for longer
    /// than 2 ms: of each of its waits the part beyond that. Also `None` in runs that were recorded
    /// without it.
    pub programs_late: Option<f64>,
    /// The greatest share of one of the kernel's threads that do the network's work (`ksoftirqd`).
    pub kernel_waited: Option<f64>,
    /// Share of the processors' time that a hypervisor gave to others.
    pub stolen: Option<f64>,
    /// Time over which these shares are measured, seconds. `None` in runs that were recorded
    /// without it.
    pub measured_s: Option<f64>,
    /// Packets that programs sent and no node is there for, by destination, the most frequent
    /// first. Not a reason to refuse the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undeliverable: Vec<Undeliverable>,
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
    /// Greatest [`Fidelity::programs_waited`] and [`Fidelity::kernel_waited`] that stand without a
    /// look at what the waiting delayed.
    pub waited: f64,
    /// Greatest [`Fidelity::programs_late`] of programs that waited for longer than
    /// [`waited`](Self::waited). `None` for a path so short that waits below 2 ms matter.
    pub late: Option<f64>,
    /// Least time that such waits, or their parts beyond 2 ms, take in all, seconds.
    pub least_s: f64,
    /// Greatest [`Fidelity::stolen`].
    pub stolen: f64,
}

impl FidelityLimits {
    /// The limits of every emulated run: rates within 1 %, delays within 0.5 ms in the median and
    /// 2 ms in the 99th percentile, no packet lost by the emulator, sources within 0.1 s, and 2 %
    /// of the processors' time stolen.
    ///
    /// A thread or program at a node is starved if it waited for a processor for more than 5 % of
    /// the time and the waiting delayed: more than 1 % of the packets that came at any time would
    /// have waited for it by more than 2 ms. That is the limit of the engine's own packets, whose
    /// 99th percentile is 2 ms. Below 0.1 s in all, some turns of other programs while it starts,
    /// no share says anything.
    ///
    /// The kernel's threads do what did not fit into the time of others, and mostly others do it
    /// before them: their waiting alone delays nothing. If they waited for more than 5 % of the
    /// time, and for 0.1 s, packets may be half as late as otherwise, in the median and in the 99th
    /// percentile: from a node to the engine the kernel's delay is in these figures, and on the way
    /// back, where nothing measures it, it is taken to be as long.
    pub const ALL: Self = Self {
        rate_error: 0.01,
        delay_error_p50_s: 0.0005,
        delay_error_p99_s: 0.002,
        own_drops: 0,
        source_behind_s: 0.1,
        waited: 0.05,
        late: Some(0.01),
        least_s: 0.1,
        stolen: 0.02,
    };

    /// The limits of a network with this shortest round trip: of [`Self::ALL`], and 5 % of the
    /// round trip in the median and 20 % in the 99th percentile, which is less below 10 ms. There
    /// the waiting of programs counts whatever it delayed.
    #[must_use]
    pub fn of(shortest_round_trip_s: Option<f64>) -> Self {
        let all = Self::ALL;
        let Some(round_trip) = shortest_round_trip_s else { return all };
        Self {
            delay_error_p50_s: all.delay_error_p50_s.min(0.05 * round_trip),
            delay_error_p99_s: all.delay_error_p99_s.min(0.2 * round_trip),
            late: all.late.filter(|_| 0.2 * round_trip >= all.delay_error_p99_s),
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
                    milliseconds(limit)
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
        let percent = |share: f64| share * 100.0;
        let waited = |share: Option<f64>| share.filter(|share| is_beyond(*share, limits.waited));
        let is_much = |share: f64| self.measured_s.is_none_or(|all| is_beyond(share * all, limits.least_s));
        if let Some(share) = waited(self.programs_waited).filter(|share| is_much(*share)) {
            let who = format!(
                "a program at a node waited for a processor for {:.1} % of the time, of {:.0} %",
                percent(share),
                percent(limits.waited)
            );
            match self.programs_late.zip(limits.late) {
                None => list.push(who),
                Some((late, limit)) if is_beyond(late, limit) && is_much(late) => list.push(format!(
                    "{who}, and was late by more than 2 ms for {:.1} % of it, of {:.0} %",
                    percent(late),
                    percent(limit)
                )),
                Some(_) => {}
            }
        }
        if let Some(share) = waited(self.kernel_waited).filter(|share| is_much(*share)) {
            let (p50, p99) = (self.delay_error_p50_s, self.delay_error_p99_s);
            let halves = (limits.delay_error_p50_s / 2.0, limits.delay_error_p99_s / 2.0);
            if is_beyond(p50, halves.0) || is_beyond(p99, halves.1) {
                list.push(format!(
                    "the kernel's threads waited for a processor for {:.1} % of the time, of {:.0} %, and \
                     packets were late by {:.2} ms of {} ms (99th percentile {:.2} ms of {} ms)",
                    percent(share),
                    percent(limits.waited),
                    p50 * 1e3,
                    milliseconds(halves.0),
                    p99 * 1e3,
                    milliseconds(halves.1),
                ));
            }
        }
        if let Some(share) = self.stolen.filter(|share| is_beyond(*share, limits.stolen)) {
            let (share, limit) = (percent(share), percent(limits.stolen));
            list.push(format!("a hypervisor took {share:.1} % of the time, of {limit:.0} %"));
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
        let late = self.programs_late.map(|share| format!(" ({:.1} % by more than 2 ms)", share * 100.0));
        let shares = [("programs", self.programs_waited, late), ("kernel", self.kernel_waited, None)];
        for (who, share, late) in shares {
            if let Some(share) = share {
                let (share, late) = (share * 100.0, late.unwrap_or_default());
                let _ = write!(words, ", {who} waited for a processor {share:.1} %{late}");
            }
        }
        if let Some(share) = self.stolen {
            let _ = write!(words, ", {:.1} % stolen", share * 100.0);
        }
        if self.shortened_bytes > 0 {
            let _ =
                write!(words, ", datagrams of TFRC up to {} bytes shorter than asked", self.shortened_bytes);
        }
        if let Some(packets) = self.undeliverable_words() {
            let _ = write!(words, "\n{packets}");
        }
        words
    }

    /// A sentence about the packets that had no node to go to, if there were some.
    fn undeliverable_words(&self) -> Option<String> {
        let all: u64 = self.undeliverable.iter().map(|one| one.packets).sum();
        let named = self.undeliverable.iter().take(NAMED);
        let mut names: Vec<String> = match self.undeliverable.as_slice() {
            [one] => vec![one.destination.clone()],
            _ => named.map(|one| format!("{} to {}", one.packets, one.destination)).collect(),
        };
        if let Some(more) = self.undeliverable.get(NAMED..).filter(|more| !more.is_empty()) {
            names.push(format!("{} to others", more.iter().map(|one| one.packets).sum::<u64>()));
        }
        (all > 0).then(|| {
            let packets = if all == 1 { "packet" } else { "packets" };
            format!("{all} {packets} had no node to go to ({})", names.join(", "))
        })
    }

    /// Returns true if the run keeps every limit.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.violations().is_empty()
    }
}

/// Destinations that a sentence names.
const NAMED: usize = 4;

/// Seconds as milliseconds, to a hundredth of one.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1e5).round() / 1e2
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
        let good = || Fidelity { rate_error: Some(-0.009), delay_error_p99_s: 0.0019, ..Fidelity::default() };
        assert!(good().is_valid(), "{:?}", good().violations());
        let short = || Fidelity { shortest_round_trip_s: Some(0.002), ..Fidelity::default() };
        let long = Fidelity { delay_error_p50_s: 0.0004, shortest_round_trip_s: Some(0.1), ..good() };
        assert!(long.is_valid(), "{:?}", long.violations());
        for (bad, says) in [
            (Fidelity { rate_error: Some(-0.02), ..good() }, "rate off by -2.00 %"),
            (Fidelity { delay_error_p50_s: 0.0006, ..good() }, "median of the delay error 0.60 ms"),
            (Fidelity { delay_error_p99_s: 0.003, ..good() }, "99th percentile of the delay error 3.00 ms"),
            (Fidelity { delay_error_p50_s: f64::NAN, ..good() }, "median"),
            (Fidelity { own_drops: 1, ..good() }, "1 packets lost by the emulator"),
            (Fidelity { source_behind_s: 9.5, ..good() }, "9.50 s behind its times of 0.1 s"),
            (Fidelity { stolen: Some(0.03), ..good() }, "a hypervisor took 3.0 % of the time, of 2 %"),
            // 0.2 ms are fine on a long path, and a tenth of a round trip of 2 ms.
            (
                Fidelity { delay_error_p50_s: 0.0002, delay_error_p99_s: 0.0004, ..short() },
                "median of the delay error 0.20 ms of 0.1 ms",
            ),
            (Fidelity { delay_error_p99_s: 0.0005, ..short() }, "0.50 ms of 0.4 ms"),
        ] {
            let violations = bad.violations();
            assert!(
                !bad.is_valid() && violations.len() == 1 && violations[0].contains(says),
                "{violations:?}"
            );
        }
    }

    /// Each figure of a starved run alone, and with the others that make it one.
    #[test]
    fn waiting_is_judged_by_what_it_delayed_and_from_a_least_on() {
        let programs = |waited, late, measured_s| Fidelity {
            programs_waited: Some(waited),
            programs_late: Some(late),
            measured_s: Some(measured_s),
            shortest_round_trip_s: Some(0.05),
            ..Fidelity::default()
        };
        let kernel = |waited, p50, p99, measured_s| Fidelity {
            kernel_waited: Some(waited),
            delay_error_p50_s: p50,
            delay_error_p99_s: p99,
            measured_s: Some(measured_s),
            shortest_round_trip_s: Some(0.05),
            ..Fidelity::default()
        };
        let short = |fidelity| Fidelity { shortest_round_trip_s: Some(0.002), ..fidelity };
        for (fine, why) in [
            (programs(0.3, 0.0, 20.0), "often, never for long"),
            (programs(0.04, 0.03, 20.0), "5 % are the least"),
            (programs(0.2, 0.05, 1.5), "75 ms in all, while it started"),
            (kernel(0.33, 0.0001, 0.0005, 20.0), "and others did its work"),
            (kernel(0.04, 0.0004, 0.0019, 20.0), "packets are within the limits"),
            (kernel(0.06, 0.0004, 0.0019, 1.5), "90 ms in all"),
        ] {
            assert_eq!(fine.violations(), Vec::<String>::new(), "{why}");
        }
        for (starved, says) in [
            (
                programs(0.24, 0.12, 20.0),
                "a program at a node waited for a processor for 24.0 % of the time, of 5 %, and was late by \
                 more than 2 ms for 12.0 % of it, of 1 %",
            ),
            (programs(0.2, 0.11, 1.0), "late by more than 2 ms for 11.0 %"),
            (programs(0.06, f64::NAN, 20.0), "for NaN %"),
            (short(programs(0.06, 0.0, 20.0)), "waited for a processor for 6.0 % of the time, of 5 %"),
            (
                Fidelity { programs_late: None, measured_s: None, ..programs(0.06, 0.0, 0.0) },
                "waited for a processor for 6.0 % of the time, of 5 %",
            ),
            (
                kernel(0.051, 0.0002, 0.0011, 20.0),
                "the kernel's threads waited for a processor for 5.1 % of the time, of 5 %, and packets were \
                 late by 0.20 ms of 0.25 ms (99th percentile 1.10 ms of 1 ms)",
            ),
            (kernel(0.06, 0.0003, 0.0005, 20.0), "late by 0.30 ms of 0.25 ms"),
            (short(kernel(0.06, 0.00001, 0.0003, 20.0)), "99th percentile 0.30 ms of 0.2 ms"),
        ] {
            let violations = starved.violations();
            assert!(violations.len() == 1 && violations[0].contains(says), "{violations:?}");
        }
    }

    #[test]
    fn packets_without_a_node_are_named() {
        let with = |packets: &[(&str, u64)]| Fidelity {
            undeliverable: packets
                .iter()
                .map(|(to, packets)| Undeliverable { destination: (*to).to_owned(), packets: *packets })
                .collect(),
            ..Fidelity::default()
        };
        assert!(!with(&[]).words().contains("no node"));
        for (packets, says) in [
            (&[("10.77.0.9", 1)][..], "\n1 packet had no node to go to (10.77.0.9)"),
            (
                &[("IPv6", 60), ("10.77.0.9", 43)],
                "\n103 packets had no node to go to (60 to IPv6, 43 to 10.77.0.9)",
            ),
            (
                &[("IPv6", 5), ("a", 4), ("b", 3), ("c", 2), ("d", 1), ("e", 1)],
                "16 packets had no node to go to (5 to IPv6, 4 to a, 3 to b, 2 to c, 2 to others)",
            ),
        ] {
            let words = with(packets).words();
            assert!(words.ends_with(says), "{words}");
            assert!(with(packets).is_valid(), "no fault of the machine");
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
            fidelity: Fidelity {
                rate_error: Some(0.1 + 0.2),
                undeliverable: vec![Undeliverable { destination: "IPv6".to_owned(), packets: 3 }],
                ..Fidelity::default()
            },
            kernel: KernelNotes { release: "6".to_owned(), ..KernelNotes::default() },
            threads: vec![NodeThread {
                name: "node a".to_owned(),
                ran_s: 0.5,
                waited_s: 0.25,
                late_s: 0.125,
            }],
        };
        let written = serde_json::to_string(&run).expect("written");
        let read: EmulatedRun = serde_json::from_str(&written).expect("read");
        assert_eq!((&read.fidelity, &read.kernel), (&run.fidelity, &run.kernel));
        assert_eq!(read.threads, run.threads);
        assert_eq!(serde_json::to_string(&read).expect("written"), written);
        let (a, b) = (&run.recording, &read.recording);
        assert_eq!((&a.outcome, a.from, a.to), (&b.outcome, b.from, b.to));
        assert_eq!((&a.flows[0].sent, &a.flows[0].rtt), (&b.flows[0].sent, &b.flows[0].rtt));
        assert_eq!((a.links[0].stats, &a.links[0].flows), (b.links[0].stats, &b.links[0].flows));
    }
}
