//! Puts files into programs: a table of their names and texts.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the table `name` of the files in a folder of the repository that have these endings to
/// `library.rs` in the folder of the build.
pub(crate) fn write(name: &str, folder: &str, endings: &[&str]) -> io::Result<()> {
    // Not `env!`: the program may have been built of another copy of the repository.
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .ok_or_else(|| io::Error::other("cargo sets CARGO_MANIFEST_DIR"))?;
    let folder = Path::new(&here).join("../..").canonicalize()?.join(folder);
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    collect(&folder, endings, &mut files)?;
    files.sort();
    let mut text = format!("static {name}: [(&str, &str); {}] = [\n", files.len());
    for file in files {
        let inside = file.strip_prefix(&folder).map_err(io::Error::other)?;
        let inside = inside.to_string_lossy().replace('\\', "/");
        let _ = writeln!(text, "    ({inside:?}, include_str!({:?})),", file.display().to_string());
    }
    text.push_str("];\n");
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
