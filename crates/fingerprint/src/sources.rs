//! The source files that decide what is measured.

use std::io;
use std::path::{Path, PathBuf};

/// The crates that decide what is measured: their folders in `crates/`, and their names.
pub const CRATES: [(&str, &str); 7] = [
    ("units", "tfrc-units"),
    ("tfrc", "tfrc"),
    ("dccp", "tfrc-dccp"),
    ("sim", "tfrc-sim"),
    ("scenario", "tfrc-scenario"),
    ("agents", "tfrc-agents"),
    ("world", "tfrc-world"),
];

/// The source files of these crates in the folder `crates`.
///
/// # Errors
/// When a folder cannot be read.
pub fn of(crates: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    CRATES.iter().try_for_each(|(folder, _)| collect(&crates.join(folder).join("src"), &mut files))?;
    Ok(files)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
