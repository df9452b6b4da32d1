//! Pointers of C as references of Rust.

use std::boxed::Box;

/// The thing behind a pointer.
///
/// # Safety
/// The pointer is null, or points to a `T` that lives and that nobody changes meanwhile.
pub(crate) unsafe fn look<'a, T>(pointer: *const T) -> Option<&'a T> {
    // SAFETY: passed on to the caller.
    unsafe { pointer.as_ref() }
}

/// The thing behind a pointer, to change.
///
/// # Safety
/// The pointer is null, or points to a `T` that lives and that nobody else uses meanwhile.
pub(crate) unsafe fn change<'a, T>(pointer: *mut T) -> Option<&'a mut T> {
    // SAFETY: passed on to the caller.
    unsafe { pointer.as_mut() }
}

/// Bytes behind a pointer; none for null.
///
/// # Safety
/// The pointer is null, or points to `length` bytes that live and that nobody changes meanwhile.
pub(crate) unsafe fn bytes<'a>(pointer: *const u8, length: usize) -> Option<&'a [u8]> {
    if pointer.is_null() {
        return (length == 0).then_some(&[]);
    }
    // SAFETY: not null; the rest is passed on to the caller.
    Some(unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// Room behind a pointer; none for null.
///
/// # Safety
/// The pointer is null, or points to `capacity` bytes that live and that nobody else uses
/// meanwhile, each of them written once.
pub(crate) unsafe fn room<'a>(pointer: *mut u8, capacity: usize) -> Option<&'a mut [u8]> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null; the rest is passed on to the caller.
    Some(unsafe { std::slice::from_raw_parts_mut(pointer, capacity) })
}

/// Hands a thing over to C.
pub(crate) fn give<T>(thing: T) -> *mut T {
    Box::into_raw(Box::new(thing))
}

/// Takes back what [`give`] handed over; null is nothing.
///
/// # Safety
/// The pointer is null, or came from [`give`] and was not taken back before.
pub(crate) unsafe fn take_back<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: not null; the rest is passed on to the caller.
        drop(unsafe { Box::from_raw(pointer) });
    }
}
