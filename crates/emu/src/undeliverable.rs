//! Packets of programs that have no node to go to, counted by their destination.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

/// Packets that left a node and that the network has no node for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undeliverable {
    /// Their destination, such as `multicast 239.1.2.3`, `10.77.0.9` or `IPv6`.
    pub destination: String,
    /// Their number.
    pub packets: u64,
}

/// A destination without a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Destination {
    /// An address that no node has.
    NoNode(Ipv4Addr),
    /// A node to which no links lead.
    NoPath(Ipv4Addr),
    /// A multicast group or the broadcast address, at a node that no links leave.
    Everyone(Ipv4Addr),
    /// IPv6, which the emulator does not carry.
    Ipv6,
    /// Frames that are neither IPv4 nor IPv6, by their `EtherType`.
    Other(u16),
    /// Frames that say IPv4 and hold no whole packet of it.
    Broken,
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNode(address) => write!(f, "{address}"),
            Self::NoPath(address) => write!(f, "{address} without a path"),
            Self::Everyone(group) if group.is_multicast() => write!(f, "multicast {group}"),
            Self::Everyone(address) => write!(f, "broadcast {address}"),
            Self::Ipv6 => f.write_str("IPv6"),
            Self::Other(kind) => write!(f, "EtherType {kind:#06x}"),
            Self::Broken => f.write_str("broken IPv4"),
        }
    }
}

/// Counts of packets without a node.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    packets: BTreeMap<Destination, u64>,
    /// Packets to further destinations.
    others: u64,
}

/// Destinations counted one by one: a program that scans a network has many.
const MOST: usize = 100;

impl Counts {
    pub(crate) fn add(&mut self, destination: Destination) {
        if let Some(count) = self.packets.get_mut(&destination) {
            *count += 1;
        } else if self.packets.len() < MOST {
            self.packets.insert(destination, 1);
        } else {
            self.others += 1;
        }
    }

    /// The counts, the greatest first; further destinations last, as one.
    pub(crate) fn list(&self) -> Vec<Undeliverable> {
        let named = self.packets.iter().map(|(to, packets)| (to.to_string(), *packets));
        let mut list: Vec<_> =
            named.map(|(destination, packets)| Undeliverable { destination, packets }).collect();
        list.sort_by_key(|one| std::cmp::Reverse(one.packets));
        if self.others > 0 {
            list.push(Undeliverable { destination: "others".to_owned(), packets: self.others });
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_by_name_the_greatest_first_and_the_rest_as_one() {
        let mut counts = Counts::default();
        let group = Destination::Everyone(Ipv4Addr::new(239, 1, 2, 3));
        let known = [group, Destination::Ipv6, group, Destination::Other(0x88cc), group, Destination::Ipv6];
        known.into_iter().for_each(|one| counts.add(one));
        let words = |counts: &Counts| {
            counts.list().into_iter().map(|one| (one.destination, one.packets)).collect::<Vec<_>>()
        };
        let expected = [("multicast 239.1.2.3", 3), ("IPv6", 2), ("EtherType 0x88cc", 1)];
        assert_eq!(words(&counts), expected.map(|(to, packets)| (to.to_owned(), packets)));
        for host in 0..200 {
            counts.add(Destination::NoNode(Ipv4Addr::new(10, 77, 1, host)));
        }
        let all = words(&counts);
        assert_eq!(all.last(), Some(&("others".to_owned(), 103)));
        assert_eq!(all.iter().map(|(_, packets)| packets).sum::<u64>(), 206, "none is left out");
    }
}
