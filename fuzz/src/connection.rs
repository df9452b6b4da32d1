//! Two endpoints under any sequence of operations: as in `crates/dccp/tests/operations.rs`.

use tfrc_testkit::operations::{Operation, run};

/// Takes the bytes for operations.
pub fn check(data: &[u8]) {
    run(&Operation::all(data));
}
