//! Meanings of the keys of settings tables whose types say only a quantity. They use the words of
//! the file; the types of `tfrc` and `tfrc-sim` have those of the program.

/// Meanings of keys of one table.
type Meanings = &'static [(&'static str, &'static str)];

/// The meaning of a key of the table that the schema calls `table`; `None` if its type says it.
pub(super) fn of(table: &str, key: &str) -> Option<&'static str> {
    in_table(table).iter().find(|(known, _)| *known == key).map(|(_, meaning)| *meaning)
}

/// All meanings of a table.
pub(super) fn in_table(table: &str) -> Meanings {
    match table {
        "CoDel" => CODEL,
        "FqCoDel" => FQ_CODEL,
        "Pie" => PIE,
        "Red" => RED,
        "Rio" => RIO,
        "Tcp" => TCP,
        "Tfrc" => TFRC,
        "Web" => WEB,
        _ => &[],
    }
}

/// The meaning of a table.
pub(super) fn of_table(table: &str) -> &'static str {
    match table {
        "CoDel" => "Controlled delay (RFC 8289): drops while packets have waited too long for too long.",
        "FqCoDel" => "A queue for each flow, with controlled delay in each (RFC 8290).",
        "Pie" => "PIE (RFC 8033): drops with a probability that a controller of the delay moves.",
        "Red" => "Random early detection: drops with a probability by the average queue.",
        "Rio" => "RED with an average and a curve for each drop precedence.",
        "Tcp" => "The TCP of a flow of kind `tcp` or `web`; docs/models/tcp.md has the sources.",
        "Tfrc" => "The rate control of a flow; docs/models/tfrc.md has the sources and whole revisions.",
        "Web" => "The sessions of a flow of kind `web`; docs/models/traffic.md has the sources.",
        _ => "",
    }
}

const LIMIT: (&str, &str) = ("limit", "How much fits into the queue at all; required.");

const CODEL: Meanings = &[
    ("interval", "How long the delay must stay above `target` before a drop; 100 ms unless given."),
    LIMIT,
    ("mtu", "While no more than this many bytes wait, nothing is dropped; 1500B unless given."),
    ("target", "The queueing delay to aim at; 5 ms unless given."),
];

const FQ_CODEL: Meanings = &[
    ("interval", "How long a queue's delay must stay above `target` before a drop; 100 ms unless given."),
    ("limit", "How much fits in all; past it the longest queue loses packets at its head; required."),
    ("mtu", "While no more than this many bytes wait in a queue, it drops nothing; 1500B unless given."),
    ("quantum", "Bytes that a queue may send in a round; 1514B unless given."),
    ("queues", "Queues that flows are hashed to."),
    ("target", "The queueing delay to aim at in each queue; 5 ms unless given."),
];

const PIE: Meanings = &[
    ("alpha", "Weight of the distance from `target`, per second; 0.125 unless given."),
    ("beta", "Weight of the trend of the delay, per second; 1.25 unless given."),
    LIMIT,
    ("max_burst", "How long a burst passes without drops; 150 ms unless given."),
    ("mean_packet", "Size of a typical packet: while no more than two of them wait nothing is dropped."),
    ("target", "The queueing delay to aim at; 15 ms unless given."),
    ("update", "Time between updates of the drop probability; 15 ms unless given."),
];

const RED: Meanings = &[
    (
        "adaptation_alpha",
        "Added to `max_p` when the average is above the band, a quarter of `max_p` at most.",
    ),
    ("adaptation_beta", "Factor of `max_p` when the average is below the band."),
    ("adaptation_bottom", "`max_p` does not decrease at or below this."),
    ("adaptation_high", "The band ends at this share of the way from the lower to the upper threshold."),
    ("adaptation_interval", "Time between changes of `max_p`."),
    ("adaptation_low", "The band begins at this share of the way from the lower to the upper threshold."),
    ("adaptation_top", "`max_p` does not increase at or above this."),
    LIMIT,
    ("max", "The upper threshold: at this average queue the drop probability is `max_p`."),
    ("max_p", "Drop probability where the average meets the upper threshold."),
    ("mean_packet", "Size of a typical packet: for the decay over idle times, and for bytes as packets."),
    ("min", "The lower threshold: below this average queue nothing is dropped early."),
    ("target_delay", "Queueing delay that the automatic thresholds aim at."),
];

