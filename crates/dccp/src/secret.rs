//! Numbers that an outsider must not guess, from a 32-byte seed by keyed hashing (RFC 4340 §7.2).

use core::hash::Hasher;
use core::net::{IpAddr, SocketAddr};

use siphasher::sip::SipHasher24;
use tfrc_units::{Instant, SeqNo48};

/// Purpose of a hash: the same input gives unrelated numbers for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An initial sequence number.
    SequenceNumber,
    /// A client's port.
    Port,
    /// Which sequence numbers are left out.
    SkippedNumbers,
    /// An Init Cookie.
    InitCookie,
}

/// The initial sequence number of a connection: its own space per pair of addresses and ports,
/// moved on by a clock of 4 µs.
pub(crate) fn initial_sequence_number(
    seed: &[u8; 32],
    remote: Option<SocketAddr>,
    local_port: u16,
    remote_port: u16,
    now: Instant,
) -> SeqNo48 {
    let number = u64::from(local_port) << 16 | u64::from(remote_port);
    let hash = keyed_hash(seed, Purpose::SequenceNumber, remote, number);
    SeqNo48::new(hash.wrapping_add(now.as_nanos() / 4_000))
}

/// A hash of an address and a number under the seed.
pub(crate) fn keyed_hash(seed: &[u8; 32], purpose: Purpose, remote: Option<SocketAddr>, number: u64) -> u64 {
    keyed_hash_of(seed, purpose, remote, &number.to_be_bytes())
}

/// A hash of an address and some bytes under the seed.
pub(crate) fn keyed_hash_of(
    seed: &[u8; 32],
    purpose: Purpose,
    remote: Option<SocketAddr>,
    bytes: &[u8],
) -> u64 {
    let mut keys = seed.chunks_exact(8).map(crate::wire::number_of);
    let mut key = || keys.next().unwrap_or(0);
    let mut hasher = SipHasher24::new_with_keys(key(), key());
    // The second half of the seed is hashed in: it counts too.
    // RFC 4340 §3.1.
    hasher.write(&key().to_be_bytes());
    hasher.write(&key().to_be_bytes());
    hasher.write(&[match purpose {
        Purpose::SequenceNumber => 1,
        Purpose::Port => 2,
        Purpose::SkippedNumbers => 3,
        Purpose::InitCookie => 4,
    }]);
    if let Some(remote) = remote {
        match remote.ip() {
            IpAddr::V4(ip) => hasher.write(&ip.octets()),
            IpAddr::V6(ip) => hasher.write(&ip.octets()),
        }
        hasher.write(&remote.port().to_be_bytes());
    }
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_units::Duration;

    #[test]
    fn every_part_counts_and_the_clock_moves_on() {
        let seed = [7; 32];
        let remote: SocketAddr = "192.0.2.1:6511".parse().expect("an address");
        let of =
            |seed: &[u8; 32], remote, port| initial_sequence_number(seed, remote, port, 5, Instant::ZERO);
        let first = of(&seed, Some(remote), 1);
        assert_eq!(first, of(&seed, Some(remote), 1));
        let mut late = seed;
        if let Some(byte) = late.last_mut() {
            *byte = 8;
        }
        let other = "[2001:db8::1]:6511".parse().ok();
        for different in
            [of(&late, Some(remote), 1), of(&seed, other, 1), of(&seed, None, 1), of(&seed, Some(remote), 2)]
        {
            assert_ne!(first, different);
        }
        let later = Instant::ZERO + Duration::from_micros(40);
        assert_eq!(initial_sequence_number(&seed, Some(remote), 1, 5, later), first.add(10));
    }
}
