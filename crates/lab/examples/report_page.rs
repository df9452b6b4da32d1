//! Writes the report page of a made-up run, to look at in a browser:
//! `cargo run -p tfrc-lab --example report_page -- FILE.html [SECONDS]`.

#[path = "../tests/report/sample.rs"]
mod sample;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("say which file to write")?;
    let seconds = args.next().map_or(Ok(20), |s| s.parse())?;
    std::fs::write(file, tfrc_lab::report::page(&sample::demo(seconds)))?;
    Ok(())
}
