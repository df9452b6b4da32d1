//! Answers of functions, with a text for each.

use std::ffi::{CStr, c_char};

/// The answer of a function. Zero and above: it was done. Below zero: nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// Done, and there was nothing: no packet, no event, no report.
    Nothing = 1,
    /// A report that says nothing new: it names a packet that was never sent, is forgotten, or is
    /// older than that of the report before.
    Stale = 2,
    /// A pointer is null that must not be.
    Null = -1,
    /// A number is out of its range; the function's text says which range.
    Range = -2,
    /// The buffer is too short; what was to be written waits for a longer one.
    Buffer = -3,
    /// The send queue is full; `TFRC_EVENT_KIND_WRITABLE` says when it has room.
    Full = -4,
    /// The datagram does not fit into a packet.
    TooLong = -5,
    /// The connection is closing or closed, or there is none with this number.
    Closed = -6,
    /// The peer's address is of another IP version, or no free port is left.
    Address = -7,
    /// The sender has not stopped, or may not begin again yet.
    NotNow = -8,
}

/// Describes a status in a sentence. The text lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn tfrc_status_text(status: i32) -> *const c_char {
    text(status).as_ptr()
}

fn text(status: i32) -> &'static CStr {
    match status {
        0 => c"done",
        1 => c"nothing to give",
        2 => c"the report says nothing new",
        -1 => c"a pointer is null",
        -2 => c"a number is out of its range",
        -3 => c"the buffer is too short",
        -4 => c"the send queue is full",
        -5 => c"the datagram does not fit into a packet",
        -6 => c"the connection is closing, closed or unknown",
        -7 => c"the address is of another IP version, or no port is free",
        -8 => c"the sender cannot begin again now",
        _ => c"no status of this library",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_text_of_its_own() {
        let all = [
            Status::Ok,
            Status::Nothing,
            Status::Stale,
            Status::Null,
            Status::Range,
            Status::Buffer,
            Status::Full,
            Status::TooLong,
            Status::Closed,
            Status::Address,
            Status::NotNow,
        ];
        let texts: std::collections::BTreeSet<_> = all.iter().map(|status| text(*status as i32)).collect();
        assert_eq!(texts.len(), all.len());
        assert!(!texts.contains(text(77)));
    }
}
