//! The C libraries: their headers, and the libraries put into a prefix by their Makefiles and tried
//! from C, from Python and under the checkers of memory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{built, development, run};
use crate::{Outcome, cargo, root};

const CRATE: &str = "bindings/c";
/// Libraries of the system that the static library needs (`rustc --print native-static-libs`).
const PRIVATE_LIBRARIES: &str = "-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc";
/// The version of the interface: the first two numbers of the crate's, as 0.x steps break it.
const INTERFACE: &str = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// Each library: its folder, and its header as the repository has it.
const LIBRARIES: [(&str, &str); 2] = [
    (CRATE, "bindings/c/include/tfrc.h"),
    ("bindings/c-session", "bindings/c-session/include/tfrc_session.h"),
];

/// `cargo xtask c-library header`.
pub(crate) fn write_headers() -> Outcome {
    for (library, path) in LIBRARIES {
        std::fs::write(root().join(path), header(library)?).map_err(|e| format!("{path}: {e}"))?;
    }
    Ok(())
}

/// The header of a library, made by cbindgen from the crate.
fn header(library: &str) -> Result<Vec<u8>, String> {
    let place = root().join(library);
    let config = cbindgen::Config::from_file(place.join("cbindgen.toml"))?;
    let bindings = cbindgen::generate_with_config(&place, config).map_err(|e| format!("cbindgen: {e}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(text)
}

/// Puts a library into a prefix, as its Makefile does for anybody.
fn install(library: &str, prefix: &Path) -> Outcome {
    let mut prefix_is = std::ffi::OsString::from("PREFIX=");
    prefix_is.push(prefix);
    run(Command::new("make")
        .args(["--silent", "-C", library, "install", "PROFILE=dev"])
        .arg(prefix_is)
        .env("CARGO", cargo().get_program()))
}

/// Builds everything and runs what there is to run.
pub(crate) fn check() -> Outcome {
    let (prefix, work) = (root().join("target/c/prefix"), root().join("target/c/programs"));
    for (library, path) in LIBRARIES {
        let committed = std::fs::read(root().join(path)).map_err(|e| format!("{path}: {e}"))?;
        if committed != header(library)? {
            return Err(format!("{path} is not what its sources give: run `cargo xtask c-library header`"));
        }
        install(library, &prefix)?;
    }
    std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    symbols(&prefix.join("lib/libtfrc.so"))?;
    symbols(&prefix.join("lib/libtfrc_session.so"))?;
    let (library, include) = (prefix.join("lib"), prefix.join("include"));
    let source = |name: &str| root().join(CRATE).join(name);
    let session = |name: &str| root().join("bindings/c-session").join(name);
    // Without the optimiser's last third, which may look at a value that nobody wrote where the
    // outcome is the same, and with the assertions of debug builds.
    run(cargo()
        .args(["rustc", "--locked", "--quiet", "--package", "tfrc-c", "--lib"])
        .args(["--crate-type", "staticlib"])
        .args(["tfrc", "tfrc-dccp"].map(|name| format!("--config=profile.dev.package.{name}.opt-level=1"))))?;
    let watched = built().join("debug/libtfrc_c.a");
    let compile = |from: &Path, output: &str, with: &Path, options: &[&str]| -> Result<PathBuf, String> {
        let program = work.join(output);
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]).args(options);
        cc.arg("-I").arg(&include).arg("-o").arg(&program).arg(from);
        run(cc.arg(with).args(PRIVATE_LIBRARIES.split(' ')))?;
        Ok(program)
    };
    let unit = source("tests/unit.c");
    let plain = compile(&unit, "unit", &watched, &["-O1"])?;
    run(Command::new("valgrind").args(["--quiet", "--leak-check=full", "--error-exitcode=9"]).arg(plain))?;
    let guarded = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    run(&mut Command::new(compile(&unit, "unit-guarded", &watched, &guarded)?))?;
    let sessions = library.join("libtfrc_session.a");
    run(&mut Command::new(compile(&session("tests/session.c"), "session-guarded", &sessions, &guarded)?))?;
    // The examples as their Makefiles build them, with pkg-config and the shared libraries.
    let pkg_config = library.join("pkgconfig");
    for examples in [source("examples"), session("examples")] {
        run(Command::new("make")
            .args(["--silent", "--always-make", "CFLAGS=-O1 -Werror", "-C"])
            .arg(examples)
            .env("PKG_CONFIG_PATH", &pkg_config))?;
    }
    cpp(&source("examples/cpp"), &work.join("cpp"), &prefix)?;
    guide(&work.join("guide"), &library)?;
    let program = development()?;
    let python = crate::python::environment()?;
    run(Command::new(&python).arg(source("examples/fixed_point.py")).env("PKG_CONFIG_PATH", &pkg_config))?;
    run(Command::new(&python)
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .arg(source("tests"))
        .arg(session("tests"))
        .env("TFRC_PROGRAM", program)
        .env("LD_LIBRARY_PATH", &library))
}

