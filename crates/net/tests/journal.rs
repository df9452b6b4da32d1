//! Journals of earlier programs.

use tfrc_net::journal::replay;

/// The words of the options are those of 0.2.0, and the machine sends the same bytes.
#[test]
fn a_journal_of_an_earlier_program_replays() {
    let journal = include_bytes!("../../../testdata/journal/rfc3448-guarantee.journal");
    let replayed = replay(journal.as_slice()).expect("the same machine");
    assert_eq!((replayed.inputs, replayed.transmitted, replayed.transmitted_bytes), (23, 7, 2220));
}
