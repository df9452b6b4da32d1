//! Connection IDs that only this process gives out, and knows again: half of one is random, the
//! other half its authentication by a secret of the process.

use std::fmt;
use std::sync::Arc;

use noq::{ConnectionId, ConnectionIdGenerator};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Bytes of a connection ID.
pub(crate) const CONNECTION_ID: usize = 8;
const RANDOM: usize = CONNECTION_ID / 2;

/// The IDs of an endpoint. One that nobody here has may be that of an end which was here before,
/// and is answered with a stateless reset.
#[derive(Clone)]
pub(crate) struct Ids(Arc<hmac::Key>);

impl Default for Ids {
    fn default() -> Self {
        let mut secret = [0; 32];
        // Without random numbers there was no key either.
        let _ = SystemRandom::new().fill(&mut secret);
        Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &secret)))
    }
}

impl Ids {
    /// An ID without a pattern for others. noq draws again if it has this one.
    pub(crate) fn issue(&self) -> [u8; CONNECTION_ID] {
        let mut bytes = [0; CONNECTION_ID];
        let (random, seal) = bytes.split_at_mut(RANDOM);
        let _ = SystemRandom::new().fill(random);
        let tag = hmac::sign(&self.0, random);
        seal.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
        bytes
    }

    /// True if this is an ID of the endpoint.
    pub(crate) fn has_issued(&self, id: &[u8]) -> bool {
        let Some((random, seal)) = id.split_at_checked(RANDOM) else { return false };
        id.len() == CONNECTION_ID && hmac::sign(&self.0, random).as_ref().starts_with(seal)
    }
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.issue())
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ids")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_knows_its_own_ids_and_no_others() {
        let (ids, other) = (Ids::default(), Ids::default());
        for _ in 0..100 {
            let mut id = ids.issue();
            assert!(ids.has_issued(&id) && !other.has_issued(&id));
            assert!(!ids.has_issued(&id[..7]) && !ids.has_issued(&[&id[..], &[0]].concat()));
            id[7] ^= 1;
            assert!(!ids.has_issued(&id));
        }
    }
}