/// The lines of the guide that compile a program and run it, as they stand there: without a word
/// on the loader's path.
fn guide(work: &Path, library: &Path) -> Outcome {
    const GUIDE: &str = "docs/guides/c.md";
    const PROGRAM: &str = "#include <stddef.h>\n#include <tfrc.h>\n\
                           int main(void) {\n  tfrc_sender *sender = tfrc_sender_new(NULL);\n  \
                           tfrc_sender_free(sender);\n  return sender == NULL;\n}\n";
    let text = std::fs::read_to_string(root().join(GUIDE)).map_err(|e| format!("{GUIDE}: {e}"))?;
    let block = |start: &str| {
        let inside = text.split("```").find(|block| block.starts_with(start));
        inside
            .and_then(|block| block.split_once('\n'))
            .map(|(_, lines)| lines)
            .ok_or_else(|| format!("{GUIDE}: no block that begins with {start:?}"))
    };
    let session = block("c\n#include <stdio.h>\n#include <tfrc_session.h>")?;
    let lines = [block("sh\ncc program.c")?, block("sh\ncc session.c")?].concat();
    std::fs::create_dir_all(work)
        .and_then(|()| std::fs::write(work.join("program.c"), PROGRAM))
        .and_then(|()| std::fs::write(work.join("session.c"), session))
        .map_err(|e| format!("{}: {e}", work.display()))?;
    run(Command::new("sh")
        .args(["-euc", &lines])
        .current_dir(work)
        .env("PKG_CONFIG_PATH", library.join("pkgconfig"))
        .env_remove("LD_LIBRARY_PATH"))
}

/// The example in C++ as CMake builds it, run.
fn cpp(source: &Path, build: &Path, prefix: &Path) -> Outcome {
    let found = format!("-DCMAKE_PREFIX_PATH={}", prefix.display());
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(source).arg("-B").arg(build);
    run(configure.args([&found, "-DCMAKE_CXX_FLAGS=-Werror"]))?;
    run(Command::new("cmake").arg("--build").arg(build))?;
    run(&mut Command::new(build.join("advisor")))
}

/// Every symbol that the shared library gives out is ours, and carries a version.
fn symbols(library: &Path) -> Outcome {
    let listed = Command::new("nm")
        .args(["--dynamic", "--defined-only", "--with-symbol-versions"])
        .arg(library)
        .output()
        .map_err(|e| format!("nm did not start: {e}"))?;
    let text = String::from_utf8_lossy(&listed.stdout);
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let version = format!("@@TFRC_{INTERFACE}");
    let is_ours = |name: &&str| {
        name.starts_with("tfrc_") && name.ends_with(&version) || name.starts_with(&version[2..])
    };
    let strangers: Vec<&str> = names.iter().filter(|name| !is_ours(name)).copied().collect();
    match (names.len(), strangers.is_empty()) {
        (0, _) => Err(format!("{}: nm shows no symbol", library.display())),
        (count, true) => {
            println!("   {count} symbols, all of them tfrc_…{version}");
            Ok(())
        }
        (_, false) => Err(format!("{} gives out {}", library.display(), strangers.join(", "))),
    }
}
