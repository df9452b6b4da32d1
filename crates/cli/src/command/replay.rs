//! `tfrc replay`: the same inputs, the same bytes?

use std::fs::File;
use std::io::{BufReader, Write};

use tfrc_net::journal::{JournalEnd, JournalError, ReplayError, replay};

use crate::Failure;
use crate::args::{Format, ReplayArgs};
use crate::visible::{to_stderr, visible};

/// Runs `tfrc replay`. A journal that was cut off, by a kill or a full disk, is replayed as far as
/// it is whole: that it is not whole is a sentence and no failure.
///
/// # Errors
/// [`Failure::Check`] when the journal was changed or the machine sends other datagrams;
/// [`Failure::Usage`] when the file is not a journal, or one of another version.
pub(crate) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let name = args.journal.display();
    let usage =
        |why: String| Failure::usage(format!("{name}: {why}"), "name a file written by tfrc send --journal");
    let file = File::open(&args.journal).map_err(|error| usage(error.to_string()))?;
    let done = replay(BufReader::new(file)).map_err(|error| match error {
        ReplayError::Journal(JournalError::NotAJournal | JournalError::Version { .. }) => {
            usage(error.to_string())
        }
        error => Failure::Check(format!("{name}: {error}")),
    })?;
    let seconds = done.span_ns as f64 / 1e9;
    let whole_up_to = match done.end {
        JournalEnd::Whole => None,
        JournalEnd::CutOff { block, offset } => {
            to_stderr(&visible(&format!(
                "{name}: the journal ends in or before block {block}, at byte {offset}: its writer was stopped or \
                 had no room; everything before was replayed"
            )));
            Some(offset)
        }
    };
    let text = match args.output.format() {
        Format::Human => format!(
            "{} inputs over {seconds:.3} s replayed: all {} datagrams sent ({} bytes) are the same",
            done.inputs, done.transmitted, done.transmitted_bytes
        ),
        _ => serde_json::json!({
            "inputs": done.inputs,
            "transmitted_packets": done.transmitted,
            "transmitted_bytes": done.transmitted_bytes,
            "duration_s": seconds,
            "cut_off_at_byte": whole_up_to,
        })
        .to_string(),
    };
    writeln!(std::io::stdout(), "{text}").map_err(|error| Failure::standard_output(&error))
}
