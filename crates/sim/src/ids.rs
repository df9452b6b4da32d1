//! Numbers of nodes and links.

use core::fmt;

use tfrc_units::saturating;

/// A node of one [`Network`](crate::Network).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// A link of one [`Network`](crate::Network).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) u32);

impl NodeId {
    #[inline]
    pub(crate) fn index(self) -> usize {
        saturating::<usize>(self.0)
    }
}

impl LinkId {
    /// The number of no link.
    pub(crate) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(crate) fn index(self) -> usize {
        saturating::<usize>(self.0)
    }
}

/// `#` and its number.
impl fmt::Display for LinkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
