//! Files that arrive whole, one in a session.

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tfrc_border::{change, look, text};
use tfrc_session::{FileError, receive_file, send_file};

use crate::options::Part;
use crate::runtime::{late, within};
use crate::session::Session;
use crate::status::{Answer, Failure, Status, answer};

/// A file that has arrived: the hash of the whole agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct FileCopy {
    /// Its length, bytes.
    pub bytes: u64,
    /// Bytes that went after the first pass, in place of those that the network lost.
    pub repaired_bytes: u64,
}

/// Policy for a file that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Existing {
    /// It stays, and the call is refused.
    Refuse = 0,
    /// It is replaced once the new one is whole.
    Overwrite = 1,
}

/// Sends a file until the peer has all of it, and ends the session. Null for `copy` is allowed.
/// After TFRC_SESSION_STATUS_TIMEOUT the session is of no more use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_send_file(
    session: *const Session,
    path: *const c_char,
    timeout_ms: u64,
    copy: *mut FileCopy,
) -> Status {
    // SAFETY: a handle of this library, a text, and null or room, says the header.
    let (session, path, room) = unsafe { (look(session), text(path), change(copy)) };
    answer((|| {
        let (session, path) = checked(session, path, Part::SendsFile)?;
        let sent = within(timeout_ms, send_file(&session.connection, path))?;
        ended(sent, path, timeout_ms, room)
    })())
}

/// Receives the peer's file, and ends the session: `path` is there once the hash of the whole
/// agrees and all of it is on the disk. `existing` is a `tfrc_session_existing`; null for `copy` is
/// allowed. What an unfinished session has brought is left in `path` with `.part` behind it. After
/// TFRC_SESSION_STATUS_TIMEOUT the session is of no more use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_session_receive_file(
    session: *const Session,
    path: *const c_char,
    existing: u8,
    timeout_ms: u64,
    copy: *mut FileCopy,
) -> Status {
    // SAFETY: a handle of this library, a text, and null or room, says the header.
    let (session, path, room) = unsafe { (look(session), text(path), change(copy)) };
    answer((|| {
        let existing = match existing {
            0 => tfrc_session::Existing::Refuse,
            1 => tfrc_session::Existing::Overwrite,
            other => return Err(Failure::range(format_args!("there is no policy {other}"))),
        };
        let (session, path) = checked(session, path, Part::ReceivesFile)?;
        let received = within(timeout_ms, async {
            let received = receive_file(&session.connection, path, existing).await;
            session.farewell().await;
            received
        })?;
        ended(received, path, timeout_ms, room)
    })())
}

fn checked<'a>(
    session: Option<&'a Session>,
    path: Option<&'a CStr>,
    part: Part,
) -> Answer<(&'a Session, &'a Path)> {
    let session = session.ok_or_else(|| Failure::null("session"))?;
    let path = path.ok_or_else(|| Failure::null("path"))?;
    if session.part != part {
        let text = format!(
            "this session is not made for that: tfrc_session_options_set_part sets {part:?}, and it is {:?}",
            session.part
        );
        return Err(Failure::new(Status::Part, text));
    }
    Ok((session, Path::new(OsStr::from_bytes(path.to_bytes()))))
}

fn ended(
    done: Option<Result<tfrc_session::FileCopy, FileError>>,
    path: &Path,
    timeout_ms: u64,
    room: Option<&mut FileCopy>,
) -> Answer {
    let place = path.display();
    match done.ok_or_else(|| late(&format!("{place}: not whole"), timeout_ms))? {
        Ok(tfrc_session::FileCopy { bytes, repaired_bytes }) => {
            if let Some(room) = room {
                *room = FileCopy { bytes, repaired_bytes };
            }
            Ok(Status::Ok)
        }
        Err(error) => {
            let status = match error {
                FileError::NotAgreed(_) => Status::Part,
                FileError::Place(_) | FileError::File(_) => Status::File,
                FileError::NotWhole(_) => Status::NotWhole,
                _ => Status::Closed,
            };
            // The error of a place names it.
            Err(match error {
                FileError::Place(error) => Failure::new(status, error),
                error => Failure::new(status, format_args!("{place}: {error}")),
            })
        }
    }
}
