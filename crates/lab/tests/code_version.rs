//! The version of the code in the cache's key: a change of code changes it, and nothing else does.

#[path = "../build/fingerprint.rs"]
mod fingerprint;

use std::path::Path;

use fingerprint::Code;

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
