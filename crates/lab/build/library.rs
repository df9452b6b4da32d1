//! Puts scenarios and experiments into programs: a table of their files, for `library.rs`.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// The tables: name of the constant, folder from the root of the repository, and the endings of
/// the files that go in. Traces are built into `tfrc-lab`.
const TABLES: [(&str, &str, &[&str]); 2] =
    [("EXPERIMENTS", "experiments", &["csv", "md", "toml"]), ("SCENARIOS", "scenarios", &["csv", "toml"])];

/// Writes the tables where `library.rs` includes them.
pub(crate) fn write() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let mut text = String::new();
    for (name, folder, endings) in TABLES {
        let folder = root.join(folder);
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, endings, &mut files)?;
        files.sort();
        let _ = writeln!(text, "static {name}: [(&str, &str); {}] = [", files.len());
        for file in files {
            let inside = file.strip_prefix(&folder).map_err(io::Error::other)?;
            let inside = inside.to_string_lossy().replace('\\', "/");
            let _ = writeln!(text, "    ({inside:?}, include_str!({:?})),", file.display().to_string());
        }
        text.push_str("];\n");
    }
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    std::fs::write(PathBuf::from(out).join("library.rs"), text)
}

fn collect(folder: &Path, endings: &[&str], files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, endings, files)?;
        } else if path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one)) {
            files.push(path);
        }
    }
    Ok(())
}
