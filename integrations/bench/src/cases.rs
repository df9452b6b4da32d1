//! The test cases: RFC 8867 §5, with an encoder of 150 kbit/s to 4 Mbit/s.

/// A test case. Times are in seconds.
pub(crate) struct Case {
    /// Its name in files.
    pub(crate) id: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    /// The sentence that describes it.
    pub(crate) about: &'static str,
    /// Rates of the bottleneck, Mbit/s, and the times from which they hold.
    pub(crate) rates: &'static [(u64, f64)],
    /// Media flows: start and one-way delay in ms.
    pub(crate) flows: &'static [(u64, u64)],
    /// When the first flow is silent.
    pub(crate) pause: Option<(u64, u64)>,
    /// When a TCP runs.
    pub(crate) tcp: Option<(u64, u64)>,
    /// Time that the drop-tail queue holds at the first rate, ms.
    pub(crate) queue_ms: f64,
    pub(crate) time: u64,
    /// Times at which flows must find a new rate, and the part of the bottleneck that is then each
    /// one's; 0 for flows that are not there.
    pub(crate) phases: &'static [(u64, &'static [f64])],
    /// The part of the run that the share is computed over.
    pub(crate) shared: (u64, u64),
}

/// The longest additional delay of a packet, ms (§4.1).
pub(crate) const JITTER_MS: u64 = 30;

pub(crate) const CASES: [Case; 7] = [
    Case {
        id: "variable-one",
        title: "Variable capacity, one flow (§5.1)",
        about: "1 Mbit/s, from 40 s 2.5, from 60 s 0.6, from 80 s 1 again; 50 ms one way.",
        rates: &[(0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)],
        flows: &[(0, 50)],
        pause: None,
        tcp: None,
        queue_ms: 300.0,
        time: 100,
        phases: &[(0, &[1.0]), (40, &[1.0]), (60, &[1.0]), (80, &[1.0])],
        shared: (5, 100),
    },
    Case {
        id: "variable-two",
        title: "Variable capacity, two flows (§5.2)",
        about: "4 Mbit/s, from 25 s 2, from 50 s 3.5, from 75 s 1, from 100 s 2; 50 ms.",
        rates: &[(0, 4.0), (25, 2.0), (50, 3.5), (75, 1.0), (100, 2.0)],
        flows: &[(0, 50), (0, 50)],
        pause: None,
        tcp: None,
        queue_ms: 300.0,
        time: 125,
        phases: &[(0, &[0.5; 2]), (25, &[0.5; 2]), (50, &[0.5; 2]), (75, &[0.5; 2]), (100, &[0.5; 2])],
        shared: (5, 125),
    },
    Case {
        id: "same",
        title: "Three flows of one kind (§5.4)",
        about: "3.5 Mbit/s, 50 ms, flows that begin at 0, 20 and 40 s.",
        rates: &[(0, 3.5)],
        flows: &[(0, 50), (20, 50), (40, 50)],
        pause: None,
        tcp: None,
        queue_ms: 300.0,
        time: 120,
        phases: &[(0, &[1.0, 0.0, 0.0]), (20, &[0.5, 0.5, 0.0]), (40, &[1.0 / 3.0; 3])],
        shared: (60, 120),
    },
    Case {
        id: "round-trips",
        title: "Round-trip times (§5.5)",
        about: "4 Mbit/s, five flows of 10, 25, 50, 100 and 150 ms one way that begin 10 s apart.",
        rates: &[(0, 4.0)],
        flows: &[(0, 10), (10, 25), (20, 50), (30, 100), (40, 150)],
        pause: None,
        tcp: None,
        queue_ms: 300.0,
        time: 300,
        phases: &[(40, &[0.2; 5])],
        shared: (100, 300),
    },
    Case {
        id: "tcp",
        title: "Next to a long TCP (§5.6)",
        about: "2 Mbit/s, 50 ms, a TCP with CUBIC as Linux has it; media from 5 s on.",
        rates: &[(0, 2.0)],
        flows: &[(5, 50)],
        pause: None,
        tcp: Some((0, 119)),
        queue_ms: 300.0,
        time: 120,
        phases: &[(5, &[0.5])],
        shared: (60, 119),
    },
    Case {
        id: "tcp-long-queue",
        title: "Next to a long TCP, a queue of 1 s (§5.6)",
        about: "The same with a queue of 1 s.",
        rates: &[(0, 2.0)],
        flows: &[(5, 50)],
        pause: None,
        tcp: Some((0, 119)),
        queue_ms: 1000.0,
        time: 120,
        phases: &[(5, &[0.5])],
        shared: (60, 119),
    },
    Case {
        id: "pause",
        title: "Pause and resume (§5.8)",
        about: "3.5 Mbit/s, 50 ms, three flows; the first is silent from 40 to 60 s.",
        rates: &[(0, 3.5)],
        flows: &[(0, 50), (0, 50), (0, 50)],
        pause: Some((40, 60)),
        tcp: None,
        queue_ms: 300.0,
        time: 120,
        phases: &[(0, &[1.0 / 3.0; 3]), (40, &[0.0, 0.5, 0.5]), (60, &[1.0 / 3.0; 3])],
        shared: (70, 120),
    },
];
