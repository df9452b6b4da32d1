//! One wrong file for each kind of mistake, and what its author reads.

use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme};

use tfrc_units::Duration;

use super::{Document, Fault, Scenario, ScenarioError, World};

/// The file that shows a kind of mistake, without its suffix.
const fn file(fault: Fault) -> &'static str {
    match fault {
        Fault::Conflict => "conflict",
        Fault::Duplicate => "duplicate",
        Fault::Idle => "idle",
        Fault::Loop => "loop",
        Fault::Memory => "memory",
        Fault::MissingKey => "missing-key",
        Fault::Order => "order",
        Fault::Path => "path",
        Fault::Quantity => "quantity",
        Fault::Range => "range",
        Fault::Source => "source",
        Fault::Syntax => "syntax",
        Fault::Trace => "trace",
        Fault::UnknownKey => "unknown-key",
        Fault::UnknownName => "unknown-name",
        Fault::Unreachable => "unreachable",
        Fault::Word => "word",
        Fault::World => "world",
        Fault::WrongType => "wrong-type",
    }
}

fn picture(error: &ScenarioError) -> String {
    let mut out = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut out, error)
        .unwrap();
    out
}

/// A file of this kind gives this mistake, with a mark in the text and a hint. A new kind does not
/// build until it has a name in `file`, and then wants its file.
#[test]
fn every_kind_of_mistake_has_its_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    let mut seen = Vec::new();
    for name in &names {
        let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
        let error = Document::new(format!("{name}.toml"), text.as_str()).plan().unwrap_err();
        let ScenarioError::Invalid(invalid) = &error else { panic!("{name}: {error}") };
        assert_eq!(file(invalid.fault), name);
        assert!(invalid.hint.is_some(), "{name} has no hint");
        let end = invalid.place.offset() + invalid.place.len();
        assert!(!invalid.place.is_empty() && end <= text.len(), "{name}: {:?}", invalid.place);
        insta::with_settings!({ snapshot_path => "../tests/snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("wrong__{name}"), picture(&error));
        });
        seen.push(invalid.fault);
    }
    // `WrongType` is the last: as many kinds as come before it, and it.
    assert_eq!(seen.len(), usize::from(Fault::WrongType as u8) + 1);
}

#[test]
fn a_mistake_in_a_change_is_shown_in_the_change() {
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/bottleneck.toml"),
    )
    .unwrap();
    for (change, place, fault) in [
        ("link.near-far.rate=fast", "fast", Fault::Quantity),
        ("link.0.rate = 2Mbit", "2Mbit", Fault::Quantity),
        ("link.near-far.qeue=25p", "qeue", Fault::UnknownKey),
        ("link.nearfar.rate=1M", "nearfar", Fault::Path),
        ("link.7.rate=1M", "7", Fault::Path),
        ("flow.tfrc-1.tfrc.revision=ns3", "ns3", Fault::Word),
        ("flow.tfrc-1.kind.x=1", "kind", Fault::Path),
        ("link.0.loss={ bernoulli = \"200%\" }", "\"200%\"", Fault::Range),
        ("link.0.loss={ bernoulli = ", "", Fault::Syntax),
        ("link..rate=1M", "", Fault::Path),
        ("duration", "duration", Fault::Path),
        ("sweep.0.values=[1]", "sweep", Fault::Path),
        // A name that would move a terminal, or put a line into a file.
        ("flow.tfrc-1.name=\"a\\u001b[2J\"", "\"a\\u001b[2J\"", Fault::Word),
        ("link.0.name=\"a\\nb\"", "\"a\\nb\"", Fault::Word),
        ("nodes=[\"near\\u202e\", \"far\"]", "\"near\\u202e\"", Fault::Word),
    ] {
        let mut document = Document::new("bottleneck.toml", text.as_str());
        document.set("seed=2");
        document.set(change);
        let Err(ScenarioError::Invalid(invalid)) = document.plan() else { panic!("{change} is taken") };
        assert_eq!(invalid.fault, fault, "{change}: {}", invalid.message);
        let (start, end) = (invalid.place.offset(), invalid.place.offset() + invalid.place.len());
        if !place.is_empty() {
            assert_eq!(&change[start..end], place, "{change}");
        }
        assert_eq!(invalid.text.name(), "--set");
    }
}

