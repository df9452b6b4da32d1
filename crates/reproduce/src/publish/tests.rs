//! Tests of the published pages.

use std::path::Path;

use super::super::{Hooks, Prepared, Wanted, World, library};
use super::*;
use tfrc_lab::batch::Shard;

/// A directory with one experiment of computed values.
fn experiment() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let at = dir.path().join("paper/one");
    std::fs::create_dir_all(&at).expect("made");
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).expect("written");
    write(
        "experiment.toml",
        "title = 'Odd <b>|title'\nsource = 'S & T'\nkeys = { p = [] }\ncode = 'rfc4828::table_01'\n\
         [[cells]]\ncolumn = 'x_14B'\n[[cells]]\ncolumn = 'y_1460B'\n\
         [[claim]]\ntext = 'larger'\nvalue = \"cell('0.01','y_1460B')/cell('0.01','x_14B')\"\nbetween = [27, 28]\n",
    );
    write("published.csv", "# from <there>\np,x_14B,y_1460B\n0.01,6.07,168.61\n0.1,0.96,30.00\n");
    write("README.md", "# One\n\n</script><script>alert(1)</script>\n");
    std::fs::write(
        dir.path().join("paper/README.md"),
        "# The paper\n\nAbout.\n\n## What was learnt\n\nMuch\nindeed.\n",
    )
    .expect("written");
    dir
}

fn with<R>(root: &Path, see: impl Fn(&Publication<'_>) -> R) -> R {
    let experiments = library::load(root, &["all".to_owned()]).expect("right");
    let wanted = Wanted { quick: false, jobs: 1, world: World::Sim, shard: Shard::WHOLE };
    let prepared = Prepared::new(&experiments, wanted).expect("right");
    let hooks = Hooks { done: &|_| (), more: &|_| (), warn: &|_| (), stop: &|| false, emulated: None };
    let results = prepared.run(None, &hooks).expect("runs");
    see(&Publication { experiments: &experiments, results: &results, commit: Some("0123abc") })
}

#[test]
fn the_line_of_an_experiment() {
    let dir = experiment();
    let text = with(dir.path(), |publication| publication.markdown());
    assert!(
        text.contains("\n### disagrees\n\n* [paper/one](../experiments/paper/one/README.md) (Odd"),
        "{text}"
    );
    assert!(text.contains("\n### The paper\n\n* Much indeed.\n"), "{text}");
    assert!(text.contains("\n| paper | 0/1 | 0/0 | 0 | 0 | 0 | 0 | 1 | 0 |\n| all | 0/1 | "), "{text}");
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| [paper/one](../experiments/paper/one/README.md)"))
        .collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].ends_with("| Odd <b>\\|title | disagrees | - | disagrees | 1/1 |"), "{text}");
    assert!(
        lines[1].ends_with("| 3/4 |  | 0.9983 over print | 0.1 y\\_1460B: 0.8859 over print | 10 | 0 |"),
        "{text}"
    );
}

#[test]
fn the_page_is_whole_and_nothing_of_the_files_runs_in_it() {
    let dir = experiment();
    let paper = dir.path().join("paper");
    std::fs::create_dir(paper.join("two")).expect("made");
    for name in ["experiment.toml", "published.csv", "README.md"] {
        std::fs::copy(paper.join("one").join(name), paper.join("two").join(name)).expect("copied");
    }
    let page = with(dir.path(), |publication| publication.html().expect("drawn"));
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(!page.contains("<script>alert") && !page.contains("Odd <b>"));
    assert!(page.contains("commit <code>0123abc</code>"), "what it is of");
    assert!(page.contains("Odd &lt;b&gt;") && page.contains("✓ 27.78") && page.contains("▼▼"), "no mark");
    let tiles = page.matches("<a class=\"tile disagrees\" href=\"#paper/one/figure\"").count();
    assert_eq!(
        (tiles, page.matches("id=\"paper/one/figure\"").count()),
        (1, 1),
        "a tile that leads to its part"
    );
    let figures = page.find("<svg class=\"figure\"").expect("a drawing");
    assert!(figures < page.find("id=\"findings\"").expect("findings"), "the page opens with the figures");
    assert!(page.contains(">kB/s</text>") || page.contains("packet drop rate") || page.contains(">p</text>"));
    assert!(!page.contains("http://") && !page.contains("src=\"") && !page.contains("@import"));
}

