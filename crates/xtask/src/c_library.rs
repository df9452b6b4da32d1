//! The C library: built, put into a prefix as a system would have it, and tried from C, from Python
//! and under the checkers of memory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python::{built, run};
use crate::tools::CBINDGEN;
use crate::{Outcome, build_command, cargo, root};

const CRATE: &str = "bindings/c";
/// Libraries of the system that the static library needs (`rustc --print native-static-libs`).
const PRIVATE_LIBRARIES: &str = "-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc";
/// The version of the interface: the first two numbers of the crate's, as 0.x steps break it.
const INTERFACE: &str = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// `cargo xtask c-library PREFIX`.
pub(crate) fn install_to(prefix: &str) -> Outcome {
    install(&root().join(prefix))?;
    println!("PKG_CONFIG_PATH={prefix}/lib/pkgconfig cc program.c $(pkg-config --cflags --libs tfrc)");
    Ok(())
}

/// Builds both libraries and writes the header and the file of pkg-config.
fn install(prefix: &Path) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    let (library, include) = (prefix.join("lib"), prefix.join("include"));
    for folder in [library.join("pkgconfig"), include.clone()] {
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let soname = format!("link-arg=-Wl,-soname,libtfrc.so.{INTERFACE}");
    let linker = root().join(CRATE).join("link/cc");
    for (kind, arguments) in [("cdylib", &["-C", soname.as_str()][..]), ("staticlib", &[])] {
        run(cargo()
            .args(["rustc", "--release", "--locked", "--quiet", "--package", "tfrc-c", "--lib"])
            .args(["--crate-type", kind, "--"])
            .args(arguments)
            .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", &linker)
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", &linker)
            .env("CARGO_PROFILE_RELEASE_STRIP", "debuginfo"))?;
    }
    let shared = format!("libtfrc.so.{version}");
    copy(&built().join("release/libtfrc_c.so"), &library.join(&shared))?;
    copy(&built().join("release/libtfrc_c.a"), &library.join("libtfrc.a"))?;
    for name in [format!("libtfrc.so.{INTERFACE}"), "libtfrc.so".to_owned()] {
        let link = library.join(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&shared, &link).map_err(|e| format!("{}: {e}", link.display()))?;
    }
    header(&include.join("tfrc.h"))?;
    let about = format!(
        "prefix={}\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\nName: tfrc\n\
         Description: TCP-Friendly Rate Control and DCCP without I/O\nVersion: {version}\n\
         Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -ltfrc\nLibs.private: {PRIVATE_LIBRARIES}\n",
        prefix.display()
    );
    write(&library.join("pkgconfig/tfrc.pc"), &about)
}

/// Writes `tfrc.h`, made by cbindgen from the crate.
fn header(place: &Path) -> Outcome {
    let mut command = CBINDGEN.command()?;
    run(command.args(["--quiet", "--config", "bindings/c/cbindgen.toml", CRATE, "--output"]).arg(place))
}

/// Builds everything and runs what there is to run.
pub(crate) fn check() -> Outcome {
    let (prefix, work) = (root().join("target/c/prefix"), root().join("target/c/programs"));
    install(&prefix)?;
    std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    symbols(&prefix.join("lib/libtfrc.so"))?;
    let (library, include) = (prefix.join("lib"), prefix.join("include"));
    let source = |name: &str| root().join(CRATE).join(name);
    // Without the optimiser's last third, which may look at a value that nobody wrote where the
    // outcome is the same, and with the assertions of debug builds.
    run(cargo()
        .args(["rustc", "--locked", "--quiet", "--package", "tfrc-c", "--lib"])
        .args(["--crate-type", "staticlib"]))?;
    let watched = built().join("debug/libtfrc_c.a");
    let compile = |name: &str, output: &str, options: &[&str]| -> Result<PathBuf, String> {
        let program = work.join(output);
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]).args(options);
        cc.arg("-I").arg(&include).arg("-o").arg(&program).arg(source(name));
        run(cc.arg(&watched).args(PRIVATE_LIBRARIES.split(' ')))?;
        Ok(program)
    };
    let plain = compile("tests/unit.c", "unit", &["-O1"])?;
    run(Command::new("valgrind").args(["--quiet", "--leak-check=full", "--error-exitcode=9"]).arg(plain))?;
    let guarded = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    run(&mut Command::new(compile("tests/unit.c", "unit-guarded", &guarded)?))?;
    // The examples as their Makefile builds them, with pkg-config and the shared library.
    let pkg_config = library.join("pkgconfig");
    run(Command::new("make")
        .args(["--silent", "--always-make", "CFLAGS=-O1 -Werror", "-C"])
        .arg(source("examples"))
        .env("PKG_CONFIG_PATH", &pkg_config))?;
    run(&mut build_command())?;
    let python = crate::python::environment()?;
    run(Command::new(&python).arg(source("examples/fixed_point.py")).env("PKG_CONFIG_PATH", &pkg_config))?;
    run(Command::new(&python)
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .arg(source("tests"))
        .env("TFRC_PROGRAM", built().join("debug/tfrc"))
        .env("LD_LIBRARY_PATH", &library))
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

fn copy(from: &Path, to: &Path) -> Outcome {
    std::fs::copy(from, to).map(|_| ()).map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}

fn write(place: &Path, text: &str) -> Outcome {
    std::fs::write(place, text).map_err(|e| format!("{}: {e}", place.display()))
}
