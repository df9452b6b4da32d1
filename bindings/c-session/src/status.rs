//! Answers of functions, and the text of the last failure.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt::Display;

use tfrc_border::text;

/// A wait without a limit, or a time that is not known.
pub const NEVER: u64 = u64::MAX;

/// The answer of a function. Zero and above: it was done. Below zero: it was not done, and
/// `tfrc_session_error` says why. Numbers of `tfrc_status` with the same name are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// Done, and there was nothing: the peer sends no more.
    Nothing = 1,
    /// A pointer is null that must not be.
    Null = -1,
    /// A number or a text is out of its range.
    Range = -2,
    /// The buffer is too short; the datagram waits for a longer one.
    Buffer = -3,
    /// The send queue stayed full.
    Full = -4,
    /// The datagram does not fit into a packet.
    TooLong = -5,
    /// The session or the listener is over or ending, or the peer is gone.
    Closed = -6,
    /// The address cannot be bound to, or the name has no address.
    Address = -7,
    /// The time is over.
    Timeout = -8,
    /// A key cannot be read, is not the one that is expected, or is not let in.
    Key = -9,
    /// The options ask for what their carrier lacks, or the two ends have different carriers.
    Carrier = -10,
    /// The peer cannot be reached, or does not take the session.
    Refused = -11,
    /// The file cannot be read or written, or is there already.
    File = -12,
    /// The file is not whole at the receiver.
    NotWhole = -13,
    /// One of the two ends was made for another part, such as datagrams in place of a file.
    Part = -14,
    /// The system gives no thread.
    System = -15,
}

/// Why a function did nothing.
#[derive(Debug)]
pub(crate) struct Failure {
    status: Status,
    text: String,
}

impl Failure {
    pub(crate) fn new(status: Status, text: impl Display) -> Self {
        Self { status, text: text.to_string() }
    }

    pub(crate) fn null(name: &str) -> Self {
        Self::new(Status::Null, format_args!("{name} is a null pointer"))
    }

    pub(crate) fn range(text: impl Display) -> Self {
        Self::new(Status::Range, text)
    }
}

/// The answer of a function that ends so.
pub(crate) type Answer<T = Status> = Result<T, Failure>;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The status for C; the text of a failure is kept.
pub(crate) fn answer(done: Answer) -> Status {
    done.unwrap_or_else(|Failure { status, text }| {
        LAST.set(c_text(text));
        status
    })
}

/// A text for C. A zero byte inside would end it: there is none in texts that people read.
pub(crate) fn c_text(text: impl Into<Vec<u8>>) -> CString {
    let mut text = text.into();
    text.retain(|&byte| byte != 0);
    CString::new(text).unwrap_or_default()
}

/// A text from C.
///
/// # Safety
/// The pointer is null, or points to a text that lives and that nobody changes meanwhile.
pub(crate) unsafe fn words<'a>(pointer: *const c_char, name: &str) -> Answer<&'a str> {
    // SAFETY: passed on to the caller.
    let text = unsafe { text(pointer) }.ok_or_else(|| Failure::null(name))?;
    text.to_str().map_err(|_| Failure::range(format_args!("{name} is not UTF-8")))
}

/// The reason of the last answer below zero in this thread, in a sentence; empty if there was none.
/// It lives until the next answer below zero in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn tfrc_session_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}