/// One experiment has a page of its own: the verdict, its figure, what fails, cells, and the
/// paper's lessons once.
#[test]
fn a_page_of_one_experiment() {
    let dir = experiment();
    let at = dir.path().join("paper/one");
    let text = std::fs::read_to_string(at.join("experiment.toml")).expect("there");
    std::fs::write(at.join("experiment.toml"), text.replace("[27, 28]", "[1, 2]")).expect("written");
    let page = with(dir.path(), |publication| publication.html().expect("drawn"));
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}: {page}"));
    let order = [
        "<h1>Odd &lt;b&gt;|title</h1>",
        "The runs disagree with the print: 3 of 4 cells with the print, 0 of 1 claims hold.",
        "<svg class=\"figure\"",
        "\u{201c}larger\u{201d}: <b>27.78</b> here, where 1.000 to 2.000 would hold.",
        "<h4>Cells</h4>",
        "Much\nindeed.",
    ];
    assert!(order.map(place).is_sorted(), "{page}");
    assert_eq!((page.matches("Much\nindeed.").count(), page.matches("class=\"gallery\"").count()), (1, 0));
}

#[test]
fn all_files_are_there() {
    let (dir, out) = (experiment(), tempfile::tempdir().expect("a directory"));
    with(dir.path(), |publication| publication.write(out.path())).expect("written");
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).expect(name);
    assert!(read("index.html").ends_with("</html>\n"));
    let svg = read("paper/one.svg");
    assert!(
        svg.starts_with("<svg xmlns=") && svg.contains("<style>") && svg.contains("Odd &lt;b&gt;"),
        "{svg}"
    );
    // Print and measured value of each of four cells, and a sample of each mark in two legends.
    assert_eq!((svg.matches("<circle").count(), svg.matches("m-3 -3h6v6h-6z").count()), (6, 6));
    let csv = read("paper/one.csv");
    assert_eq!(
        csv.lines().nth(1),
        Some(
            "row,column,published,ns2,measured,ci95,emulated,emulated_ci95,emulated_runs,emulated_note,rfc_profile,ratio,\
             ratio_over,runs,verdict_print,verdict_ns2,verdict"
        )
    );
    assert!(
        csv.lines().any(|line| line.starts_with("0.1,y_1460B,30,,26.5")
            && line.ends_with(",print,1,disagrees,,disagrees")),
        "{csv}"
    );
    let json: serde_json::Value = serde_json::from_str(&read("results.json")).expect("JSON");
    assert_eq!(json["experiments"][0]["cells"][3]["verdict"], "disagrees");
    assert_eq!(json["experiments"][0]["claims"][0]["holds_in_source"], true);
    assert_eq!(read("results.md"), with(dir.path(), |publication| publication.markdown()));
}

#[test]
fn emulated_values_are_drawn_alone_and_named() {
    let dir = experiment();
    let drawn = |layout: &str| {
        std::fs::write(dir.path().join("paper/one/figure.toml"), layout).expect("written");
        with(dir.path(), |simulated| {
            let mut results = simulated.results.clone();
            for cell in results.experiments.iter_mut().flat_map(|one| &mut one.cells) {
                (cell.emulated, cell.emulated_ci95) = (cell.measured.take(), Some(0.5));
            }
            Publication { results: &results, ..*simulated }.figure().expect("right").expect("drawn")
        })
    };
    let svg = drawn("x_title = 'drop rate'\n");
    assert_eq!((svg.matches(">emulated, 95 %<").count(), svg.matches(">measured, 95 %<").count()), (2, 0));
    let both = "[[panel]]\ny_title = 'rate'\ncolumns = ['x_14B', 'y_1460B']\n";
    let svg = drawn(both);
    assert_eq!((svg.matches(">Emulated<").count(), svg.matches(">emulated, 95 %<").count()), (1, 0));
}

