//! Handshakes under way. They begin before a key is known, so each source has a share of the
//! places, and the oldest handshake makes room for a new one.

use std::collections::VecDeque;
use std::net::IpAddr;

use tokio::task::{AbortHandle, Id};
use tokio::time::{Duration, Instant};

/// Handshakes at once, at most; each takes some 30 kB.
const MOST: usize = 256;
/// Handshakes at once of one source.
pub(crate) const MOST_OF_SOURCE: usize = 64;
/// The time for which a handshake keeps its place against others of its source: enough for a path
/// of 200 ms. Without it, a crowd of honest ends at one address would end each other's handshakes.
/// With it, one in five attempts finds a place while a stranger at that address begins 600 a
/// second.
const YOUNG: Duration = Duration::from_millis(500);
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
    since: Instant,
    task: AbortHandle,
}

impl Handshakes {
    /// True if a client has to prove its address before a handshake begins.
    pub(crate) fn are_many(&self) -> bool {
        self.0.len() >= UNDER_PRESSURE
    }

    /// Makes room for a handshake of this source. If the source has its share, the oldest of its
    /// handshakes ends, unless it is young: false then. If all places are taken, the oldest of the
    /// source that has most of them ends.
    #[must_use]
    pub(crate) fn make_room(&mut self, source: IpAddr, now: Instant) -> bool {
        let displaced = if self.of(source) >= MOST_OF_SOURCE {
            let oldest = self.oldest(source);
            let since = oldest.and_then(|at| self.0.get(at)).map(|handshake| handshake.since);
            if since.is_some_and(|since| now.saturating_duration_since(since) < YOUNG) {
                return false;
            }
            oldest
        } else if self.0.len() >= MOST {
            self.largest().and_then(|source| self.oldest(source))
        } else {
            None
        };
        if let Some(handshake) = displaced.and_then(|at| self.0.remove(at)) {
            handshake.task.abort();
        }
        true
    }

    /// Adds a handshake for which there is room.
    pub(crate) fn begin(&mut self, source: IpAddr, since: Instant, task: AbortHandle) {
        self.0.push_back(Handshake { source, since, task });
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

    /// Handshakes that never go on, with the clock that they are begun by.
    struct Trial {
        handshakes: Handshakes,
        now: Instant,
    }

    impl Trial {
        fn new() -> Self {
            Self { handshakes: Handshakes::default(), now: Instant::now() }
        }

        /// Begins a handshake; `None` if there is no room.
        fn begin(&mut self, source: IpAddr) -> Option<JoinHandle<()>> {
            self.handshakes.make_room(source, self.now).then(|| {
                let task = tokio::spawn(std::future::pending());
                self.handshakes.begin(source, self.now, task.abort_handle());
                task
            })
        }

        fn begin_all(&mut self, sources: impl IntoIterator<Item = u32>) -> Vec<JoinHandle<()>> {
            sources.into_iter().map(|n| self.begin(source(n)).expect("room")).collect()
        }
    }

    /// Those that go on.
    async fn left(tasks: &[JoinHandle<()>]) -> Vec<usize> {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        (0..tasks.len()).filter(|n| !tasks[*n].is_finished()).collect()
    }

    #[tokio::test]
    async fn a_source_has_its_share_and_its_oldest_makes_room_once_it_is_not_young() {
        let mut trial = Trial::new();
        let honest = trial.begin_all([1]);
        let mut tasks = trial.begin_all([2; MOST_OF_SOURCE]);
        assert!(trial.begin(source(2)).is_none(), "all of them are young");
        assert!(trial.begin(source(3)).is_some(), "the share of another one");
        trial.now += YOUNG;
        tasks.extend(trial.begin_all([2; 10]));
        assert_eq!(left(&tasks).await, (10..MOST_OF_SOURCE + 10).collect::<Vec<_>>());
        assert_eq!(left(&honest).await, [0]);
    }

    #[tokio::test]
    async fn the_source_with_most_makes_room_when_all_places_are_taken() {
        let mut trial = Trial::new();
        let honest = trial.begin_all([1]);
        let tasks = trial.begin_all((0..).take(MOST).map(|n| 2 + n % 5));
        assert_eq!(left(&tasks).await, (1..MOST).collect::<Vec<_>>(), "the oldest of a large one");
        assert_eq!(left(&honest).await, [0]);
        // Each has one: then it is the oldest of all.
        let mut trial = Trial::new();
        let tasks = trial.begin_all((0..).take(MOST + 1));
        assert_eq!(left(&tasks).await, (1..=MOST).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn what_has_ended_takes_no_place() {
        let mut trial = Trial::new();
        let first = trial.begin_all([1; MOST_OF_SOURCE]);
        assert!(trial.handshakes.are_many());
        first.iter().for_each(|task| trial.handshakes.end(task.id()));
        assert!(!trial.handshakes.are_many());
        trial.begin_all([1; MOST_OF_SOURCE]);
        assert_eq!(left(&first).await.len(), MOST_OF_SOURCE, "a handshake that is complete goes on");
    }
}
