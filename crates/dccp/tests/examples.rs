//! The example programs that need no argument run and succeed.

#[path = "../examples/blocking.rs"]
mod blocking;

#[test]
fn blocking_runs() {
    blocking::main().expect("it succeeds");
}