const RIO: Meanings = &[
    ("high_max", "From this average on all packets of high drop precedence are dropped."),
    ("high_max_p", "Drop probability of high drop precedence just below `high_max`."),
    ("high_min", "Below this average no packet of high drop precedence is dropped early."),
    LIMIT,
    ("low_max", "From this average on all packets of low drop precedence are dropped."),
    ("low_max_p", "Drop probability of low drop precedence just below `low_max`."),
    ("low_min", "Below this average no packet of low drop precedence is dropped early."),
    ("mean_packet", "Size of a typical packet, for the decay over idle times."),
    (
        "medium_max",
        "From this average on all packets of medium drop precedence are dropped; also of high, unless given.",
    ),
    (
        "medium_max_p",
        "Drop probability of medium drop precedence just below `medium_max`; also of high, unless given.",
    ),
    (
        "medium_min",
        "Below this average no packet of medium drop precedence is dropped early; also of high, unless given.",
    ),
    ("weight", "Weight of a new sample in the averages."),
];

const TCP: Meanings = &[
    ("header", "Headers of a segment on the wire."),
    ("initial_rto", "Retransmission timeout before the first sample of the round-trip time."),
    ("max_rto", "Upper bound of the retransmission timeout."),
    ("min_rto", "Lower bound of the retransmission timeout."),
    ("segment", "Bytes of data in a segment."),
    ("tick", "Granularity of the clock that measures round-trip times."),
    ("window", "The receiver's window: upper bound of the congestion window."),
];

const TFRC: Meanings = &[
    (
        "charged_header",
        "Header that TFRC-SP takes off the rate for each packet; the flow's `header` unless given.",
    ),
    ("ewma_weight", "Weight of the old mean against a new loss interval."),
    (
        "feedback_floor",
        "Lower bound of the feedback timer, and of the time over which the receive rate is measured; none unless given.",
    ),
    ("intervals", "Loss intervals in the mean; 8 unless given."),
    ("min_interval_of_three", "Least time in which TFRC-SP sends three packets, in place of `min_interval`."),
    ("no_feedback_floor", "Lower bound of the nofeedback timer; none unless given."),
    ("packets_per_ack", "Packets that a TCP acknowledges together: b of the equation."),
    ("path_mss", "Segment size of the TCP that TFRC-SP is compared with."),
    ("rate_scale", "Factor of the equation's rate."),
    ("receiver_rtt_before_sample", "Round-trip time that the receiver assumes until a packet carries one."),
    ("reference_segment", "Segment size of the flow to compare with."),
    ("rto_least", "Lower bound of the timeout in the equation."),
    ("rto_tick", "Granularity of the timeout in the equation."),
    ("rto_time", "The timeout in the equation, whatever the round-trip time."),
    ("rtt_weight", "Weight of the old round-trip time estimate against a new sample."),
    ("sampling_seed", "Seed of the random sampling of packets."),
    ("stop_below", "Rate below which the stop rule ends or suspends the flow."),
    ("stop_packets_per_second", "Packets a second below which the stop rule ends or suspends the flow."),
    ("timer_granularity", "Granularity of the host's timers: a packet may go up to half of it early."),
    ("window_events", "Loss events in the history window."),
];

const WEB: Meanings = &[
    ("apart", "Time from the begin of one session to that of the next; in place of `within`."),
    ("begin", "When the server begins an object."),
    ("between_objects", "Time from one object of a page to the next."),
    ("between_pages", "Time from the end of a page to the next."),
    ("object", "Segments of an object."),
    ("objects", "Objects of a page."),
    ("request", "Size of a request."),
    ("sessions", "Number of sessions."),
    ("think", "Time of the server between a request and its object."),
    ("within", "All sessions begin within this time."),
];

#[cfg(test)]
mod tests {
    use tfrc_sim::queue::{CoDel, FqCoDel, Pie, Red, Rio};

    use super::*;
    use crate::Tcp;
    use crate::table::{Tabular, vocabulary};
    use crate::web_settings::WebTraffic;

    /// Each meaning has its key, and each key a meaning.
    fn all_mean_something<S: Tabular>() {
        let keys = vocabulary(&S::start());
        for key in &keys {
            assert!(!key.meaning().is_empty(), "`{}` of {} needs a meaning here", key.name, S::NAME);
        }
        for (name, _) in in_table(S::NAME) {
            assert!(keys.iter().any(|key| key.name == *name), "{} has no key `{name}`", S::NAME);
        }
    }

    #[test]
    fn keys_and_meanings_are_the_same() {
        all_mean_something::<tfrc::Settings>();
        all_mean_something::<Tcp>();
        all_mean_something::<WebTraffic>();
        all_mean_something::<Red>();
        all_mean_something::<Rio>();
        all_mean_something::<Pie>();
        all_mean_something::<CoDel>();
        all_mean_something::<FqCoDel>();
    }
}