#[test]
fn a_layout_gives_the_form_and_its_mistakes_have_a_name() {
    let dir = experiment();
    let layout = |text: &str| {
        std::fs::write(dir.path().join("paper/one/figure.toml"), text).expect("written");
        with(dir.path(), |publication| publication.figure())
    };
    let both = "x_title = 'drop rate'\n[[panel]]\ny_title = 'rate'\ncolumns = ['x_14B', 'y_1460B']\n";
    let svg = layout(both).expect("right").expect("drawn");
    // The dashes of the print are named once, in no series' colour.
    assert_eq!((svg.matches(">drop rate<").count(), svg.matches(">published<").count()), (1, 1));
    assert!(svg.contains("<g class=\"ink\">"), "{svg}");
    for (text, says) in [
        ("x = 'q'", "there is no key `q`"),
        ("[[panel]]\ncolumns = ['y_1460']", "there is no column `y_1460`: did you mean `y_1460B`?"),
        ("[[panel]]\nacross = 'z_'", "no column begins with `z_`"),
        ("colour = 'red'", "unknown field `colour`"),
    ] {
        let wrong = layout(text).expect_err(says).to_string();
        assert!(wrong.contains(says) && wrong.contains("figure.toml"), "{wrong}");
    }
}

/// Runs two simulated seconds, as `figure.toml` asks.
#[test]
fn a_trace_shows_the_measured_part_of_a_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = dir.path().join("paper/run");
    std::fs::create_dir_all(&at).expect("made");
    for (name, text) in [
        (
            "experiment.toml",
            "title = 'T'\nsource = 'S'\ndeterministic = true\nkeys = { case = [] }\n[run.one]\n[[cells]]\n\
             column = 'kbps'\nvalue = \"flow('one', 'send_rate_bps') / 1000\"\n",
        ),
        (
            "scenario.toml",
            "duration = '3s'\nwarmup = '1s'\nnodes = ['a', 'b']\n[[link]]\nname = 'path'\nfrom = 'a'\nto = 'b'\n\
             rate = '1Mbit/s'\ndelay = '10ms'\nqueue = '10p'\n[[flow]]\nname = 'one'\nkind = 'cbr'\n\
             rate = '100kbit/s'\nfrom = 'a'\nto = 'b'\n",
        ),
        ("published.csv", "case,kbps\nonly,100\n"),
        (
            "figure.toml",
            "[[trace]]\ntitle = 'Rates'\nrun = 'one'\nflows = ['one']\nbin = '500ms'\n\
             [[trace]]\nrun = 'one'\nlink = 'path'\nbin = '100ms'\n",
        ),
    ] {
        std::fs::write(at.join(name), text).expect("written");
    }
    let svg = with(dir.path(), |publication| publication.figure()).expect("right").expect("drawn");
    assert!(svg.contains(">Rates<") && svg.contains("goodput in 500ms (kbit/s)") && svg.contains(">ONE<"));
    assert!(
        svg.contains("queue (packets)") && !svg.contains("measured, 95"),
        "a paper shows the traces alone"
    );
    let page = with(dir.path(), |publication| publication.html()).expect("right");
    assert_eq!(page.matches("<svg class=\"figure\"").count(), 3, "two traces and the table");
}

/// Every layout of the repository names what is there.
#[test]
fn the_layouts_of_the_experiments_are_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let all = library::load(&root, &["all".to_owned()]).expect("right");
    let with_file = all.iter().filter(|one| figure::is_laid_out(one).expect("right")).count();
    assert!(with_file >= 18, "{with_file}");
}
