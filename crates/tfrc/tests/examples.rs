//! The example programs that need no argument run and succeed.

#[path = "../examples/live_rate.rs"]
mod live_rate;

#[test]
fn live_rate_runs() {
    live_rate::main().expect("it succeeds");
}
