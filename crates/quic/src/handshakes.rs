//! Handshakes under way. They begin before a key is known, so each network has a share of the
//! places, and the oldest handshake of the busiest source makes room for a new one.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tokio::task::{AbortHandle, Id};
use tokio::time::{Duration, Instant};

/// Handshakes at once, at most; each takes some 30 kB.
const MOST: usize = 256;
/// Handshakes at once of one network, an IPv4 /24 or IPv6 /48. Alone it may have most places, so
/// that its handshakes last as long as they can; the others stay free for other networks.
pub(crate) const MOST_OF_NETWORK: usize = 192;
/// The time for which a handshake keeps its place against others of its source: enough for a path
/// of 150 ms. Without it, a crowd of honest ends at one address would end each other's handshakes.
/// With the share above it lets in 640 a second from one source.
const YOUNG: Duration = Duration::from_millis(300);
/// Handshakes at once from which on a client must first prove its address (RFC 9000 §8.1.2), and a
/// handshake has little time. Less than the share of a network: forged addresses take no share from
/// its owner.
const UNDER_PRESSURE: usize = 32;
/// The time of a handshake then.
const UNDER_PRESSURE_WITHIN: Duration = Duration::from_secs(2);

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

    /// Makes room for a handshake of this source. If its network has its share, or all places are
    /// taken, the oldest handshake of the source with most of them ends. Returns false if that
    /// would be a young one of the same source.
    #[must_use]
    pub(crate) fn make_room(&mut self, source: IpAddr, now: Instant) -> bool {
        if self.are_many() {
            while let Some(oldest) = self.0.pop_front_if(|oldest| oldest.age(now) >= UNDER_PRESSURE_WITHIN) {
                oldest.task.abort();
            }
        }
        let own = network(source);
        let has_share = self.0.iter().filter(|of| network(of.source) == own).count() >= MOST_OF_NETWORK;
        if !has_share && self.0.len() < MOST {
            return true;
        }
        let crowded = if has_share { Some(own) } else { largest(self.0.iter().map(|of| network(of.source))) };
        let sources = || self.0.iter().map(|of| of.source);
        let busiest = largest(sources().filter(|source| Some(network(*source)) == crowded));
        let oldest = sources().position(|source| Some(source) == busiest);
        if busiest == Some(source)
            && oldest.and_then(|at| self.0.get(at)).is_some_and(|oldest| oldest.age(now) < YOUNG)
        {
            return false;
        }
        if let Some(handshake) = oldest.and_then(|at| self.0.remove(at)) {
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
}

impl Handshake {
    fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }
}

/// The network of a source: an IPv4 /24 or IPv6 /48, as one user may have.
fn network(source: IpAddr) -> IpAddr {
    match source {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & !0xff).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !(u128::MAX >> 48)).into(),
    }
}

