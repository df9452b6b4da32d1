//! Two endpoints under any sequence of operations: the harness of `crates/dccp/tests/operations`.

use crate::harness::{Operation, run};

/// Takes the bytes for operations.
pub fn check(data: &[u8]) {
    run(&Operation::all(data));
}
