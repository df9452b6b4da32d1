//! The operations of the fuzz target `connection` as a property: no sequence of them breaks two
//! endpoints.

use proptest::prelude::*;
use tfrc_testkit::operations::{Operation, run};

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

/// A handshake that ends after a time at which options of features were to be repeated: that time
/// could not be served before (a sequence that the property found).
#[test]
fn a_timer_that_a_change_of_state_uncovers_is_not_late() {
    let begin = [128, 199, 5, 58, 28, 64, 124, 111];
    let middle = [20, 0, 159, 4, 0, 180, 0, 151, 6, 58, 6, 0, 8];
    let end = [
        1, 76, 155, 242, 4, 61, 117, 252, 152, 30, 108, 202, 57, 242, 216, 109, 96, 97, 184, 23, 252, 170,
        148, 59, 151, 239, 57, 240, 93, 101, 90, 136, 213, 58, 230, 71, 202, 113, 142, 191, 143, 43, 95, 254,
        145, 168, 146, 32, 252, 28, 118, 70, 29, 49, 168, 49, 32, 234, 60, 26, 140, 200, 106, 178, 172, 184,
        134, 115, 31, 54, 240, 240, 175, 81, 123, 48, 6, 32, 149, 161, 56,
    ];
    run(&Operation::all(&[&begin[..], &[0; 47], &middle, &[0; 15], &end].concat()));
}