/// The address that occurs most often; of several the first.
fn largest(addresses: impl Iterator<Item = IpAddr>) -> Option<IpAddr> {
    let first: Vec<IpAddr> = addresses.collect();
    let mut sorted = first.clone();
    sorted.sort_unstable();
    let most = sorted.chunk_by(PartialEq::eq).map(<[IpAddr]>::len).max()?;
    let of = |address: &IpAddr| {
        sorted.partition_point(|other| other <= address) - sorted.partition_point(|other| other < address)
    };
    first.iter().find(|address| of(address) == most).copied()
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

    /// Addresses of one network, IPv4.
    const NETWORK: u32 = 256;

    #[tokio::test]
    async fn the_oldest_of_a_source_makes_room_once_it_is_not_young() {
        let mut trial = Trial::new();
        let honest = trial.begin_all([NETWORK]);
        let mut tasks = trial.begin_all([2; MOST_OF_NETWORK]);
        assert!(trial.begin(source(2)).is_none(), "all of them are young");
        assert!(trial.begin(source(NETWORK + 1)).is_some(), "the share of another network");
        trial.now += YOUNG;
        tasks.extend(trial.begin_all([2; 10]));
        assert_eq!(left(&tasks).await, (10..MOST_OF_NETWORK + 10).collect::<Vec<_>>());
        assert_eq!(left(&honest).await, [0]);
    }

    #[tokio::test]
    async fn a_neighbour_of_a_busy_source_keeps_its_place_and_finds_one() {
        let mut trial = Trial::new();
        let honest = trial.begin_all([1]);
        trial.begin_all([2; MOST_OF_NETWORK - 1]);
        assert!(trial.begin(source(3)).is_some(), "young ones of the busy source make room for it");
        trial.now += YOUNG;
        trial.begin_all([2; 50]);
        assert_eq!(left(&honest).await, [0]);
    }

    #[tokio::test]
    async fn the_busiest_network_makes_room_when_all_places_are_taken() {
        let mut trial = Trial::new();
        let honest = trial.begin_all([9 * NETWORK]);
        // One has a handshake at each of many addresses.
        let tasks = trial.begin_all((0..).take(MOST_OF_NETWORK - 1));
        let few = trial.begin_all((1..).map(|n| n * NETWORK).take(8));
        let rest = MOST - MOST_OF_NETWORK - 8;
        let others = trial.begin_all((100..).map(|n| n * NETWORK).take(rest + 10));
        assert_eq!(left(&tasks).await, (10..MOST_OF_NETWORK - 1).collect::<Vec<_>>(), "the oldest of it");
        for all in [&honest, &few, &others] {
            assert_eq!(left(all).await.len(), all.len());
        }
        // Each has one: then it is the oldest of all.
        let mut trial = Trial::new();
        let tasks = trial.begin_all((0..).map(|n| n * NETWORK).take(MOST + 1));
        assert_eq!(left(&tasks).await, (1..=MOST).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn handshakes_have_little_time_while_there_are_many() {
        let mut trial = Trial::new();
        let few = trial.begin_all([1; UNDER_PRESSURE - 1]);
        trial.now += UNDER_PRESSURE_WITHIN;
        let last = trial.begin_all([2]);
        assert_eq!(left(&few).await.len(), few.len());
        trial.begin_all([3]);
        assert_eq!((left(&few).await.len(), left(&last).await.len()), (0, 1));
        assert!(!trial.handshakes.are_many());
    }

    /// A stranger who begins 600 a second behind the same address as an honest client: that one has
    /// its place for 300 ms, whenever it comes.
    #[tokio::test]
    async fn an_honest_handshake_lasts_while_a_stranger_begins_many() {
        let mut trial = Trial::new();
        let mut lasted = Vec::new();
        let mut honest: Option<(Instant, JoinHandle<()>)> = None;
        for n in 0..6000 {
            trial.now += Duration::from_secs(1) / 600;
            let _ = trial.begin(source(1));
            if honest.is_none() && n > 1000 {
                let task = trial.begin(source(1)).expect("a place");
                honest = Some((trial.now, task));
            }
            tokio::task::yield_now().await;
            if let Some((since, _)) = honest.take_if(|(_, task)| task.is_finished()) {
                lasted.push(trial.now - since);
            }
        }
        assert!(lasted.len() > 10 && lasted.iter().all(|time| *time >= YOUNG), "{lasted:?}");
    }

    #[test]
    fn networks() {
        let of = |text: &str| network(text.parse().expect("an address")).to_string();
        assert_eq!(of("192.0.2.77"), "192.0.2.0");
        assert_eq!(of("2001:db8:1:2::"), "2001:db8:1::");
    }

    #[tokio::test]
    async fn what_has_ended_takes_no_place() {
        let mut trial = Trial::new();
        let first = trial.begin_all([1; MOST_OF_NETWORK]);
        assert!(trial.handshakes.are_many());
        first.iter().for_each(|task| trial.handshakes.end(task.id()));
        assert!(!trial.handshakes.are_many());
        trial.begin_all([1; MOST_OF_NETWORK]);
        assert_eq!(left(&first).await.len(), MOST_OF_NETWORK, "a handshake that is complete goes on");
    }
}
