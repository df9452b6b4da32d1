//! Feature negotiation: any options on acknowledgements of a connection that is open.

use tfrc_testkit::Side;
use tfrc_testkit::operations::{Operation, run};
use tfrc_units::saturating;

/// Each byte above 0xF0 begins a new packet; feature options are put in front of what else there
/// is.
pub fn check(data: &[u8]) {
    let mut operations = vec![
        Operation::Deliver { to: Side::Server, index: 0 },
        Operation::Deliver { to: Side::Client, index: 0 },
        Operation::Deliver { to: Side::Server, index: 0 },
    ];
    for (n, chunk) in data.split(|byte| *byte > 0xF0).take(64).enumerate() {
        let to = if n.is_multiple_of(2) { Side::Server } else { Side::Client };
        let mut options = Vec::new();
        for change in chunk.chunks(4) {
            // Change L, Confirm L, Change R, Confirm R; feature; values.
            let (first, rest) = change.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
            options.push(32 + first % 4);
            options.push(saturating::<u8>(rest.len() + 2));
            options.extend_from_slice(rest);
        }
        options.truncate(512);
        operations.push(Operation::Options { to, options });
        operations.push(Operation::Deliver { to: Side::Client, index: 0 });
        operations.push(Operation::Deliver { to: Side::Server, index: 0 });
        operations.push(Operation::Send { from: Side::Client, length: 100 });
        operations.push(Operation::Advance { ms: saturating::<u64>(chunk.len()) * 10 });
    }
    run(&operations);
}
