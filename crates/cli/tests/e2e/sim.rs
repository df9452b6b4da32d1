//! `tfrc sim`: changes, several runs, shards, captures, and what is wrong with a scenario.

use std::path::Path;

use crate::e2e::network::{Place, scenario};
use crate::e2e::program::{Finished, Program, other, run};

fn path(name: &str) -> String {
    scenario(name).to_str().expect("text").to_owned()
}

fn right(args: &[&str]) -> Finished {
    let finished = run(args);
    assert!(finished.status.success(), "{args:?}: {}", finished.stderr);
    finished
}

/// Every kind of mistake: exit status 2, a mark under the place, a hint.
#[test]
fn every_wrong_file_is_shown_with_a_mark_and_a_hint() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenario/tests/wrong");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("the wrong files") {
        let file = entry.expect("a file").path();
        let finished = run(["sim".as_ref(), file.as_os_str()]);
        let said = &finished.stderr;
        assert_eq!(finished.status.code(), Some(2), "{}: {said}", file.display());
        assert!(finished.stdout.is_empty());
        assert!(said.contains("help: ") && said.contains("╰──") && said.contains(".toml:"), "{said}");
        files += 1;
    }
    assert!(files >= 17, "{files}");
}

/// A flow that its circuit breaker stops: table, means, JSON, stream and series say when and by
/// which rule.
#[test]
fn a_stop_by_the_circuit_breaker_is_said_everywhere() {
    let place = Place::new();
    let series = place.file("series.csv");
    let file = path("guarantee.toml");
    let args = ["sim", &file, "--set", "duration=50s", "--set", "link.near-far.loss=60%"];
    let with = |more: &[&str]| right(&[&args[..], more].concat());
    let word = |finished: &Finished| String::from_utf8_lossy(&finished.stdout).into_owned();
    let table = word(&with(&["--series", &series]));
    let line = table.lines().find(|line| line.contains("stopped at")).expect("a line");
    assert!(line.starts_with("tfrc-1: stopped at 3") && line.contains("by the circuit breaker"), "{line}");
    let series = std::fs::read_to_string(series).expect("written");
    assert!(series.lines().next().is_some_and(|heads| heads.ends_with(",stopped,limit")));
    assert!(series.lines().last().is_some() && series.contains(",congestion,stopped\n"), "{series}");
    let means = word(&with(&["--runs", "2"]));
    assert!(means.contains("tfrc-1: stopped in 2 of 2 runs; seed 1 stopped at 3"), "{means}");
    let json: serde_json::Value = with(&["--json"]).json();
    let stop = &json["flows"][0]["stopped"];
    assert!(stop["rule"] == "congestion" && stop["at_s"].as_f64().is_some_and(|at| at > 34.0), "{json}");
    let stream = word(&with(&["--json-stream"]));
    assert!(stream.contains("\"stopped\":\"congestion\"") && stream.contains("\"stopped\":null"));
}

