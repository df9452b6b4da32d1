//! Feeding a journal into a fresh machine.

use std::io::Read;

use tfrc_dccp::endpoint::Transmission;
use tfrc_units::{Duration, Instant, saturating};

use super::read::{JournalError, Reader};
use super::record::Record;
use crate::journaled_endpoint::Machine;

/// The longest time from serving the timers to sending: a host that writes journals does both at
/// the same time, and half a second is as late as the machine lets it be.
const LATE: Duration = Duration::from_millis(500);

/// Counts of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Replayed {
    /// Inputs given to the machine.
    pub inputs: u64,
    /// Datagrams it sent, all equal to those recorded.
    pub transmitted: u64,
    /// Total length of those datagrams, bytes.
    pub transmitted_bytes: u64,
    /// Time from the first to the last record, in nanoseconds.
    pub span_ns: u64,
    /// The end of the journal.
    pub end: JournalEnd,
}

/// The end of a journal that was replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JournalEnd {
    /// Its last block.
    #[default]
    Whole,
    /// Its writer was killed, or had no room: the blocks before this one were replayed.
    CutOff {
        /// Number of the block that is missing or not whole, from 0; at least 1.
        block: u64,
        /// Where that block begins in the file.
        offset: u64,
    },
}

/// Why a replay failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The journal itself is not as it was written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The options in it are out of range.
    #[error("the options in the journal are out of range: {0}")]
    Options(tfrc::ConfigError),
    /// The machine did something else than what was recorded.
    #[error("block {block}, {seconds:.6} s into the session: {what}")]
    Differs {
        /// Number of the block, from 0.
        block: u64,
        /// When, since the first record.
        seconds: f64,
        /// The difference.
        what: String,
    },
}

/// Feeds a journal's inputs into a fresh machine and compares what it sends with what was recorded,
/// byte for byte. A journal that was cut off is replayed as far as its blocks are whole
/// ([`Replayed::end`]), at least its first one.
///
/// # Errors
/// [`ReplayError`] at the first difference or the first block that was changed.
pub fn replay(input: impl Read) -> Result<Replayed, ReplayError> {
    let mut reader = Reader::new(input)?;
    let mut machine = Machine::from_setup(reader.setup()).map_err(ReplayError::Options)?;
    let mut done = Replayed::default();
    let mut start = None;
    let mut sent = Vec::new();
    // The timers up to here were served.
    let mut served = Instant::ZERO;
    loop {
        let block = reader.blocks();
        let (at, record) = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(JournalError::CutOff { block, offset }) => {
                done.end = JournalEnd::CutOff { block, offset };
                break;
            }
            Err(error) => return Err(error.into()),
        };
        let first = *start.get_or_insert(at);
        done.span_ns = at.saturating_since(first).as_nanos();
        let differs = |what: String| ReplayError::Differs {
            block,
            seconds: at.saturating_since(first).as_secs_f64(),
            what,
        };
        if record == Record::Timeout {
            served = served.max(at);
        }
        let sends = matches!(record, Record::Transmit { .. } | Record::Drained);
        if sends && at.saturating_since(served) > LATE {
            let what = "no record serves the machine's timers before it is asked for a datagram";
            return Err(differs(what.to_owned()));
        }
        if let Record::Transmit { to, ecn, bytes } = record {
            let transmit = machine.transmit(at, &mut sent).map(|sent| (sent.remote, sent.ecn));
            if transmit != Some((to, ecn)) {
                return Err(differs(format!(
                    "recorded was a datagram to {to}, the machine sends {transmit:?}"
                )));
            }
            if let Some(place) = first_difference(&sent, &bytes) {
                return Err(differs(format!(
                    "the machine sends another datagram: it differs from byte {place} on"
                )));
            }
            done.transmitted += 1;
            done.transmitted_bytes += saturating::<u64>(bytes.len());
            continue;
        }
        if record == Record::Drained {
            if let Some(Transmission { remote: to, .. }) = machine.transmit(at, &mut sent) {
                return Err(differs(format!("the machine sends a datagram to {to} more than was recorded")));
            }
            continue;
        }
        done.inputs += 1;
        apply(&mut machine, at, record).map_err(differs)?;
    }
    Ok(done)
}

fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    (common < a.len().max(b.len())).then_some(common)
}

fn apply(machine: &mut Machine, at: Instant, record: Record) -> Result<(), String> {
    // Events are taken out as on the day.
    while machine.poll_event().is_some() {}
    let known = |machine: &Machine, number| {
        machine.numbered(number).ok_or_else(|| format!("there is no connection {number}"))
    };
    match record {
        Record::Connect(to) => {
            machine.connect(at, to).map_err(|error| error.to_string())?;
        }
        Record::Datagram { from, ecn, bytes } => drop(machine.datagram(at, from, ecn, &bytes)),
        Record::Timeout => machine.timeout(at),
        Record::Send { connection, bytes } => {
            let id = known(machine, connection)?;
            // A refusal is part of the session and happens again.
            let _ = machine.send(at, id, bytes);
        }
        Record::LatePolicy { connection, policy } => {
            let id = known(machine, connection)?;
            machine.set_late_policy(at, id, policy);
        }
        Record::Cap { connection, cap } => {
            let id = known(machine, connection)?;
            // A refusal happens again.
            let _ = machine.set_cap(at, id, cap);
        }
        Record::Close { connection } => {
            let id = known(machine, connection)?;
            machine.close(at, id);
        }
        Record::Read { connection } => {
            let id = known(machine, connection)?;
            machine.recv(id).ok_or_else(|| format!("connection {connection} has nothing to read"))?;
        }
        Record::CloseNow { connection } => {
            let id = known(machine, connection)?;
            machine.close_now(at, id);
        }
        Record::Release { connection } => {
            let id = known(machine, connection)?;
            machine.release(at, id);
        }
        Record::AcceptClose { connection, text } => {
            let id = known(machine, connection)?;
            machine.accept_close(at, id, &text);
        }
        Record::RequestClose { connection, text } => {
            let id = known(machine, connection)?;
            machine.request_close(at, id, &text);
        }
        Record::ClosingText { connection, text } => {
            let id = known(machine, connection)?;
            machine.set_closing_text(at, id, &text);
        }
        Record::Refused { to, bytes } => machine.refused(at, to, &bytes),
        Record::Route { to, limit } => machine.route(at, to, limit),
        Record::HeldUp { since } => machine.held_up(at, since),
        Record::PathError { to, error, quoted } => machine.path_error(at, to, &quoted, error),
        Record::StopAccepting => machine.stop_accepting(at),
        Record::Transmit { .. } | Record::Drained => {}
    }
    Ok(())
}
