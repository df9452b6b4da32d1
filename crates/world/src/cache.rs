//! Results of runs, kept on disk: one small file for each run, named by a hash of the code's
//! version, the scenario as it was read and the seed. A run that has ended is never lost, so a
//! stopped command goes on where it was.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tfrc_scenario::{Scenario, files};
use tfrc_sim::Seed;

use crate::results::Outcome;

/// All but the seed that determines a run: the code, and the scenario as it was read, however it
/// was written.
#[must_use]
pub fn identity(scenario: &Scenario) -> String {
    let unseeded = Scenario { seed: Seed(0), ..scenario.clone() };
    name(&format!("{}\n{unseeded:?}", crate::code_version()))
}

/// The key of the outcome of the run of a scenario with a seed.
#[must_use]
pub fn key(identity: &str, seed: Seed) -> String {
    format!("{identity} outcome {}", seed.0)
}

/// A directory with the outcomes of runs, and others to look into as well.
#[derive(Debug)]
pub struct Cache {
    own: PathBuf,
    others: Vec<PathBuf>,
    /// Distinguishes temporary files of one process.
    written: AtomicU64,
}

impl Cache {
    /// The cache in `own`, which comes into being when something is written; `others` are only
    /// read.
    #[must_use]
    pub fn new(own: PathBuf, others: Vec<PathBuf>) -> Self {
        Self { own, others, written: AtomicU64::new(0) }
    }

    /// The text kept for a key, as [`Cache::put_text`] took it.
    ///
    /// # Errors
    /// The damage of a file, where no other directory has the text.
    pub fn text(&self, key: &str) -> Result<Option<String>, String> {
        let name = name(key);
        let mut damaged = None;
        for directory in std::iter::once(&self.own).chain(&self.others) {
            let path = place(directory, &name);
            let text = match files::read_kept(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    damaged = Some(format!("{}: {error}", path.display()));
                    continue;
                }
            };
            match text.split_once('\n') {
                Some((check, text)) if check == self::name(text) => return Ok(Some(text.to_owned())),
                _ => damaged = Some(format!("{} is damaged; its run is done again", path.display())),
            }
        }
        damaged.map_or(Ok(None), Err)
    }

    /// Keeps a text.
    ///
    /// # Errors
    /// The system's error.
    pub fn put_text(&self, key: &str, text: &str) -> io::Result<()> {
        let path = place(&self.own, &name(key));
        self.write(&path, &format!("{}\n{text}", name(text)))
    }

    /// The outcome kept for a key; `None` if there is none that can be read.
    #[must_use]
    pub fn outcome(&self, key: &str) -> Option<Outcome> {
        serde_json::from_str(&self.text(key).ok()??).ok()
    }

    /// Keeps the outcome of a run.
    ///
    /// # Errors
    /// The system's error.
    pub fn put_outcome(&self, key: &str, outcome: &Outcome) -> io::Result<()> {
        self.put_text(key, &serde_json::json!(outcome).to_string())
    }

    /// Writes a file whole or not at all, also if two write at once.
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let beside = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
        std::fs::write(&beside, text)?;
        std::fs::rename(&beside, path)
    }
}

/// The folder in which results of runs are kept outside of a checkout (XDG Base Directory
/// Specification): `tfrc` in `$XDG_CACHE_HOME`, else in `~/.cache`. `None` if neither is set.
#[must_use]
pub fn of_user(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    // The specification ignores relative paths.
    let absolute = |path: Option<PathBuf>| path.filter(|path| path.is_absolute());
    absolute(xdg).or_else(|| Some(absolute(home)?.join(".cache"))).map(|folder| folder.join("tfrc"))
}

fn place(directory: &Path, name: &str) -> PathBuf {
    let (shelf, rest) = name.split_at(2);
    directory.join(shelf).join(format!("{rest}.run"))
}

