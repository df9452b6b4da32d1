//! The command `tfrc`. Everything is in the library of this crate, where it can be tested.

fn main() -> std::process::ExitCode {
    tfrc_cli::main()
}
