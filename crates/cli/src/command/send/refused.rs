//! Datagrams of `--udp-in` that do not become datagrams of the session: said once, and counted.

use std::sync::Arc;

use tfrc_report::record::{Outcome, Summary};

use crate::session::{Ending, UdpInCounts, counted};

/// Watches the counts of the port.
#[derive(Debug)]
pub(super) struct Refused {
    counts: Arc<UdpInCounts>,
    told_of_length: bool,
    told_of_drops: bool,
}

/// The counts at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Totals {
    too_long: u64,
    /// The longest of them, bytes.
    longest: u64,
    dropped: u64,
    /// Datagrams that waited when the session ended.
    pub(super) unsent: u64,
}

impl Refused {
    pub(super) const fn new(counts: Arc<UdpInCounts>) -> Self {
        Self { counts, told_of_length: false, told_of_drops: false }
    }

    pub(super) fn counts(&self) -> Arc<UdpInCounts> {
        Arc::clone(&self.counts)
    }

    /// Sentences for the user, each once; `limit` is the longest datagram that the path carries.
    pub(super) fn news(&mut self, limit: usize) -> Vec<String> {
        let mut news = Vec::new();
        let Totals { too_long, longest, dropped, .. } = self.totals();
        if too_long > 0 && !std::mem::replace(&mut self.told_of_length, true) {
            news.push(format!(
                "--udp-in: a datagram of {longest} bytes exceeds the {limit} bytes that this path carries: \
                 dropped; further ones are only counted"
            ));
        }
        if dropped > 0 && !std::mem::replace(&mut self.told_of_drops, true) {
            news.push(
                "--udp-in: datagrams come faster than the allowed rate and are dropped; more are only \
                 counted. --deadline drops the oldest instead, --rate-out tells an encoder the rate"
                    .to_owned(),
            );
        }
        news
    }

    pub(super) fn totals(&self) -> Totals {
        let (too_long, longest) = self.counts.too_long();
        Totals { too_long, longest, dropped: self.counts.dropped(), unsent: self.counts.unsent() }
    }
}

impl Totals {
    /// True if datagrams are missing that nobody wanted dropped.
    pub(super) const fn is_failure(self) -> bool {
        self.too_long > 0 || self.dropped > 0
    }

    /// Writes the counts into the summary, if there are any.
    pub(super) fn note(self, summary: &mut Summary) {
        let some = |n: u64| (n > 0).then_some(n);
        summary.too_long_packets = some(self.too_long);
        summary.source_dropped_packets = some(self.dropped);
    }

    /// The end of a session in which datagrams were refused: nobody asked for that, so a good end
    /// becomes a failure (docs/decisions/0008).
    pub(super) fn judge(self, ending: Ending, limit: usize) -> Ending {
        let too_long = (self.too_long > 0).then(|| {
            format!(
                "{} refused: up to {} bytes long, and a packet carries {limit}",
                counted(self.too_long, "datagram"),
                self.longest
            )
        });
        let dropped = (self.dropped > 0)
            .then(|| format!("{} came too fast and found no room", counted(self.dropped, "datagram")));
        match (ending.outcome, too_long, dropped) {
            (_, None, None) => ending,
            (Outcome::Complete | Outcome::Stopped, too_long, dropped) => {
                let reasons: Vec<String> = too_long.into_iter().chain(dropped).collect();
                Ending::failed(reasons.join("; ")).with(Some(ending.reason))
            }
            (_, too_long, dropped) => ending.with(too_long).with(dropped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_once_and_make_a_failure() {
        let counts = Arc::new(UdpInCounts::default());
        let mut refused = Refused::new(Arc::clone(&counts));
        assert!(refused.news(1400).is_empty());
        let stopped = Ending::stopped("interrupted");
        assert_eq!(refused.totals().judge(stopped.clone(), 1400), stopped);
        counts.refuse(1500);
        counts.refuse(2000);
        let news = refused.news(1400);
        assert!(matches!(news.as_slice(), [one] if one.contains("2000") && one.contains("1400")), "{news:?}");
        counts.refuse(2001);
        assert!(refused.news(1400).is_empty());
        let ending = refused.totals().judge(stopped, 1400);
        assert!(ending.has_failed() && ending.reason.starts_with("3 datagrams refused"), "{ending}");
        let ending = refused.totals().judge(Ending::unconfirmed("no word"), 1400);
        assert!(
            ending.outcome == Outcome::Unconfirmed && ending.reason.contains("; 3 datagrams"),
            "{ending}"
        );
    }
}
