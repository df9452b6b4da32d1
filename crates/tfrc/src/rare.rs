//! State that few connections have, and state that many have alike: with an allocator only those
//! that have it pay for the memory of the former, and clones share that of the latter.

#[cfg(not(feature = "alloc"))]
pub(crate) use in_place::{Rare, Shared, common, own, rare, shared};
#[cfg(feature = "alloc")]
pub(crate) use on_heap::{Rare, Shared, common, own, rare, shared};

#[cfg(feature = "alloc")]
mod on_heap {
    pub(crate) type Rare<T> = alloc::boxed::Box<T>;
    pub(crate) type Shared<T> = alloc::sync::Arc<T>;

    pub(crate) fn shared<T>(state: T) -> Shared<T> {
        Shared::new(state)
    }

    /// State of one's own from now on, to change it.
    pub(crate) fn own<T: Clone>(state: &mut Shared<T>) -> &mut T {
        Shared::make_mut(state)
    }

    #[expect(clippy::unnecessary_box_returns, reason = "the other place returns no box")]
    pub(crate) fn rare<T>(state: T) -> Rare<T> {
        Rare::new(state)
    }

    #[expect(clippy::boxed_local, reason = "the other place takes no box")]
    pub(crate) fn common<T>(state: Rare<T>) -> T {
        *state
    }
}

#[cfg(not(feature = "alloc"))]
mod in_place {
    pub(crate) type Rare<T> = T;
    pub(crate) type Shared<T> = T;

    pub(crate) const fn shared<T>(state: T) -> Shared<T> {
        state
    }

    pub(crate) const fn own<T: Clone>(state: &mut Shared<T>) -> &mut T {
        state
    }

    pub(crate) const fn rare<T>(state: T) -> Rare<T> {
        state
    }

    pub(crate) const fn common<T>(state: Rare<T>) -> T {
        state
    }
}