/// Fowler-Noll-Vo 1a, 128 bits, in hexadecimal.
fn name(text: &str) -> String {
    let hash = text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
    });
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let cache = Cache::new(dir.path().join("a"), Vec::new());
        assert_eq!(cache.text("k"), Ok(None));
        cache.put_text("k", "{\n}").expect("written");
        let joined = Cache::new(dir.path().join("b"), vec![dir.path().join("a")]);
        assert_eq!(joined.text("k"), Ok(Some("{\n}".to_owned())));
        let path = place(&dir.path().join("a"), &name("k"));
        std::fs::write(&path, "x\n{}").expect("written");
        assert!(joined.text("k").is_err_and(|why| why.contains("damaged")));
    }

    #[test]
    fn a_scenario_is_the_same_however_it_is_written() {
        let plan = |text: &str| tfrc_scenario::Document::new("t", text).plan().expect("right");
        let text = |rate: &str, more: &str| {
            format!(
                "duration = '2s'\nnodes = ['a', 'b']\n{more}[[link]]\nname = 'l'\nfrom = 'a'\nto = 'b'\nrate = {rate}\n\
                 delay = '1ms'\n[[flow]]\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\n"
            )
        };
        let of =
            |text: &str| plan(text).points.iter().map(|point| identity(&point.scenario)).collect::<Vec<_>>();
        let one = of(&text("'1Mbit/s'", ""));
        assert_eq!(one, of(&text("\"1000kbit/s\" # the same", "seed = 5\n")));
        let swept =
            text("'9Mbit/s'", "") + "[[sweep]]\nset = 'link.l.rate'\nvalues = ['1Mbit/s', '2Mbit/s']\n";
        let swept = of(&swept);
        assert!(swept[0] == one[0] && swept[1] != one[0], "{swept:?}");

        let mut scenario = plan(&text("'1Mbit/s'", "")).points.remove(0).scenario;
        scenario.seed = Seed(3);
        let outcome = crate::run(&scenario);
        let dir = tempfile::tempdir().expect("a directory");
        let cache = Cache::new(dir.path().to_owned(), Vec::new());
        let key = key(&one[0], scenario.seed);
        assert_eq!(cache.outcome(&key), None);
        cache.put_outcome(&key, &outcome).expect("written");
        assert_eq!(cache.outcome(&key), Some(outcome));
    }

    #[test]
    fn damage_is_noticed() {
        let dir = tempfile::tempdir().expect("a directory");
        let cache = Cache::new(dir.path().to_owned(), Vec::new());
        cache.put_text("k", "5.0").expect("written");
        let path = place(dir.path(), &name("k"));
        let text = std::fs::read_to_string(&path).expect("the file");
        for wrong in [text.replace("5.0", "6.0"), text[..10].to_owned(), String::new()] {
            assert_ne!(wrong, text);
            std::fs::write(&path, wrong).expect("written");
            assert!(cache.text("k").is_err_and(|why| why.contains("damaged")));
        }
        cache.put_text("k", "5.0").expect("written");
        assert_eq!(cache.text("k"), Ok(Some("5.0".to_owned())));
    }

    /// A shared folder may hold anything: nothing in it is waited for, or read without end.
    #[cfg(unix)]
    #[test]
    fn what_is_not_a_file_is_damage() {
        let dir = tempfile::tempdir().expect("a directory");
        let cache = Cache::new(dir.path().to_owned(), Vec::new());
        cache.put_text("k", "text").expect("written");
        let path = place(dir.path(), &name("k"));
        for thing in ["pipe", "endless", "huge", "folder"] {
            let _ = std::fs::remove_file(&path);
            match thing {
                "pipe" => {
                    let made = std::process::Command::new("mkfifo").arg(&path).status();
                    assert!(made.expect("mkfifo starts").success());
                }
                "endless" => std::os::unix::fs::symlink("/dev/zero", &path).expect("a link"),
                "huge" => {
                    let file = std::fs::File::create(&path).expect("made");
                    // Holes take no disk.
                    file.set_len(1 << 40).expect("long");
                }
                _ => std::fs::create_dir(&path).expect("made"),
            }
            let refused = cache.text("k").expect_err(thing);
            assert!(refused.contains("not a file") || refused.contains("MiB"), "{thing}: {refused}");
        }
    }

    #[test]
    fn the_folder_of_a_user_is_where_xdg_says() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(of_user(path("/x"), path("/home/a")), path("/x/tfrc"));
        assert_eq!(of_user(path("x"), path("/home/a")), path("/home/a/.cache/tfrc"));
        assert_eq!(of_user(None, None), None);
    }
}
