//! Counts what each thread has on the heap.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use tfrc_units::saturating;

struct Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
}

fn add(bytes: usize, sign: i64) {
    let bytes = saturating::<i64>(bytes);
    // While a thread ends there is nothing left to count in.
    let _ = HELD.try_with(|held| held.set(held.get() + sign * bytes));
}

#[expect(unsafe_code, reason = "an allocator that counts; all work is left to the system's")]
// SAFETY: each call is handed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size(), 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(layout.size(), -1);
        // SAFETY: the caller keeps the contract of `dealloc`, and the system allocated this.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// Bytes this thread holds more than it has given back.
pub(crate) fn held() -> i64 {
    HELD.with(Cell::get)
}
