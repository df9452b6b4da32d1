//! Init Cookies (RFC 4340 §8.1.4): a server's state of a Request, given to the client to keep.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | when it was issued, in nanoseconds of our clock |
//! | 6 | the number of the Request |
//! | n | the options of the Request as they stood |
//! | 8 | a keyed hash (SipHash-2-4) of all of this, the client's address and both ports |
//!
//! Nothing in it is secret, so it is not encrypted; nobody else can make one. The initial sequence
//! number of the Response is not in it: it follows from addresses, ports and the time, and the
//! client proves with it that it has seen the Response.

use alloc::vec::Vec;
use core::net::SocketAddr;

use tfrc_units::{Duration, Instant, SeqNo48};

use crate::connection::Ports;
use crate::secret::{self, Purpose};
use crate::wire::number_of;

/// A cookie is valid for at most this long: a client that waits for a Response asks again
/// after 64 s (RFC 4340 §8.1.1), so two of its waits.
pub(super) const LONGEST_LIFE: Duration = Duration::from_secs(128);

/// Validity of cookies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Freshness {
    pub(super) now: Instant,
    /// Age at which they expire.
    pub(super) lifetime: Duration,
    /// Cookies issued up to this time are refused, whatever their age: connections made from them
    /// are forgotten.
    pub(super) refused_until: Option<Instant>,
}

impl Freshness {
    fn allows(&self, issued: Instant) -> bool {
        self.now.saturating_since(issued) < self.lifetime
            && self.refused_until.is_none_or(|until| issued > until)
    }
}

/// Requests within the same stretch of time get the same initial sequence number, so that a
/// repeated one does not confuse its client.
const STRETCH_NS: u64 = 64_000_000_000;
const TIME: usize = 8;
const NUMBER: usize = 6;
const HASH: usize = 8;
/// Most bytes of data that an option can carry.
const LONGEST: usize = 253;

/// A server's record of a Request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cookie {
    pub(super) issued: Instant,
    /// ISR.
    pub(super) request: SeqNo48,
    /// The options of the Request.
    pub(super) options: Vec<u8>,
}

/// The key of cookies and the client of this one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seal<'a> {
    pub(super) seed: &'a [u8; 32],
    pub(super) remote: SocketAddr,
    pub(super) ports: Ports,
}

impl Seal<'_> {
    fn hash(&self, content: &[u8]) -> [u8; HASH] {
        let mut all = Vec::from(content);
        all.extend_from_slice(&self.ports.local.to_be_bytes());
        all.extend_from_slice(&self.ports.remote.to_be_bytes());
        secret::keyed_hash_of(self.seed, Purpose::InitCookie, Some(self.remote), &all).to_be_bytes()
    }

    /// The number of the Response to a Request that came at this time.
    pub(super) fn initial_sequence_number(&self, issued: Instant) -> SeqNo48 {
        let stretch = Instant::from_nanos(issued.as_nanos() / STRETCH_NS * STRETCH_NS);
        let (local, remote) = (self.ports.local, self.ports.remote);
        secret::initial_sequence_number(self.seed, Some(self.remote), local, remote, stretch)
    }
}

impl Cookie {
    /// The option's data; `None` if the Request had more options than fit.
    pub(super) fn seal(&self, seal: &Seal<'_>) -> Option<Vec<u8>> {
        let mut bytes = Vec::from(self.issued.as_nanos().to_be_bytes());
        bytes.extend(self.request.get().to_be_bytes().iter().skip(TIME - NUMBER));
        bytes.extend_from_slice(&self.options);
        let hash = seal.hash(&bytes);
        bytes.extend_from_slice(&hash);
        (bytes.len() <= LONGEST).then_some(bytes)
    }

    /// Reads an option's data; `None` if it is not one of ours for this client, or too old.
    pub(super) fn open(bytes: &[u8], seal: &Seal<'_>, freshness: Freshness) -> Option<Self> {
        let (content, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH)?)?;
        if seal.hash(content) != hash {
            return None;
        }
        let (time, rest) = content.split_at_checked(TIME)?;
        let (number, options) = rest.split_at_checked(NUMBER)?;
        let issued = Instant::from_nanos(number_of(time));
        freshness.allows(issued).then(|| Self {
            issued,
            request: SeqNo48::new(number_of(number)),
            options: Vec::from(options),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: Ports = Ports { local: 5001, remote: 49_152 };

    fn at(s: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(s)
    }

    fn fresh(s: u64) -> Freshness {
        Freshness { now: at(s), lifetime: LONGEST_LIFE, refused_until: None }
    }

    fn cookie() -> Cookie {
        Cookie { issued: at(100), request: SeqNo48::new(0x1234_5678_9ABC), options: Vec::from(*b"options.") }
    }

    #[test]
    fn only_its_own_client_can_use_it_and_not_for_ever() {
        let seed = [3; 32];
        let remote = "192.0.2.1:6511".parse().expect("an address");
        let seal = Seal { seed: &seed, remote, ports: PORTS };
        let bytes = cookie().seal(&seal).expect("it fits");
        assert_eq!(Cookie::open(&bytes, &seal, fresh(100 + 127)), Some(cookie()));
        assert_eq!(Cookie::open(&bytes, &seal, fresh(100 + 128)), None);
        let forgotten = |until| Freshness { refused_until: Some(at(until)), ..fresh(101) };
        assert_eq!(Cookie::open(&bytes, &seal, forgotten(99)), Some(cookie()));
        assert_eq!(Cookie::open(&bytes, &seal, forgotten(100)), None);
        let elsewhere = Seal { remote: "192.0.2.1:6512".parse().expect("an address"), ..seal };
        let other_port = Seal { ports: Ports { remote: 49_153, ..PORTS }, ..seal };
        let other_key = Seal { seed: &[4; 32], ..seal };
        for seal in [elsewhere, other_port, other_key] {
            assert_eq!(Cookie::open(&bytes, &seal, fresh(101)), None);
        }
        for changed in 0..bytes.len() {
            let mut bytes = bytes.clone();
            if let Some(byte) = bytes.get_mut(changed) {
                *byte ^= 1;
            }
            assert_eq!(Cookie::open(&bytes, &seal, fresh(101)), None, "byte {changed}");
        }
        assert!((0..bytes.len()).all(|length| {
            Cookie::open(bytes.get(..length).unwrap_or_default(), &seal, fresh(101)).is_none()
        }));
    }

    #[test]
    fn a_request_with_too_many_options_has_none() {
        let seed = [3; 32];
        let remote = "192.0.2.1:6511".parse().expect("an address");
        let seal = Seal { seed: &seed, remote, ports: PORTS };
        let with = |length| Cookie { options: alloc::vec![0; length], ..cookie() };
        assert_eq!(with(231).seal(&seal).map(|bytes| bytes.len()), Some(253));
        assert_eq!(with(232).seal(&seal), None);
    }
}