/// A number without its unit is a question, wherever a unit belongs; zero, counts and probabilities
/// have none.
#[test]
fn a_bare_number_is_asked_about() {
    let text = include_str!("../../../scenarios/bottleneck.toml");
    let read = |change: &str| {
        let mut document = Document::new("bottleneck.toml", text);
        document.set("flow.0.kind=tcp");
        document.set(change);
        match document.plan() {
            Ok(_) => None,
            Err(ScenarioError::Invalid(invalid)) => Some(invalid.message),
            Err(other) => panic!("{other}"),
        }
    };
    for (change, question) in [
        ("link.near-far.queue=25", "`25` has no unit: 25p or 25B?"),
        ("link.near-far.queue={ codel = { limit = 25 } }", "`limit`: `25` has no unit: 25p or 25B?"),
        ("link.near-far.rate=4", "`4` has no unit: 4Mbit/s or 4kbit/s?"),
        ("link.near-far.delay=20", "`20` has no unit: 20s or 20ms?"),
        ("link.near-far.loss=1", "`1` has no unit: 1% or 100%?"),
        ("link.near-far.loss=1.0", "`1` has no unit: 1% or 100%?"),
        ("flow.0.segment=1000", "`1000` has no unit: 1000B?"),
        ("flow.0.start=uniform 0s 5", "`uniform 0s 5` has no unit: 5s or 5ms?"),
        ("flow.0.tcp.min_rto=200", "`min_rto`: `200` has no unit: 200s or 200ms?"),
        ("duration=60", "`60` has no unit: 60s or 60ms?"),
    ] {
        assert_eq!(read(change).as_deref(), Some(question), "{change}");
    }
    for right in [
        "link.near-far.delay=0",
        "link.near-far.loss=0.01",
        "link.near-far.loss=0",
        "flow.0.count=2",
        "flow.0.start=uniform 0 5s",
        "flow.0.tcp.window=20",
    ] {
        assert_eq!(read(right), None, "{right}");
    }
}

/// The hints of words that a user of today tries.
#[test]
fn a_tcp_in_place_of_a_kind_is_explained() {
    let text = include_str!("../../../scenarios/bottleneck.toml");
    let hint = |changes: &[&str]| {
        let mut document = Document::new("bottleneck.toml", text);
        changes.iter().for_each(|change| document.set(*change));
        let Err(ScenarioError::Invalid(invalid)) = document.plan() else { panic!("{changes:?} is taken") };
        invalid.hint.unwrap_or_default()
    };
    assert_eq!(
        hint(&["flow.0.kind=bbr"]),
        "it is a TCP: write kind = \"tcp\", and tcp = { variant = \"bbr\" }"
    );
    assert_eq!(hint(&["flow.0.kind=tcq"]), "did you mean `tcp`?");
    let unknown = hint(&["flow.0.kind=tcp", "flow.0.tcp.variant=dctcp"]);
    assert!(unknown.contains("`bbr`, `cubic`,"), "{unknown}");
}

#[test]
fn a_change_may_mean_several_entries_and_a_number_a_name() {
    let text = "duration = \"10s\"\nnodes = [\"1\", \"2\", \"3\"]\n\
        [[link]]\nfrom = \"1\"\nto = \"2\"\nrate = \"1Mbit/s\"\ndelay = \"1ms\"\n\
        [[link]]\nfrom = \"2\"\nto = \"3\"\nrate = \"1Mbit/s\"\ndelay = \"1ms\"\n\
        [[flow]]\nname = \"a\"\nkind = \"tfrc\"\nfrom = \"1\"\nto = \"3\"\n\
        [[flow]]\nname = \"b-1\"\nkind = \"tfrc\"\nfrom = \"1\"\nto = { value = \"3\", source = \"here\" }\n\
        [[flow]]\nname = \"b-2\"\nkind = \"tfrc\"\nfrom = \"1\"\nto = \"3\"\n";
    let plan = |changes: &[&str]| {
        let mut document = Document::new("chain.toml", text);
        changes.iter().for_each(|change| document.set(*change));
        document.plan().unwrap().points.remove(0).scenario
    };
    let to = |changes: &[&str]| plan(changes).flows.iter().map(|flow| flow.to).collect::<Vec<_>>();
    let (far, near) = (to(&[])[0], to(&["flow.*.to=2"])[0]);
    assert_ne!(far, near);
    assert_eq!(to(&["flow.b-*.to=2", "flow.c*.to=2"]), [far, near, near]);
    assert_eq!(to(&["flow.*.to=2"]), vec![near; 3]);
}

