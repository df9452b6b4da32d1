//! Files and arguments that hurt the program that reads them, and emulations that are none.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::engine::{Bench, Case, CaseRow, Ground, Load};
use super::namespace;
use super::program::{Ended, Program, SOON};

/// The cases of this file.
pub(crate) const CASES: [Case; 6] = [
    Case::new("endless-files", Load::Waiting, endless_files),
    Case::new("report-over-scenario", Load::Waiting, report_over_scenario),
    Case::new("names-with-escapes", Load::Waiting, names_with_escapes),
    Case::new("many-jobs", Load::Waiting, many_jobs),
    Case::new("emu-stopped", Load::Waiting, emu_stopped),
    Case::new("emu-slow-source", Load::Waiting, emu_slow_source),
];

/// A network for all of these.
const NETWORK: &str = "duration = \"2s\"\nnodes = [\"near\", \"far\"]\n\n[[link]]\nname = \"path\"\nfrom = \"near\"\n\
     to = \"far\"\nrate = \"4Mbit/s\"\ndelay = \"1ms\"\nqueue = \"20p\"\n";
/// A flow in it.
const FLOW: &str = "\n[[flow]]\nname = \"one\"\nkind = \"tfrc\"\nfrom = \"near\"\nto = \"far\"\n";
/// Memory that a program that reads such a file may take, kB.
const MEMORY_KB: u64 = 400_000;

fn write(path: &Path, text: &str) -> Result<String, String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

