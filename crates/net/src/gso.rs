//! Datagrams on their way from the machine to the socket, grouped into trains that one system call
//! may send.

use std::net::SocketAddr;

use tfrc_units::Ecn;

use crate::io::Outgoing;

/// Bytes that one system call may carry: what fits into an IP packet that is only cut afterwards,
/// with room for its headers.
const LONGEST: usize = 65_000;

/// Which datagrams may share a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    /// None: it goes alone.
    None,
    /// Those before and after it.
    Alike,
}

/// Datagrams in the order of sending. Equally long ones to the same peer with the same mark that
/// follow each other make a train, which may be one system call (generic segmentation offload); a
/// shorter one ends it.
#[derive(Debug, Default)]
pub(crate) struct Trains {
    bytes: Vec<u8>,
    trains: Vec<Train>,
    /// Datagrams in a train, at most.
    most: usize,
}

#[derive(Debug)]
struct Train {
    to: SocketAddr,
    ecn: Ecn,
    start: usize,
    end: usize,
    /// Length of all but the last datagram.
    segment: usize,
    datagrams: usize,
    closed: bool,
}

impl Trains {
    /// At most this many datagrams in a train from now on; 1 where the system cannot cut.
    pub(crate) const fn limit(&mut self, most: usize) {
        self.most = most;
    }

    /// Adds a datagram, and returns its bytes, which may be changed before they are sent.
    pub(crate) fn add(&mut self, to: SocketAddr, ecn: Ecn, company: Company, datagram: &[u8]) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(datagram);
        let (end, length) = (self.bytes.len(), datagram.len());
        if company == Company::Alike
            && let Some(train) = self.trains.last_mut()
            && !train.closed
            && (train.to, train.ecn) == (to, ecn)
            && train.datagrams < self.most
            && (1..=train.segment).contains(&length)
            && end - train.start <= LONGEST
        {
            (train.end, train.datagrams, train.closed) = (end, train.datagrams + 1, length < train.segment);
            return self.bytes.get_mut(start..).unwrap_or_default();
        }
        let closed = length == 0 || company == Company::None;
        self.trains.push(Train { to, ecn, start, end, segment: length, datagrams: 1, closed });
        self.bytes.get_mut(start..).unwrap_or_default()
    }

    /// The nth of them, in the order of sending.
    pub(crate) fn get(&self, n: usize) -> Option<Outgoing<'_>> {
        self.trains.get(n).map(|train| Outgoing {
            to: train.to,
            ecn: train.ecn,
            bytes: self.bytes.get(train.start..train.end).unwrap_or_default(),
            segment: (train.datagrams > 1).then_some(train.segment),
        })
    }

    /// Forgets all datagrams.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.trains.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);
    const TWO: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 2);

    /// Lengths of the trains, with the length of their datagrams.
    fn trains(most: usize, datagrams: &[(SocketAddr, Ecn, usize)]) -> Vec<(usize, Option<usize>)> {
        let mut trains = Trains::default();
        trains.limit(most);
        for (to, ecn, length) in datagrams {
            trains.add(*to, *ecn, Company::Alike, &vec![7; *length]);
        }
        lengths(&trains)
    }

    fn lengths(trains: &Trains) -> Vec<(usize, Option<usize>)> {
        (0..).map_while(|n| trains.get(n)).map(|train| (train.bytes.len(), train.segment)).collect()
    }

    /// A path MTU probe would take the short Sync after it along into a black hole.
    #[test]
    fn what_goes_alone_neither_joins_a_train_nor_begins_one() {
        use Company::{Alike, None as Alone};
        let mut trains = Trains::default();
        trains.limit(64);
        for (company, length) in [(Alike, 90), (Alone, 90), (Alone, 20), (Alike, 20), (Alike, 20), (Alone, 9)]
        {
            trains.add(ONE, Ecn::NotEct, company, &vec![7; length]);
        }
        assert_eq!(lengths(&trains), [(90, None), (90, None), (20, None), (40, Some(20)), (9, None)]);
    }

    #[test]
    fn equal_datagrams_go_together_and_a_shorter_one_ends_the_train() {
        let all = [100, 100, 40, 100, 100, 120, 120].map(|length| (ONE, Ecn::Ect0, length));
        assert_eq!(trains(64, &all), [(240, Some(100)), (200, Some(100)), (240, Some(120))]);
        assert_eq!(trains(2, &all), [(200, Some(100)), (40, None), (200, Some(100)), (240, Some(120))]);
        assert_eq!(trains(1, &all).len(), 7);
    }

    #[test]
    fn what_differs_goes_apart() {
        let mixed = [(ONE, Ecn::Ect0, 9), (TWO, Ecn::Ect0, 9), (TWO, Ecn::NotEct, 9), (TWO, Ecn::NotEct, 9)];
        assert_eq!(trains(64, &mixed), [(9, None), (9, None), (18, Some(9))]);
        let empty = [(ONE, Ecn::Ect0, 0), (ONE, Ecn::Ect0, 0)];
        assert_eq!(trains(64, &empty), [(0, None), (0, None)]);
    }

    #[test]
    fn no_train_is_longer_than_an_ip_packet() {
        let many = [(ONE, Ecn::Ect0, 1400); 100];
        assert_eq!(
            trains(64, &many),
            [(46 * 1400, Some(1400)), (46 * 1400, Some(1400)), (8 * 1400, Some(1400))]
        );
    }
}
