//! The version of the code in the cache's key: a change of code changes it, and nothing else does.

use std::path::Path;

use tfrc_fingerprint::{Code, locked, sources};

const CODE: &str =
    "//! Head.\nuse a::b;\n\n/// A function.\npub fn f(x: u32) -> u32 {\n    x + 1 // one\n}\n";

fn version(files: &[(&str, &str)]) -> String {
    let mut code = Code::default();
    files.iter().for_each(|(path, text)| code.add(Path::new(path), text));
    code.version()
}

fn of(text: &str) -> String {
    version(&[("src/lib.rs", text)])
}

#[test]
fn comments_layout_and_tests_leave_it() {
    let unchanged = of(CODE);
    for other in [
        CODE.replace("//! Head.\n", "//! Another head.\n"),
        CODE.replace("/// A function.", "/// Another\n/// text."),
        CODE.replace(" // one", " /* two */"),
        CODE.replace("    x + 1", "x\n+\n1"),
        format!("{CODE}#[cfg(test)]\nmod tests {{\n    #[test]\n    fn t() {{}}\n}}\n"),
        format!("{CODE}#[cfg(test)]\npub(crate) use a::c;\n"),
    ] {
        assert_eq!(of(&other), unchanged, "{other}");
    }
}

#[test]
fn code_and_paths_change_it() {
    let unchanged = of(CODE);
    for other in [
        CODE.replace("x + 1", "x + 2"),
        CODE.replace("pub fn f", "#[inline]\npub fn f"),
        CODE.replace("use a::b", "#[cfg(not(test))]\nuse a::b"),
        format!("{CODE}#[cfg(test)]\nmod tests {{}}\nfn g() {{}}\n"),
    ] {
        assert_ne!(of(&other), unchanged, "{other}");
    }
    assert_ne!(version(&[("src/main.rs", CODE)]), unchanged);
    assert_ne!(of("x & & y"), of("x && y"));
}

/// The code of the crates that count, each file after `change`.
fn changed(change: impl Fn(&str, &mut String)) -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut code = Code::default();
    for file in sources::of(&crates).expect("their files") {
        let mut text = std::fs::read_to_string(&file).expect("text");
        let place = file.strip_prefix(&crates).expect("below").to_string_lossy().into_owned();
        change(&place, &mut text);
        code.add(&file, &text);
    }
    code.version()
}

#[test]
fn pages_and_their_style_leave_it_and_worlds_do_not() {
    let style = "report/src/pages/page.css";
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(style).exists());
    let unchanged = changed(|_, _| {});
    let with = |of: fn(&str) -> bool| {
        changed(|file, text| {
            if of(file) {
                text.push_str("\nmod more;\n");
            }
        })
    };
    assert_eq!(with(|file| file.ends_with(".css") || file.ends_with(".js")), unchanged);
    assert_eq!(with(|file| file.starts_with("report/")), unchanged);
    assert_ne!(with(|file| file == "world/src/run.rs"), unchanged);
    assert_ne!(with(|file| file == "sim/src/lib.rs"), unchanged);
}

#[test]
fn files_of_test_modules_leave_it() {
    let parent = "#[cfg(test)]\nmod tests;\nmod other;\n";
    let with = |tests: &str, other: &str| {
        version(&[
            ("src/history/mod.rs", parent),
            ("src/history/tests.rs", tests),
            ("src/history/tests/more.rs", tests),
            ("src/history/other.rs", other),
        ])
    };
    assert_eq!(with("a", "b"), with("c", "b"));
    assert_ne!(with("a", "b"), with("a", "c"));
    // The files of a module of that name which is not a test count.
    assert_ne!(version(&[("src/x/tests.rs", "a")]), version(&[("src/x/tests.rs", "b")]));
    let beside = |text| version(&[("src/x.rs", parent), ("src/x/tests.rs", text), ("src/tests.rs", "a")]);
    assert_eq!(beside("a"), beside("b"));
}

#[test]
fn the_packages_that_crates_are_built_with() {
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"a1\"\n\n\
        [[package]]\nname = \"b\"\nversion = \"1.0.0\"\nchecksum = \"b1\"\ndependencies = [\n \"a\",\n]\n\n\
        [[package]]\nname = \"b\"\nversion = \"2.0.0\"\nchecksum = \"b2\"\n\n\
        [[package]]\nname = \"ours\"\nversion = \"0.2.0\"\ndependencies = [\n \"b 1.0.0\",\n \"own\",\n]\n\n\
        [[package]]\nname = \"own\"\nversion = \"0.2.0\"\n\n\
        [[package]]\nname = \"other\"\nversion = \"3.0.0\"\nchecksum = \"o3\"\n";
    assert_eq!(locked::packages(lock, &["ours"]), "a 1.0.0 a1\nb 1.0.0 b1\n");
    assert_eq!(locked::packages(lock, &["own"]), "");
    let whole = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let whole = std::fs::read_to_string(whole).expect("a lock file");
    let lines = locked::packages(&whole, &["tfrc-sim"]);
    assert!(lines.contains("\nlibm ") && !lines.contains("\ntokio "), "{lines}");
}