#[test]
fn a_change_is_made_and_a_wrong_one_is_shown() {
    let file = path("bottleneck.toml");
    let short = ["--set", "duration=10s", "--set", "warmup=2s"];
    let args = [&["sim", &file, "--json", "--set", "link.near-far.rate=1Mbit/s"], &short[..]].concat();
    let outcome: serde_json::Value = right(&args).json();
    let goodput = outcome["flows"][0]["goodput_bps"].as_f64().expect("a rate");
    assert!((0.9e6..1e6).contains(&goodput), "{goodput}");
    let wrong = run(["sim", &file, "--set", "link.near-far.rate=1Mbot"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(wrong.stderr.contains("[--set:1:20]") && wrong.stderr.contains("1Mbot"), "{}", wrong.stderr);
}

#[test]
fn the_keys_of_a_run() {
    let file = path("bottleneck.toml");
    let args = ["sim", &file, "--json", "--timing", "--set", "duration=5s", "--set", "warmup=1s"];
    let outcome: serde_json::Value = right(&args).json();
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(
        keys(&outcome),
        [
            "duration_s",
            "flows",
            "jain_index",
            "links",
            "measured_s",
            "packet_hops",
            "schema_version",
            "seed",
            "timing"
        ]
    );
    assert_eq!(
        keys(&outcome["flows"][0]),
        [
            "cov",
            "cov_200ms",
            "delay_p50_s",
            "delay_p95_s",
            "delay_p99_s",
            "goodput_bps",
            "id",
            "jitter_s",
            "kind",
            "loss_event_rate",
            "packet_loss_rate",
            "queueing_delay_p50_s",
            "queueing_delay_p95_s",
            "queueing_delay_p99_s",
            "rtt_s",
            "send_rate_bps"
        ]
    );
    assert_eq!(keys(&outcome["links"][0]), ["drop_rate", "id", "mean_queue_packets", "utilization"]);
    assert_eq!(keys(&outcome["timing"]), ["cpu_s", "ns_per_hop", "peak_memory_bytes", "wall_s"]);
}

#[test]
fn threads_and_shards_print_the_same_bytes() {
    let place = Place::new();
    let file = path("tcp-variants.toml");
    let common = ["sim", &file, "--json", "--set", "duration=4s", "--set", "warmup=1s", "--runs", "2"];
    let with = |more: &[&str]| right(&[&common[..], more].concat()).stdout;
    let whole = with(&[]);
    assert_eq!(with(&["--jobs", "2"]), whole);
    let shards: Vec<String> = ["1/3", "2/3", "3/3"]
        .map(|shard| place.write(&shard.replace('/', "of"), with(&["--shard", shard])))
        .into();
    let merged = |files: &[&String]| {
        let mut args = vec!["sim", "--json", "--merge"];
        args.extend(files.iter().map(|file| file.as_str()));
        run(args)
    };
    let all = merged(&[&shards[2], &shards[0], &shards[1]]);
    assert!(all.status.success() && all.stdout == whole, "{}", all.stderr);
    let part = merged(&[&shards[2], &shards[0]]);
    assert_eq!(part.status.code(), Some(2));
    assert!(part.stderr.contains("give all shards"), "{}", part.stderr);
    let text = right(&[&common[..2], &common[3..]].concat());
    assert!(
        text.text().contains("flow.tcp.tcp.variant = cubic") && text.text().contains(" ± "),
        "{}",
        text.text()
    );
    // Single runs have no intervals, and nothing speaks of them.
    let single = right(&["sim", &file, "--set", "duration=4s", "--set", "warmup=1s", "--runs", "1"]);
    let single = single.text();
    assert!(single.contains(" points, 1 run each\n") && !single.contains("95 %"), "{single}");
}

/// A TFRC and a TCP behind a drop-tail queue, nothing random: seeds are copies, and phase decides.
#[test]
fn copies_have_no_interval_and_phase_is_noted() {
    let place = Place::new();
    let file = place.write(
        "two.toml",
        "duration = '6s'\nwarmup = '1s'\nnodes = ['a', 'b']\n\
         [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '2Mbit/s'\ndelay = '10ms'\nqueue = '10p'\n\
         [[flow]]\nname = 'one'\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\n\
         [[flow]]\nname = 'two'\nkind = 'tcp'\nfrom = 'a'\nto = 'b'\n",
    );
    let page = place.file("page.html");
    let with = |more: &[&str]| right(&[&["sim", &file, "--report", &page][..], more].concat());
    let (nothing, phase) = ("Nothing in this file is random", "their rates depend on phase");
    let paged = |words: &str| std::fs::read_to_string(&page).expect("written").contains(words);
    let single = with(&[]);
    assert!(single.text().contains(phase) && !single.text().contains(nothing), "{}", single.text());
    assert!(paged(phase) && !paged(nothing));
    let several = with(&["--runs", "3"]);
    let text = several.text();
    assert!(text.contains(phase) && text.contains(nothing) && !text.contains('±'), "{text}");
    assert!(paged(phase) && paged(nothing) && !paged("± 0"));
    let json: serde_json::Value = with(&["--runs", "3", "--json"]).json();
    let point = &json["points"][0];
    assert_eq!(point["notes"], serde_json::json!(["nothing-random", "phase-effects"]));
    let goodput = &point["mean"]["flows"][0]["goodput_bps"];
    assert!(goodput["mean"].is_f64() && goodput["ci95"].is_null(), "{goodput}");
    let random = with(&["--runs", "3", "--set", "flow.two.overhead=5ms"]);
    let text = random.text();
    assert!(text.contains('±') && !text.contains(phase) && !text.contains(nothing), "{text}");
}

/// tshark reads a capture of CCID 3 and of CCID 4, option by option, and finds nothing malformed.
#[test]
fn a_simulated_dccp_flow_opens_in_tshark() {
    let place = Place::new();
    for (kind, ccid) in [("dccp", "3"), ("dccp-sp", "4")] {
        let capture = place.file(&format!("{kind}.pcap"));
        let kind = format!("flow.media.kind={kind}");
        right(&[
            "sim",
            &path("dccp.toml"),
            "--pcap",
            &capture,
            "--set",
            &kind,
            "--set",
            "flow.media.segment=500B",
        ]);
        let mut tshark = other("tshark");
        tshark.args(["-r", &capture, "-V", "-o", "dccp.check_checksum:TRUE"]);
        let said = Program::start(tshark).succeed();
        let text = said.text();
        for words in ["Receive Rate", "Loss Event Rate", "Loss Intervals", "Elapsed Time", "CCVal"] {
            assert!(text.contains(words), "no {words} for CCID {ccid}");
        }
        assert!(!text.contains("Malformed") && !text.to_lowercase().contains("checksum: incorrect"));
        let negotiated = text.contains("Congestion Control ID (CCID)");
        assert!(negotiated, "CCID {ccid} is agreed on in the handshake");
        let mut bad = other("tshark");
        bad.args([
            "-r",
            &capture,
            "-o",
            "dccp.check_checksum:TRUE",
            "-Y",
            "dccp.checksum.status == 0 || _ws.malformed",
        ]);
        assert_eq!(Program::start(bad).succeed().text(), "");
    }
    // Any other flow is as well formed: TCP with its options, TFRC as DCCP.
    let capture = place.file("others.pcap");
    right(&["sim", &path("mix-droptail.toml"), "--pcap", &capture, "--set", "duration=25s", "--runs", "1"]);
    let fields = |filter: &str| {
        let mut tshark = other("tshark");
        tshark.args(["-r", &capture, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
        tshark.args(["-Y", filter, "-T", "fields", "-e", "frame.number"]);
        Program::start(tshark).succeed().text().lines().count()
    };
    assert_eq!(fields("_ws.malformed || ip.checksum.status == 0"), 0);
    assert!(fields("tcp.len > 0") > 1000 && fields("tcp.options.sack_le") > 10);
    assert_eq!(fields("dccp.checksum.status == 0"), 0);
    assert!(fields("dccp.type == 2") > 1000 && fields("dccp.checksum.status == 1") > 100);
    // What Wireshark calls lost is a minority: numbers follow each other.
    assert!(fields("tcp.analysis.lost_segment") * 10 < fields("tcp"));
}

/// `tfrc capture` reads a simulated flow of TFRC as it reads a session: the link headers show the
/// tap, and R, p and the rates are those of the run.
#[test]
fn a_simulated_tfrc_flow_says_what_a_session_says() {
    let place = Place::new();
    let file = place.file("tfrc.pcap");
    let line = ["--set", "duration=30s", "--set", "warmup=5s", "--json"];
    let run_of: serde_json::Value =
        run([&["sim", &path("bottleneck.toml"), "--pcap", &file][..], &line].concat()).json();
    let flow = &run_of["flows"][0];
    let found: serde_json::Value = run(["capture", "--json", &file]).json();
    let [seen] = found["connections"].as_array().expect("a list").as_slice() else { panic!("{found}") };
    assert_eq!((&seen["tap"], &seen["carrier"]), (&"client".into(), &"ip".into()), "{seen}");
    let near = |what: &str, seen: &serde_json::Value, known: &serde_json::Value, share: f64| {
        let (seen, known) = (seen.as_f64().expect(what), known.as_f64().expect(what));
        assert!((seen / known - 1.0).abs() < share, "{what}: {seen}, {known}");
    };
    // Medians and means of a queue that grows and shrinks, over 30 and 25 s.
    near("R", &seen["rtt"]["r_s"], &flow["rtt_s"], 0.15);
    let direction = &seen["directions"][0];
    near("rate", &direction["rate_bps"], &flow["goodput_bps"], 0.05);
    let last = direction["reports"]["series"].as_array().expect("a list").last().expect("one");
    near("1/p", &last["inverse_p"], &(1.0 / flow["loss_event_rate"].as_f64().expect("p")).into(), 0.3);
}

/// A capture of TCPs is what kernels would have sent: Wireshark has nothing to say but of losses,
/// which the file of packets has too.
#[test]
fn a_simulated_tcp_opens_in_tshark() {
    let place = Place::new();
    let (capture, packets) = (place.file("tcp.pcap"), place.file("packets.csv"));
    // The first segment is lost, so that acknowledgements echo the stamp of the SYN.
    for (name, loss, lost) in [("none.toml", "", 0), ("two.toml", "loss = { scripted = [2, 30] }\n", 2)] {
        let scenario = place.write(
            name,
            format!(
                "duration = '9s'\nnodes = ['a', 'b']\n\
                 [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '10Mbit/s'\ndelay = '20ms'\n\
                 queue = '200p'\n{loss}\
                 [[flow]]\nkind = 'tcp'\nfrom = 'a'\nto = 'b'\nstart = '1s'\ntransfer = '300kB'\n\
                 tcp = {{ settings = 'linux', variant = 'sack' }}\n"
            ),
        );
        right(&["sim", &scenario, "--pcap", &capture, "--packets", &packets]);
        let losses = std::fs::read_to_string(&packets).expect("written");
        assert_eq!(losses.lines().filter(|line| line.split(',').nth(1) == Some("lost")).count(), lost);
        let mut tshark = other("tshark");
        tshark.args(["-r", &capture, "-o", "tcp.check_checksum:TRUE", "-T", "fields", "-E", "separator=,"]);
        tshark.args(["-E", "occurrence=f"]);
        for field in [
            "tcp.srcport",
            "tcp.flags.syn",
            "tcp.len",
            "tcp.options.mss_val",
            "tcp.options.wscale.shift",
            "tcp.options.timestamp.tsval",
            "tcp.options.timestamp.tsecr",
            "tcp.checksum.status",
            "tcp.analysis.flags",
            "tcp.analysis.retransmission",
            "tcp.analysis.duplicate_ack",
            "tcp.analysis.window_update",
        ] {
            tshark.args(["-e", field]);
        }
        let table = Program::start(tshark).succeed();
        let (mut bytes, mut again, mut opened, mut stamps) = (0, 0, 0, [vec![], vec![]]);
        for line in table.text().lines() {
            let [port, syn, len, mss, scale, stamp, echo, checksum, flags, sent_again, duplicate, update] =
                line.split(',').collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{line}"));
            let (from, to) = if port == "5001" { (1, 0) } else { (0, 1) };
            // Data are not in the file, so that their checksum cannot be looked at (2).
            assert!(checksum == "1" || (checksum == "2" && len != "0"), "{line}");
            let len: u64 = len.parse().expect(line);
            assert!(from == 0 || len == 0, "data that nobody sent: {line}");
            if matches!(syn, "1" | "True") {
                opened += 1;
                assert_eq!((len, mss), (0, "1460"), "{line}");
                assert!(!scale.is_empty(), "{line}");
            } else {
                assert!(stamps[to].iter().any(|seen| seen == echo), "an echo of nothing: {line}");
            }
            stamps[from].push(stamp.to_owned());
            let is_again = !sent_again.is_empty();
            // The window of a SYN has no scale, so that the next one is an update.
            assert!(flags.is_empty() || is_again || !(duplicate.is_empty() && update.is_empty()), "{line}");
            again += usize::from(is_again);
            bytes += if is_again { 0 } else { len };
        }
        assert_eq!((opened, bytes, again), (2, 300_000, lost), "{loss}");
    }
}

/// A log as it is and the trace of it carry the same; a recording becomes a trace, too.
#[test]
fn a_log_becomes_a_trace() {
    let place = Place::new();
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/5g/drive.csv");
    let log = log.to_str().expect("text");
    std::fs::copy(log, place.file("drive.csv")).expect("copied");
    let columns = ["--time", "second", "--rate", "mbps", "--unit", "Mbit/s"];
    let trace = right(&[&["scenario", "trace", log][..], &columns].concat());
    // 6891.177 Mbit of the file in a minute, 1504 bytes an opportunity.
    let times: Vec<u64> = trace.text().lines().map(|line| line.parse().expect(line)).collect();
    assert!(times.is_sorted());
    assert_eq!((times.len(), times.last()), (572_737, Some(&60_000)));
    place.write("drive.trace", trace.text());
    let series = place.file("series.csv");
    let goodput = |name: &str, rate: &str| {
        let scenario = place.write(
            name,
            format!(
                "duration = '60s'\nnodes = ['a', 'b']\n\
                 [[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = {rate}\ndelay = '20ms'\n\
                 queue = '200p'\nreverse = {{ rate = '10Mbit/s' }}\n\
                 [[flow]]\nname = 'all'\nkind = 'cbr'\nrate = '20Mbit/s'\nfrom = 'a'\nto = 'b'\n"
            ),
        );
        let json: serde_json::Value = right(&["sim", &scenario, "--json", "--series", &series]).json();
        json["flows"][0]["goodput_bps"].as_f64().expect("a number")
    };
    let by_log =
        goodput("log.toml", "{ log = 'drive.csv', time = 'second', rate = 'mbps', unit = 'Mbit/s' }");
    let by_trace = goodput("trace.toml", "{ trace = 'drive.trace' }");
    // Both lose what the seconds of less than 20 Mbit/s do not carry.
    assert!((by_log / by_trace - 1.0).abs() < 0.002 && (18.5e6..19.5e6).contains(&by_log), "{by_log}");
    let columns = ["--only", "flow=all", "--time", "t_s", "--rate", "goodput_bps"];
    let recorded = right(&[&["scenario", "trace", &series][..], &columns].concat());
    let carried = u32::try_from(recorded.text().lines().count()).expect("few");
    let carried = f64::from(carried) * 1504.0 * 8.0 / 60.0;
    assert!((carried / by_trace - 1.0).abs() < 0.002, "{carried} {by_trace}");
    for (rate, unit, fault) in [
        ("mbit", "Mbit/s", "there is no column `mbit`"),
        ("mbps", "mbps", "there is no unit `mbps`"),
        ("mbps", "", "there is no unit ``"),
    ] {
        let refused = run(["scenario", "trace", log, "--time", "second", "--rate", rate, "--unit", unit]);
        assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(fault), "{}", refused.stderr);
    }
}

/// Each packet of the file is where its way says, and no event is missing.
#[test]
fn packets_of_a_run_as_csv() {
    let place = Place::new();
    let file = place.file("packets.csv");
    let scenario = path("bottleneck.toml");
    let short = ["--set", "duration=5s", "--set", "warmup=1s", "--json"];
    let command = [&["sim", &scenario, "--packets", &file][..], &short].concat();
    let json: serde_json::Value = right(&command).json();
    let plain: serde_json::Value = right(&[&["sim", &scenario][..], &short].concat()).json();
    assert_eq!(json, plain, "looking changes nothing");
    let text = std::fs::read_to_string(&file).expect("written");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("t_s,event,link,flow,packet,bytes,ecn,sent_s,from,to"));
    let fields: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let count = |event: &str, link: &str| {
        fields.iter().filter(|field| field[1] == event && (link.is_empty() || field[2] == link)).count()
    };
    let crossed = count("crossed", "");
    assert_eq!(u64::try_from(crossed).ok(), json["packet_hops"].as_u64());
    // Drops are of packets that never joined; the last packets are still on their way.
    let left = count("joined", "near-far") - count("crossed", "near-far");
    assert!(left < 100 && count("dropped", "near-far") > 0 && count("received", "") > 100, "{left}");
    let mut last = 0.0;
    for field in &fields {
        let [at, sent]: [f64; 2] = [field[0], field[7]].map(|x| x.parse().expect("a time"));
        assert!(last <= at && sent <= at, "{field:?}");
        last = at;
    }
    let refused = run(["sim", &scenario, "--packets", &place.file("no.csv"), "--runs", "2"]);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
}

#[test]
fn the_schema_is_json() {
    let schema: serde_json::Value = right(&["sim", "--schema"]).json();
    assert!(schema["properties"]["link"].is_object());
}
