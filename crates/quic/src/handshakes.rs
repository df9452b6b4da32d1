//! Handshakes under way. They begin before a key is known, so each source has a share of the places,
//! and the oldest handshake makes room for a new one.

use std::collections::VecDeque;
use std::net::IpAddr;

use tokio::task::{AbortHandle, Id};

/// Handshakes at once, at most; each takes some 30 kB.
const MOST: usize = 256;
/// Handshakes at once of one source. A stranger who begins 600 a second leaves each of them
/// 107 ms, which is enough for an honest end behind the same translator on a path of 50 ms.
pub(crate) const MOST_OF_SOURCE: usize = 64;
/// Handshakes at once from which on a client must first prove its address (RFC 9000 §8.1.2). Less
/// than the share of a source: forged addresses take no share from its owner.
const UNDER_PRESSURE: usize = 32;

/// The tasks of handshakes whose keys are not known yet, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Handshakes(VecDeque<Handshake>);

#[derive(Debug)]
struct Handshake {
    /// An IPv4 address or IPv6 /64.
    source: IpAddr,
    task: AbortHandle,
}

impl Handshakes {
    /// True if a client has to prove its address before a handshake begins.
    pub(crate) fn are_many(&self) -> bool {
        self.0.len() >= UNDER_PRESSURE
    }

    /// Adds a handshake. The oldest of this source ends if the source has its share; if all places
    /// are taken, the oldest of the source that has most of them.
    pub(crate) fn begin(&mut self, source: IpAddr, task: AbortHandle) {
        let displaced = if self.of(source) >= MOST_OF_SOURCE {
            self.oldest(source)
        } else if self.0.len() >= MOST {
            self.largest().and_then(|source| self.oldest(source))
        } else {
            None
        };
        if let Some(handshake) = displaced.and_then(|at| self.0.remove(at)) {
            handshake.task.abort();
        }
        self.0.push_back(Handshake { source, task });
    }

    /// The handshake of this task is complete, or has failed.
    pub(crate) fn end(&mut self, task: Id) {
        self.0.retain(|handshake| handshake.task.id() != task);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[cfg(test)]
    pub(crate) fn displace(&mut self) {
        self.0.drain(..).for_each(|handshake| handshake.task.abort());
    }

    fn of(&self, source: IpAddr) -> usize {
        self.0.iter().filter(|handshake| handshake.source == source).count()
    }

    fn oldest(&self, source: IpAddr) -> Option<usize> {
        self.0.iter().position(|handshake| handshake.source == source)
    }

    /// The source that has most handshakes; of several the one with the oldest.
    fn largest(&self) -> Option<IpAddr> {
        let mut sources: Vec<IpAddr> = self.0.iter().map(|handshake| handshake.source).collect();
        sources.sort_unstable();
        let most = sources.chunk_by(PartialEq::eq).map(<[IpAddr]>::len).max()?;
        let mut all = self.0.iter().map(|handshake| handshake.source);
        all.find(|source| self.of(*source) == most)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::task::JoinHandle;

    use super::*;

    fn source(n: u32) -> IpAddr {
        Ipv4Addr::from_bits(n).into()
    }

    /// A handshake that never goes on.
    fn begin(handshakes: &mut Handshakes, source: IpAddr) -> JoinHandle<()> {
        let task = tokio::spawn(std::future::pending());
        handshakes.begin(source, task.abort_handle());
        task
    }

    /// Those that go on.
    async fn left(tasks: &[JoinHandle<()>]) -> Vec<usize> {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        (0..tasks.len()).filter(|n| !tasks[*n].is_finished()).collect()
    }

    #[tokio::test]
    async fn a_source_has_its_share_and_its_oldest_makes_room() {
        let mut handshakes = Handshakes::default();
        let honest = begin(&mut handshakes, source(1));
        let mut tasks: Vec<_> = (0..MOST_OF_SOURCE).map(|_| begin(&mut handshakes, source(2))).collect();
        assert_eq!(left(&tasks).await.len(), MOST_OF_SOURCE, "a whole share");
        for _ in 0..10 {
            tasks.push(begin(&mut handshakes, source(2)));
        }
        assert_eq!(left(&tasks).await, (10..MOST_OF_SOURCE + 10).collect::<Vec<_>>());
        assert!(!honest.is_finished());
    }

    #[tokio::test]
    async fn the_source_with_most_makes_room_when_all_places_are_taken() {
        let mut handshakes = Handshakes::default();
        let honest = begin(&mut handshakes, source(1));
        let mut tasks = Vec::new();
        for n in 0..MOST {
            tasks.push(begin(&mut handshakes, source(2 + u32::try_from(n % 5).expect("small"))));
        }
        assert_eq!(left(&tasks).await.len(), MOST - 1);
        assert!(!honest.is_finished() && tasks[0].is_finished(), "the oldest of a large one");
        // Each has one: then it is the oldest of all.
        let mut handshakes = Handshakes::default();
        let tasks: Vec<_> =
            (0..=MOST).map(|n| begin(&mut handshakes, source(u32::try_from(n).expect("small")))).collect();
        assert_eq!(left(&tasks).await, (1..=MOST).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn what_has_ended_takes_no_place() {
        let mut handshakes = Handshakes::default();
        let first: Vec<_> = (0..MOST_OF_SOURCE).map(|_| begin(&mut handshakes, source(1))).collect();
        assert!(handshakes.are_many());
        first.iter().for_each(|task| handshakes.end(task.id()));
        assert!(!handshakes.are_many());
        for _ in 0..MOST_OF_SOURCE {
            begin(&mut handshakes, source(1));
        }
        assert_eq!(left(&first).await.len(), MOST_OF_SOURCE, "a handshake that is complete goes on");
    }
}
