//! Files of the cache: a damaged one is never taken for a result, and no text breaks a reader.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tfrc_world::cache::Cache;

/// Any key.
const KEY: &str = "key";

/// A folder that is gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("tfrc-fuzz-cache-{}-{number}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The files in the folders of a cache.
fn files(folder: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("readable").path()).collect::<Vec<_>>()
    };
    below(folder).iter().flat_map(|shelf| below(shelf)).collect()
}

/// The bytes as a text that is kept, and in the place of the files.
pub fn check(data: &[u8]) {
    let folder = Folder::new();
    let cache = Cache::new(folder.0.clone(), Vec::new());
    let text = String::from_utf8_lossy(data);
    cache.put_text(KEY, &text).expect("there is room");
    assert_eq!(cache.text(KEY).as_ref().map(Option::as_deref), Ok(Some(&*text)));
    let _ = std::hint::black_box(cache.outcome(KEY).is_some());
    for file in files(&folder.0) {
        std::fs::write(&file, data).expect("there is room");
        let _ = std::hint::black_box((cache.text(KEY), cache.outcome(KEY).is_some()));
    }
}
