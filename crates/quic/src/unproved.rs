//! Bytes for addresses that have not proved to be a client's own: at most three times the bytes
//! that have come from them (RFC 9000 §8.1). QUIC begins a datagram while a byte is left; this is
//! the exact bound.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::moves::Rival;

/// Bytes out for each byte in.
const TIMES: u64 = 3;
/// The least bytes of a client's first datagram (RFC 9000 §14.1).
const FIRST: u64 = 1200;

/// Addresses whose handshakes have ended that are still bounded: QUIC may repeat its last packet.
/// More than end in the second or so of that, at the 600 a second of one address that are tested.
const ENDED: usize = 1024;

/// The addresses of an endpoint's handshakes that have proved nothing.
#[derive(Debug, Default)]
pub(crate) struct Unproved(Mutex<Addresses>);

/// The handshake of an address under the bound.
#[derive(Debug)]
pub(crate) struct Bound {
    all: Arc<Unproved>,
    address: SocketAddr,
}

#[derive(Debug, Default)]
struct Addresses {
    bounded: BTreeMap<SocketAddr, Bytes>,
    ended: VecDeque<SocketAddr>,
}

#[derive(Debug, Default)]
struct Bytes {
    handshakes: usize,
    come: u64,
    gone: u64,
    /// Another address from which packets of the handshake have come, and what may go there.
    rival: Option<(SocketAddr, u64)>,
}

/// The decision about a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes.
    Goes,
    /// It goes, and a copy to this address.
    GoesAlso(SocketAddr),
    /// It would be too much.
    Stays,
}

impl Unproved {
    /// Bounds an address from which the first datagram of a client has come.
    pub(crate) fn begin(self: &Arc<Self>, address: SocketAddr) -> Bound {
        let mut all = self.all();
        // A later first datagram has been counted as it came.
        let first = || Bytes { come: FIRST, ..Bytes::default() };
        all.bounded.entry(address).or_insert_with(first).handshakes += 1;
        Bound { all: Arc::clone(self), address }
    }

    /// Takes the bound off an address that is the client's own.
    pub(crate) fn proved(&self, address: SocketAddr) {
        self.all().bounded.remove(&address);
    }

    /// Counts bytes that have come.
    pub(crate) fn come(&self, from: SocketAddr, length: u64) {
        if let Some(bytes) = self.all().bounded.get_mut(&from) {
            bytes.come += length;
        }
    }

    /// Counts bytes that are to go.
    pub(crate) fn goes(&self, to: SocketAddr, length: u64) -> Verdict {
        let mut all = self.all();
        let Some(bytes) = all.bounded.get_mut(&to) else { return Verdict::Goes };
        if bytes.gone + length > bytes.come * TIMES {
            return Verdict::Stays;
        }
        bytes.gone += length;
        match &mut bytes.rival {
            Some((address, left)) if length <= *left => {
                *left -= length;
                Verdict::GoesAlso(*address)
            }
            Some(_) | None => Verdict::Goes,
        }
    }

    /// Has the last packet of a handshake go to a second address too, from which a first packet of
    /// it has come: one of them is the client's.
    pub(crate) fn contested(&self, address: SocketAddr, rival: Rival) {
        if let Some(bytes) = self.all().bounded.get_mut(&address) {
            bytes.rival = Some((rival.address, rival.came.saturating_mul(TIMES)));
        }
    }

    fn all(&self) -> MutexGuard<'_, Addresses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let mut all = self.all.all();
        if let Some(bytes) = all.bounded.get_mut(&self.address) {
            bytes.handshakes = bytes.handshakes.saturating_sub(1);
            bytes.rival = None;
            all.ended.retain(|other| *other != self.address);
            all.ended.push_back(self.address);
        }
        while all.ended.len() > ENDED
            && let Some(address) = all.ended.pop_front()
        {
            if all.bounded.get(&address).is_some_and(|bytes| bytes.handshakes == 0) {
                all.bounded.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> SocketAddr {
        ([192, 0, 2, 1], port).into()
    }

    #[test]
    fn three_times_what_has_come_and_not_a_byte_more() {
        let all = Arc::new(Unproved::default());
        let goes = |length| all.goes(at(1), length) == Verdict::Goes;
        assert!(goes(10_000), "nothing is known of it");
        let bound = all.begin(at(1));
        assert!(goes(1200) && goes(1200) && goes(1199));
        assert!(!goes(2));
        assert!(goes(1) && !goes(1));
        all.come(at(1), 100);
        assert!(!goes(301) && goes(300));
        drop(bound);
        assert!(!goes(1), "the last packet may be repeated");
        all.come(at(1), 1200);
        let _second = all.begin(at(1));
        assert!(goes(3600) && !goes(1));
        all.proved(at(1));
        assert!(goes(10_000));
    }

    #[test]
    fn two_addresses_hear_the_end_of_a_contested_handshake_and_no_more() {
        let all = Arc::new(Unproved::default());
        let bound = all.begin(at(1));
        all.contested(at(1), Rival { address: at(2), came: 400 });
        assert_eq!(all.goes(at(1), 1200), Verdict::GoesAlso(at(2)));
        assert_eq!(all.goes(at(1), 1201), Verdict::Goes, "the second address sent 400 bytes");
        assert_eq!(all.goes(at(1), 1200), Verdict::Stays);
        drop(bound);
        assert_eq!(all.goes(at(1), 100), Verdict::Goes);
    }

    #[test]
    fn few_handshakes_that_have_ended_are_kept() {
        let all = Arc::new(Unproved::default());
        let _lasts = all.begin(at(1));
        for port in 0..10_000 {
            drop(all.begin(at(port)));
        }
        let kept = all.all();
        assert_eq!((kept.bounded.len(), kept.ended.len()), (ENDED + 1, ENDED));
        assert!(kept.bounded.contains_key(&at(1)));
    }
}
