//! Media over TFRC, GCC, CUBIC and BBR in the test cases of RFC 8867, in virtual time; writes the
//! tables and pictures of `docs/media.md`, or with `--check` compares them, but for
//! BBR's.

#![forbid(unsafe_code)]

mod browser;
mod cases;
mod encoder;
mod measures;
mod page;
mod quic;
mod rtp;
mod run;
mod source;

use std::path::Path;
use std::process::ExitCode;

use cases::{CASES, Case};
use measures::Figures;
use run::{Control, run};

/// Seeds of the encoders and of the jitter; the pictures are of the first one.
const SEEDS: [u64; 3] = [1, 2, 3];
/// The mark before the tables of the page.
const BEGIN: &str = "<!-- tables of integrations/bench -->\n";
/// The mark behind them.
const END: &str = "<!-- end of the tables -->\n";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let check = args.iter().any(|arg| arg == "--check");
    let chosen: Vec<&Case> = CASES
        .iter()
        .filter(|case| !args.iter().any(|arg| !arg.starts_with("--") && arg != case.id))
        .collect();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut tables = String::new();
    let mut files = Vec::new();
    for case in &chosen {
        eprintln!("{}", case.title);
        let mut pictured = Vec::new();
        let mut rows = Vec::new();
        for control in Control::ALL {
            let runs = SEEDS.map(|seed| run(case, control, seed));
            rows.push((control, runs.each_ref().map(|run| Figures::of(case, run))));
            pictured.extend(runs.into_iter().take(1).map(|run| (control, run)));
        }
        let table = page::table(case, &rows);
        println!("{table}");
        let picture = format!("media/{}.svg", case.id);
        for part in [&format!("### {}", case.title), case.about, &table] {
            tables.push_str(part.trim_end());
            tables.push_str("\n\n");
        }
        tables.push_str("![Rates and waits over time](");
        tables.push_str(&picture);
        tables.push_str(")\n\n");
        files.push((docs.join(picture), page::picture(case, &pictured)));
    }
    if chosen.len() < CASES.len() {
        return ExitCode::SUCCESS;
    }
    let path = docs.join("media.md");
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let Some((head, rest)) = page.split_once(BEGIN) else {
        eprintln!("{} has no {BEGIN}", path.display());
        return ExitCode::FAILURE;
    };
    let tail = rest.split_once(END).map_or("", |(_, tail)| tail);
    files.push((path, format!("{head}{BEGIN}\n{tables}{END}{tail}")));
    for (path, content) in files {
        if check && std::fs::read_to_string(&path).is_ok_and(|known| seeded(&known) == seeded(&content)) {
            continue;
        }
        if check {
            eprintln!("{} is not what this run gives", path.display());
            return ExitCode::FAILURE;
        }
        if let Err(error) =
            std::fs::create_dir_all(docs.join("media")).and_then(|()| std::fs::write(&path, content))
        {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// A page or a picture without the parts of BBR: noq draws the times of its probes from random
/// numbers of the system, which nobody can seed.
fn seeded(content: &str) -> Vec<&str> {
    let (panels, lines) = ("<g transform=\"translate(", content.lines());
    let parts: Vec<&str> =
        if content.contains(panels) { content.split(panels).collect() } else { lines.collect() };
    parts.into_iter().filter(|part| !part.contains("BBR (noq)")).collect()
}
