//! `tfrc link`: a link without a file, its lines and its page, and the packets that it counts.

use std::process::Stdio;

use serde_json::Value;

use crate::e2e::network::{Place, end_link, link, recv, send, session_over};
use crate::e2e::program::{Program, run, tfrc};

/// Losses at the far end of the line are counted as those before the queue.
#[test]
fn losses_after_the_line_are_counted() {
    let place = Place::new();
    let keys = "rate = '20Mbit/s'\ndelay = '2ms'\nqueue = '500p'\n\
                loss = { bernoulli = '10%', place = 'after-line' }";
    let (session, there, _) = session_over(&place.one_link(keys), &[], &["-n", "300kB"]);
    assert!(session.lost() > 0, "10 % of some 230 packets");
    assert!(there.dropped >= session.lost(), "{there:?} and {} lost", session.lost());
}

/// A link given by options, in lines: what the lines count is what the end says.
#[test]
fn a_link_without_a_file_tells_its_course() {
    let place = Place::new();
    let (page, series) = (place.file("link.html"), place.file("link.csv"));
    let (receiver, address) = recv(&["-1", "--json"]);
    let mut command = tfrc(["link", "--rate", "10M", "--delay", "2ms", "--loss", "5%", "--queue", "50p"]);
    command.args(["--listen", "127.0.0.1:0", "--to", &address, "--set", "link.path.duplicate=0%"]);
    command.args(["--seed", "3", "--json-stream", "--report", &page, "--series", &series]);
    let mut relay = Program::start(command);
    let line = relay.wait_for("relaying");
    assert!(line.ends_with("through one link"), "{line}");
    let entrance = line.split(' ').nth(1).expect("an address");
    let _: Value = send(entrance, &["--json", "-n", "300kB"], Stdio::null()).succeed().json();
    let _: Value = receiver.succeed().json();
    relay.signal("INT");
    let finished = relay.succeed();
    let lines: Vec<Value> =
        finished.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (start, end) = (&lines[0], &lines[lines.len() - 1]);
    assert_eq!(
        (&start["type"], &start["role"], &end["type"]),
        (&"start".into(), &"link".into(), &"end".into())
    );
    let sum = |key: &str| {
        let of_path = lines.iter().filter(|line| line["link"] == "path");
        of_path.map(|line| line[key].as_u64().expect(key)).sum::<u64>()
    };
    let (sent, lost) = (sum("sent_packets"), sum("lost_packets"));
    assert!(sent > 200 && lost > 0, "{lost} of {sent}");
    let (told, counted) = (end["links"][0]["drop_rate"].as_f64().expect("a rate"), lost as f64 / sent as f64);
    assert!((told - counted).abs() < 1e-12, "{told} and {counted}");
    let series = std::fs::read_to_string(&series).expect("the time series");
    assert!(series.starts_with("run,point,flow,link,t_s,"), "{series}");
    assert_eq!(series.lines().count(), lines.len() - 1, "a line for each interval, and the heads");
    let page = std::fs::read_to_string(&page).expect("the page");
    for words in ["A network between programs", "\"id\":\"queues\"", "queue_packets path back"] {
        assert!(page.contains(words), "{words}");
    }
}

/// `--set` changes the scenario of a link, and a mistake in it is shown.
#[test]
fn a_link_takes_changes() {
    let place = Place::new();
    let scenario = place.one_link("rate = '20Mbit/s'\ndelay = '2ms'");
    let (relay, _) = link(&scenario, "127.0.0.1:9");
    let (there, _) = end_link(relay);
    assert_eq!((there.arrived, there.dropped), (0, 0));
    let file = scenario.to_str().expect("text");
    let ends = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"];
    for (args, says) in [
        (&["link", file, "--set", "link.near-far.rate=1Mbot"][..], "[--set:1:20]"),
        (&["link", "botleneck"], "did you mean `bottleneck`?"),
        (&["link", "--rate", "1M", "--queue", "25x"], "25x"),
        (&["link", file, "--loss", "2%"], "change a link of it: --set link.near-far.loss=2%"),
        (&["link", file, "--rate", "2M", "--queue", "9p"], "--set link.near-far.rate=2M"),
    ] {
        let refused = run([args, &ends].concat());
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(says), "{args:?}: {}", refused.stderr);
    }
}
