//! Bytes for addresses that have not proved to be a client's own: at most three times the bytes
//! that have come from them (RFC 9000 §8.1). QUIC begins a datagram while a byte is left; this is
//! the exact bound.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes out for each byte in.
const TIMES: u64 = 3;
/// The least bytes of a client's first datagram (RFC 9000 §14.1).
const FIRST: u64 = 1200;

/// Addresses whose handshakes have ended that are still bounded: QUIC may repeat its last packet.
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
}

impl Unproved {
    /// Bounds an address from which the first datagram of a client has come.
    pub(crate) fn begin(self: &Arc<Self>, address: SocketAddr) -> Bound {
        let mut all = self.all();
        let bytes = all.bounded.entry(address).or_default();
        bytes.handshakes += 1;
        bytes.come += FIRST;
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

    /// Counts bytes that are to go. Returns false if they may not.
    pub(crate) fn may_go(&self, to: SocketAddr, length: u64) -> bool {
        let mut all = self.all();
        let Some(bytes) = all.bounded.get_mut(&to) else { return true };
        let may_go = bytes.gone + length <= bytes.come * TIMES;
        bytes.gone += if may_go { length } else { 0 };
        may_go
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
            all.ended.push_back(self.address);
        }
        while all.ended.len() > ENDED {
            let oldest = all.ended.pop_front();
            let Some(address) = oldest else { return };
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
        assert!(all.may_go(at(1), 10_000), "nothing is known of it");
        let bound = all.begin(at(1));
        assert!(all.may_go(at(1), 1200) && all.may_go(at(1), 1200) && all.may_go(at(1), 1199));
        assert!(!all.may_go(at(1), 2));
        assert!(all.may_go(at(1), 1) && !all.may_go(at(1), 1));
        all.come(at(1), 100);
        assert!(!all.may_go(at(1), 301) && all.may_go(at(1), 300));
        drop(bound);
        assert!(!all.may_go(at(1), 1), "the last packet may be repeated");
        let _second = all.begin(at(1));
        assert!(all.may_go(at(1), 3600) && !all.may_go(at(1), 1));
        all.proved(at(1));
        assert!(all.may_go(at(1), 10_000));
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
