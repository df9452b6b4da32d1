//! State that few connections have: with an allocator only those pay for its memory.

#[cfg(not(feature = "alloc"))]
pub(crate) use in_place::{Rare, common, rare};
#[cfg(feature = "alloc")]
pub(crate) use on_heap::{Rare, common, rare};

#[cfg(feature = "alloc")]
mod on_heap {
    pub(crate) type Rare<T> = alloc::boxed::Box<T>;

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

    pub(crate) const fn rare<T>(state: T) -> Rare<T> {
        state
    }

    pub(crate) const fn common<T>(state: Rare<T>) -> T {
        state
    }
}