#[test]
fn round_trips_in_equal_steps() {
    let text = |rtt: &str| {
        format!(
            "duration = \"1s\"\nnodes = [\"a\", \"b\"]\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbit/s\"\n\
             delay = \"10ms\"\n[[flow]]\nkind = \"tcp\"\ncount = 5\nfrom = \"a\"\nto = \"b\"\nrtt = \"{rtt}\"\n"
        )
    };
    let scenario = Scenario::parse("even.toml", &text("evenly 40ms 240ms")).unwrap();
    let (network, members) = scenario.lay_out(tfrc_sim::Seed(1));
    // Half of what the link's 20 ms leave.
    for (member, ms) in members.iter().zip([10, 35, 60, 85, 110]) {
        let name = format!("{}/access", member.name);
        let line = network.links().find(|(_, spec)| spec.name == name).unwrap();
        let apart = line.1.delay.as_nanos().abs_diff(Duration::from_millis(ms).as_nanos());
        assert!(apart <= 1, "{name}: {apart} ns");
    }
    for wrong in ["evenly 240ms 40ms", "evenly 40ms", "evenly 10ms 40ms", "evenly"] {
        assert!(Scenario::parse("even.toml", &text(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn flows_share_the_hosts_of_others() {
    let text = |more: &str| {
        format!(
            "duration = '1s'\nnodes = ['a', 'b']\n[[link]]\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\n\
             delay = '10ms'\n[[flow]]\nname = 'one'\nkind = 'tcp'\ncount = 3\nfrom = 'a'\nto = 'b'\n\
             rtt = '40ms'\nexit = {{ rate = '1Mbit/s' }}\n[[flow]]\nname = 'two'\nkind = 'tfrc'\ncount = 5\n{more}\n"
        )
    };
    let scenario = Scenario::parse("hosts.toml", &text("from = 'a'\nto = 'b'\nhosts = 'one'")).unwrap();
    let (network, members) = scenario.lay_out(tfrc_sim::Seed(1));
    // The link, and two lines both ways for each of the three.
    assert_eq!(network.links().count(), 2 + 3 * 4);
    let ends: Vec<_> = members.iter().map(|member| (member.from, member.to)).collect();
    assert_eq!(ends[3..], [ends[0], ends[1], ends[2], ends[0], ends[1]]);
    let drawn = text("from = 'a'\nto = 'b'\nhosts = 'drawn one'").replace("count = 5", "count = 900");
    let scenario = Scenario::parse("hosts.toml", &drawn).unwrap();
    let (_, members) = scenario.lay_out(tfrc_sim::Seed(1));
    for (from, to) in (0..9).map(|pair| (ends[pair / 3].0, ends[pair % 3].1)) {
        let count = members[3..].iter().filter(|member| (member.from, member.to) == (from, to)).count();
        assert!((70..130).contains(&count), "{count} of 900");
    }
    for (wrong, words) in [
        ("from = 'a'\nto = 'b'\nhosts = 'two'", "no entry above is called `two`"),
        ("from = 'a'\nto = 'b'\nhosts = 'drawn two'", "no entry above is called `two`"),
        ("from = 'a'\nto = 'b'\nhosts = 'one'\nrtt = '40ms'", "`rtt` is of lines"),
        ("from = 'b'\nto = 'a'\nhosts = 'one'", "go from and to other nodes"),
    ] {
        let error = Scenario::parse("hosts.toml", &text(wrong)).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// A word is refused in its place by a world that does not have it, and only there.
#[test]
fn each_world_has_its_words() {
    let text = |flow: &str| {
        format!(
            "duration = '60s'\nnodes = ['a', 'b']\n[[link]]\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\ndelay = '1ms'\n\
            [[flow]]\nfrom = 'a'\nto = 'b'\n{flow}\n"
        )
    };
    for (flow, refused_by, place) in [
        ("kind = 'tcp'\ntcp = { variant = 'cubic' }", None, ""),
        ("kind = 'tcp'\ntcp = { variant = 'bbr' }", None, ""),
        (
            "kind = 'web'\ntcp = { variant = 'newreno', settings = 'linux' }",
            Some(World::Simulated),
            "'newreno'",
        ),
        ("kind = 'tcp'\ntcp = { variant = 'tahoe' }", Some(World::Emulated), "'tahoe'"),
        ("kind = 'web'\ntcp = { settings = 'ns2' }", Some(World::Emulated), "'ns2'"),
        ("kind = 'tcp'\ntcp = { min_rto = '50ms' }", Some(World::Emulated), "'50ms'"),
        ("kind = 'tcp'\nsegment = '40B'", Some(World::Emulated), "'40B'"),
    ] {
        let text = text(flow);
        for world in [World::Emulated, World::Links, World::Simulated] {
            let refused = match Document::new("world.toml", text.as_str()).plan_for(world) {
                Ok(_) => None,
                Err(ScenarioError::Invalid(invalid)) => Some(invalid),
                Err(error) => panic!("{error}"),
            };
            assert_eq!(refused.is_some(), refused_by == Some(world), "{world:?}: {flow}");
            if let Some(refused) = refused {
                let (start, end) = (refused.place.offset(), refused.place.offset() + refused.place.len());
                assert_eq!((refused.fault, &text[start..end]), (Fault::World, place));
            }
        }
    }
}

/// A file shows all its mistakes at once, and none that only follows from another.
#[test]
fn all_mistakes_of_a_file_are_shown() {
    const TEXT: &str = "duration = '10s'\nnodes = ['a', 'b']\n[[link]]\nfrom = 'a'\nto = 'b'\nrate = 4\n\
        delay = '20ms'\nqueue = '25p'\ncolour = 'red'\n[[flow]]\nkind = 'bbr'\nfrom = 'a'\nto = 'b'\n\
        [[flow]]\nkind = 'tfrc'\nfrom = 'a'\nto = 'c'\n[[flow]]\nkind = 'tcp'\nfrom = 'a'\nto = 'b'\n\
        tcp = { variant = 'dctcp' }\n";
    let shown = |text: &str| {
        let Err(ScenarioError::Invalid(invalid)) = Document::new("t", text).plan() else { panic!("taken") };
        let all = std::iter::once(&*invalid).chain(&invalid.others);
        let mut all: Vec<_> = all.map(|one| &text[one.place.offset()..][..one.place.len()]).collect();
        all.sort_unstable();
        all.join(" ")
    };
    // A link without a rate hides what a flow over it needs.
    assert_eq!(shown(TEXT), "'bbr' 'c' 4 colour");
    assert_eq!(shown(&TEXT.replace("rate = 4", "rate = '4Mbit/s'")), "'bbr' 'c' 'dctcp' colour");
    // What was defined by the only mistake is not missed.
    let missed = "duration = '1s'\nnodes = ['a', 5]\n[[link]]\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\n\
        delay = '1ms'\nqueue = '5p'\n";
    assert_eq!(shown(missed), "5");
}

#[test]
fn a_transfer_has_a_byte_at_least() {
    let text = |bytes: &str| {
        format!(
            "duration = '9s'\nnodes = ['a', 'b']\n[[link]]\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\ndelay = '1ms'\n\
             [[flow]]\nkind = 'tcp'\nfrom = 'a'\nto = 'b'\ntransfer = '{bytes}'\n"
        )
    };
    assert!(Scenario::parse("one.toml", &text("1B")).is_ok());
    let none = Scenario::parse("none.toml", &text("0B")).unwrap_err();
    assert!(none.to_string().contains("nothing"), "{none}");
}

/// A measured host is for flows of every kind, a time for TCP alone.
#[test]
fn hosts_are_late_under_any_flow() {
    let text = |kind: &str, overhead: &str| {
        format!(
            "duration = '9s'\nnodes = ['a', 'b']\n[[link]]\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\ndelay = '1ms'\n\
             [[flow]]\nkind = '{kind}'\nfrom = 'a'\nto = 'b'\noverhead = '{overhead}'\n"
        )
    };
    for kind in ["tcp", "tfrc", "dccp", "ping"] {
        let found = Scenario::parse("late.toml", &text(kind, "emu-vm-6.18"));
        assert!(found.is_ok_and(|one| one.flows[0].host.is_some()), "{kind}");
        assert_eq!(Scenario::parse("late.toml", &text(kind, "1ms")).is_ok(), kind == "tcp", "{kind}");
    }
    assert!(Scenario::parse("late.toml", &text("tcp", "another-vm")).is_err());
}

/// The marks « and » stand around the place of each mistake.
#[test]
fn mistakes_of_what_changes_have_their_place() {
    for (link, flow) in [
        ("changes = [{ at = «\"1s\"» }]", ""),
        ("changes = [{ at = \"2s\", delay = \"1ms\" }, { at = «\"2s\"», queue = \"9p\" }]", ""),
        ("queue = «{ codel = { limit = \"9p\" } }»\nchanges = [{ at = \"1s\", queue = \"9p\" }]", ""),
        ("changes = [{ at = \"1s\", loss = «\"120%\"» }]", ""),
        ("changes = [{ at = \"1s\", delay = «-5» }]", ""),
        ("", "active = «[]»"),
        ("", "active = [{ from = \"1s\", to = \"4s\" }, «{ from = \"2s\", to = \"5s\" }»]"),
        ("", "writes = «[]»"),
        ("", "writes = [{ at = \"2s\", bytes = \"1B\" }, «{ at = \"1s\", bytes = \"1B\" }»]"),
        ("", "writes = [{ at = \"2s\", bytes = «\"many\"» }]"),
        ("", "writes = «{ file = \"none.csv\", bytes = \"1\" }»"),
        ("", "writes = { file = «\"none.csv\"», interval = \"40ms\", bytes = \"1\" }"),
        ("", "writes = { file = \"none.csv\", interval = «\"0s\"», bytes = \"1\" }"),
        ("", "writes = { file = \"none.csv\", interval = \"1s\", bytes = \"1\", unit = «\"MiB\"» }"),
        ("", "transfer = «\"0B\"»"),
        ("", "transfer = «\"9kB\"»\nwrites = [{ at = \"2s\", bytes = \"1B\" }]"),
        ("", "active = «[{ from = \"1s\", to = \"4s\" }]»\nwrites = [{ at = \"2s\", bytes = \"1B\" }]"),
    ] {
        let marked = format!(
            "duration = \"60s\"\nnodes = [\"near\", \"far\"]\n\n[[link]]\nfrom = \"near\"\nto = \"far\"\n\
             rate = \"2Mbit/s\"\ndelay = \"20ms\"\n{link}\n\n[[flow]]\nkind = \"tfrc\"\nfrom = \"near\"\n\
             to = \"far\"\n{flow}\n"
        );
        let begin = marked.find('«').expect("a mark");
        let end = marked.find('»').expect("a mark") - '«'.len_utf8();
        let text = marked.replace(['«', '»'], "");
        let error = Document::new("file.toml".to_owned(), text.as_str()).plan().unwrap_err();
        let ScenarioError::Invalid(invalid) = &error else { panic!("{marked}: {error}") };
        let place = invalid.place.offset()..invalid.place.offset() + invalid.place.len();
        assert_eq!(text.get(place), text.get(begin..end), "{link} {flow}: {}", picture(&error));
        assert!(invalid.hint.is_some(), "{link} {flow} has no hint");
    }
}

/// A scenario that is written whole reads as before, and each of its lines names its change.
#[test]
fn a_whole_scenario_has_its_changes_and_reads_as_before() {
    for built_in in super::library::BuiltIn::all() {
        let before = Document::new("file.toml", built_in.text);
        let lines: Vec<String> = before.whole().unwrap().into_iter().map(|(line, _)| line).collect();
        let after = Document::new("whole.toml", lines.join("\n"));
        let points = |document: &Document| format!("{:?}", document.plan().unwrap().points);
        assert_eq!(points(&before), points(&after), "{}", built_in.name);
    }
    let mut document = Document::new(
        "file.toml",
        "duration = '9s'\nnodes = ['a', 'b']\n[[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\nrate = '1Mbit/s'\n\
         delay = { value = '1ms', assumed = 'a guess' }\n[[flow]]\nname = 'a \"b\"'\nkind = 'tcp'\nfrom = 'a'\n\
         to = 'b'\nstart = '0s'\n[flow.tcp]\nvariant = 'sack'\n",
    );
    document.set("duration=8s");
    document.set("flow.0.tcp={ variant = 'reno', window = 7 }");
    document.set("flow.0.tcp.window=8");
    document.set("link.path.loss={ bernoulli = '1%' }");
    document.set("link.path.queue={ red = { limit = '9p' } }");
    let whole = document.whole().unwrap();
    let written: Vec<String> = whole
        .iter()
        .filter(|(line, _)| !line.is_empty())
        .map(|(line, change)| change.map_or_else(|| line.clone(), |change| format!("{line} # {change}")))
        .collect();
    assert_eq!(
        written,
        [
            "duration = \"8s\" # 0",
            "nodes = [\"a\", \"b\"]",
            "[[link]]",
            "name = \"path\"",
            "from = \"a\"",
            "to = \"b\"",
            "rate = \"1Mbit/s\"",
            "delay = { value = \"1ms\", assumed = \"a guess\" }",
            "[link.loss]",
            "bernoulli = \"1%\" # 3",
            "[link.queue.red]",
            "limit = \"9p\" # 4",
            "[[flow]]",
            "name = \"a \\\"b\\\"\"",
            "kind = \"tcp\"",
            "from = \"a\"",
            "to = \"b\"",
            "start = \"0s\"",
            "[flow.tcp]",
            "variant = \"reno\" # 1",
            "window = 8 # 2",
        ]
    );
}