/// The end of a program within this time, and the most memory that it had, in kB.
fn watched(program: &mut Program, within: Duration) -> (Ended, u64) {
    let (begin, mut peak) = (Instant::now(), 0);
    while program.runs() && begin.elapsed() < within {
        peak = program.peak_kb().max(peak);
        if peak > MEMORY_KB * 4 {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    (program.end(Duration::ZERO), peak)
}

/// Devices without end and pipes without a writer in the place of files, and a line of 20 MB.
fn endless_files(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut row = CaseRow::new(
        "`/dev/zero` as scenario, `compare` and `--merge`; `compare` of a FIFO; a value of 2 MB",
    );
    let fifo = directory.join("fifo");
    namespace::run("mkfifo", &[&fifo.to_string_lossy()])?;
    let compare = |file: &str| format!("compare = \"{file}\"\n{NETWORK}{FLOW}");
    let zero = write(&directory.join("zero.toml"), &compare("/dev/zero"))?;
    let pipe = write(&directory.join("pipe.toml"), &compare(&fifo.to_string_lossy()))?;
    let long = format!("{NETWORK}{FLOW}wrong = \"{}\"\n", "x".repeat(2_000_000));
    let long = write(&directory.join("long.toml"), &long)?;
    for (name, arguments) in [
        ("scenario", ["sim", "/dev/zero"].as_slice()),
        ("compare", &["sim", &zero]),
        ("fifo", &["sim", &pipe]),
        ("merge", &["sim", "--merge", "/dev/zero"]),
        ("long", &["sim", &long]),
    ] {
        let mut program = bench.run(directory, name, arguments)?;
        let (end, peak) = watched(&mut program, SOON);
        row.saw(format!("{name}: {}, {peak} kB, {} B said", end.how, program.log_bytes()));
        row.bar(end.is(2), format!("{name}: exit 2"));
        // The results of shards may be long.
        let most = if name == "merge" { MEMORY_KB * 2 } else { MEMORY_KB };
        row.bar(peak <= most, format!("{name}: at most {most} kB"));
        row.bar(program.log_bytes() <= 20_000, format!("{name}: a short sentence"));
    }
    Ok(row)
}

/// A page in the place of the scenario.
fn report_over_scenario(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut row = CaseRow::new(
        "`--report X`, `--series X` and `--pcap X` of `sim`, `link` and `emu`, where X is the scenario",
    );
    let text = format!("{NETWORK}{FLOW}");
    let path = directory.join("x.toml");
    let x = path.to_string_lossy().into_owned();
    for arguments in [
        ["sim", &x, "--report", &x].as_slice(),
        &["sim", &x, "--series", &x],
        &["sim", &x, "--pcap", &x],
        &["link", &x, "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9", "--report", &x],
        &["emu", &x, "--report", &x],
        &["emu", &x, "--pcap", "path", &x],
    ] {
        write(&path, &text)?;
        // It is not interrupted: on a busy machine that may come before it has begun.
        let end = bench.run(directory, "over", arguments)?.end(SOON);
        let intact = fs::read_to_string(&path).is_ok_and(|after| after == text);
        let (command, option) = (arguments[0], arguments.iter().rev().find(|word| word.starts_with("--")));
        let name = format!("{command} {}", option.unwrap_or(&""));
        row.saw(format!("{name}: {}{}", end.how, if intact { "" } else { ", X is gone" }));
        row.bar(end.is(2) && intact, format!("{name}: exit 2, X as it was"));
    }
    Ok(row)
}

/// Escape sequences in names, in keys and in arguments.
fn names_with_escapes(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut row = CaseRow::new(
        "escape sequences in names of nodes and flows, in keys, in `--set`, in a trace and a table",
    );
    const EVIL: &str = "\u{1b}]0;mine\u{7}\u{9b}2J\u{202e}";
    let toml = "\\u001b]0;mine\\u0007\\u009b2J\\u202e";
    let node = NETWORK.replace("near", &format!("near{toml}"));
    let flow = format!("{NETWORK}{}", FLOW.replace("one", &format!("one{toml}")));
    let key = format!("{NETWORK}{FLOW}\"{toml}\" = 1\n");
    let raw = format!("{NETWORK}{FLOW}# {EVIL}\n{EVIL} = 1\n");
    let table = format!("compare = \"table.csv\"\n{NETWORK}{FLOW}");
    write(&directory.join("table.csv"), &format!("quantity,published\nflow.{EVIL}.p,{EVIL}\n"))?;
    let plain = write(&directory.join("plain.toml"), &format!("{NETWORK}{FLOW}"))?;
    let set = format!("link.path.{EVIL}=1");
    let mut cases = vec![("set", vec!["sim".to_owned(), plain, "--set".to_owned(), set])];
    for (name, text) in [("node", node), ("flow", flow), ("key", key), ("raw", raw), ("table", table)] {
        let path = write(&directory.join(format!("{name}.toml")), &text)?;
        cases.push((name, vec!["sim".to_owned(), path]));
    }
    for (name, arguments) in cases {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut program = bench.run(directory, name, &arguments)?;
        let end = program.end(SOON);
        let shown = program.errors() + &program.output();
        let raw = shown.chars().filter(|c| super::peers::is_evil(*c)).count();
        row.saw(format!("{name}: {}, {raw} raw", end.how));
        row.bar(raw == 0, format!("{name}: nothing moves the terminal"));
        row.bar(end.is(2), format!("{name}: exit 2"));
    }
    Ok(row)
}

/// More threads than there is work for.
fn many_jobs(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut row = CaseRow::new("`sim --jobs 20000 --runs 4`");
    let scenario = write(&directory.join("s.toml"), &format!("{NETWORK}{FLOW}"))?;
    let begin = Instant::now();
    let end =
        bench.run(directory, "jobs", &["sim", &scenario, "--jobs", "20000", "--runs", "4"])?.end(SOON * 3);
    row.saw(format!("{}, {:.1} s", end.how, begin.elapsed().as_secs_f64()));
    row.bar(end.is(0) && begin.elapsed() <= SOON, "ends within 10 s");
    Ok(row)
}

/// An emulation whose process gets the processor half of the time.
fn emu_stopped(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("the engine's process is found in namespaces of the run"));
    }
    let mut row = CaseRow::new("`emu --at`, `ping` each 10 ms, the engine stopped for 30 of every 60 ms");
    let scenario = write(&directory.join("s.toml"), NETWORK)?;
    let ping = "exec ping -q -i 0.01 -c 200 far >/dev/null";
    let mut program = bench.run(directory, "stopped", &["emu", &scenario, "--at", "near", ping])?;
    thread::sleep(Duration::from_millis(500));
    let engine = children(program.id()).ok_or("the engine's process is not found")?;
    let begin = Instant::now();
    while program.runs() && begin.elapsed() < Duration::from_secs(6) {
        let _ = namespace::run("kill", &["-STOP", &engine]);
        thread::sleep(Duration::from_millis(30));
        let _ = namespace::run("kill", &["-CONT", &engine]);
        thread::sleep(Duration::from_millis(30));
    }
    let end = program.end(SOON);
    row.saw(format!("{}, “{}”", end.how, end.last));
    row.bar(end.is(3), "exit 3");
    row.bar(program.errors().contains("outside of the limits"), "it says so");
    Ok(row)
}

/// The only child of a process.
fn children(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    text.split_whitespace().next().map(str::to_owned)
}

/// A source that this machine cannot drive.
fn emu_slow_source(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("namespaces need rights"));
    }
    let mut row = CaseRow::new("`emu` with a source of 10 Gbit/s in packets of 100 bytes");
    let source = "\n[[flow]]\nname = \"flood\"\nkind = \"cbr\"\nfrom = \"near\"\nto = \"far\"\nrate = \"10Gbit/s\"\nsegment = \"100B\"\n";
    let scenario = write(&directory.join("s.toml"), &format!("{NETWORK}{source}"))?;
    let mut program = bench.run(directory, "emu", &["emu", &scenario])?;
    let end = program.end(SOON * 2);
    row.saw(format!("{}, “{}”", end.how, end.last));
    row.bar(end.is(3) && program.errors().contains("behind its times"), "exit 3, and the reason");
    Ok(row)
}
