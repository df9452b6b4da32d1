//! The harness of the fuzz target `connection` as a property: no sequence of operations breaks two
//! endpoints.

mod harness;

use harness::{Operation, run};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_operations_breaks_a_connection(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        run(&Operation::all(&bytes));
    }
}

/// The harness does connect and carry data: else it would show nothing.
#[test]
fn the_plain_course_carries_data() {
    use Operation::{Advance, Deliver, Send};
    use tfrc_testkit::Side::{Client, Server};
    let mut operations = Vec::new();
    for _ in 0..20 {
        operations.extend([
            Deliver { to: Server, index: 0 },
            Deliver { to: Client, index: 0 },
            Send { from: Client, length: 100 },
            Advance { ms: 20 },
        ]);
    }
    assert!(run(&operations) > 3);
}

/// A Request that is repeated late makes a half-open connection outlive its own timer: it is given
/// up by the first one's time (a sequence that the property found).
#[test]
fn a_late_repeated_request_does_not_turn_time_back() {
    run(&Operation::all(&[31, 63, 100, 0, 15, 138, 10, 64, 52, 0, 58, 0, 0, 184, 119, 3, 0]));
}
