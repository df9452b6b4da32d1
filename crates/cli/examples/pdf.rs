//! Makes PDF of a drawing: `cargo xtask fairness` writes that of its map so.

use std::io::Write as _;
use std::process::ExitCode;

use tfrc_cli::{Failure, figure};

fn main() -> ExitCode {
    match write(&std::env::args().skip(1).collect::<Vec<String>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "{failure}");
            ExitCode::from(failure.status())
        }
    }
}

/// Reads the SVG that is named first and writes the PDF that is named second.
fn write(files: &[String]) -> Result<(), Failure> {
    let [from, to] = files else {
        return Err(Failure::usage("two files are needed", "name the SVG, then the PDF"));
    };
    let svg = std::fs::read_to_string(from).map_err(|error| Failure::io(from, &error))?;
    std::fs::write(to, figure::pdf(&svg)?).map_err(|error| Failure::io(to, &error))
}
