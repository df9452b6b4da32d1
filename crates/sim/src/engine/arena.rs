//! Storage for all packets in the network.

use tfrc_units::saturating;

/// The payloads of all packets in the network. They stay in their place from sending to reception;
/// links hand on only the numbers, under which they keep the rest of a packet
/// ([`crate::link::OnLinks`]).
#[derive(Debug)]
pub(crate) struct Arena<P> {
    slots: Vec<Place<P>>,
    free: Vec<Slot>,
}

/// A place for a payload: most are as large as a cache line, and lie in one.
#[derive(Debug)]
#[repr(align(64))]
struct Place<P>(Option<P>);

/// The place of a packet, until it is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(u32);

impl<P> Arena<P> {
    /// With room for this number of packets, which costs nothing before they come.
    pub(crate) fn with_room(packets: usize) -> Self {
        Self { slots: Vec::with_capacity(packets), free: Vec::new() }
    }

    /// `None` if 2^32 - 2 packets are in the network.
    #[inline(always)]
    pub(crate) fn put(&mut self, payload: P) -> Option<Slot> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.grow()?,
        };
        // A free place has nothing to be dropped.
        core::mem::forget(self.slots.get_mut(slot.index())?.0.replace(payload));
        Some(slot)
    }

    #[cold]
    fn grow(&mut self) -> Option<Slot> {
        let slot = u32::try_from(self.slots.len()).ok().map(Slot).filter(|slot| *slot < Slot::UNUSED)?;
        self.slots.push(Place(None));
        Some(slot)
    }

    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> Option<&P> {
        self.slots.get(slot.index())?.0.as_ref()
    }

    #[inline]
    pub(crate) fn take(&mut self, slot: Slot) -> Option<P> {
        let Place(place) = self.slots.get_mut(slot.index())?;
        if place.is_some() {
            self.free.push(slot);
        }
        place.take()
    }

    /// Takes a packet out unseen.
    #[inline]
    pub(crate) fn discard(&mut self, slot: Slot) {
        if let Some(Place(payload)) = self.slots.get_mut(slot.index()).filter(|place| place.0.is_some()) {
            *payload = None;
            self.free.push(slot);
        }
    }

    /// Packets in the network.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl Slot {
    /// The place of none.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// A place that is not used either.
    pub(crate) const UNUSED: Self = Self(u32::MAX - 1);

    #[inline(always)]
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        saturating::<usize>(self.0)
    }
}
