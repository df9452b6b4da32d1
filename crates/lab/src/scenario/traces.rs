//! Delivery traces by name: the program's own, and files next to a scenario.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tfrc_sim::link::DeliveryTrace;

use super::check::Checked;
use super::error::{Fault, Mistake};
use super::suggest;
use super::syntax::Spanned;

/// The program's own, by name: `docs/models/traces.md` has their models.
const OWN: [(&str, &str); 4] = [
    ("cable", include_str!("../../../../scenarios/traces/cable.trace")),
    ("lte", include_str!("../../../../scenarios/traces/lte.trace")),
    ("satellite", include_str!("../../../../scenarios/traces/satellite.trace")),
    ("wifi", include_str!("../../../../scenarios/traces/wifi.trace")),
];

/// Bytes of a file, at most: 10,000,000 lines of a number with ten digits.
const MOST_BYTES: u64 = 128 << 20;

/// The traces of a scenario, each read once.
#[derive(Debug)]
pub(super) struct Traces {
    /// The folder of the scenario.
    folder: PathBuf,
    read: BTreeMap<String, Arc<DeliveryTrace>>,
}

impl Traces {
    pub(super) fn beside(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), read: BTreeMap::new() }
    }

    /// The trace of a name: a file if the name has a dot or a slash, else one of the program's.
    pub(super) fn find(&mut self, name: &Spanned<String>) -> Checked<Arc<DeliveryTrace>> {
        let written = name.get_ref();
        if let Some(known) = self.read.get(written) {
            return Ok(Arc::clone(known));
        }
        let text = if written.contains(['.', '/', '\\']) {
            self.load(written).map_err(|error| {
                let what = format!("the trace `{written}` cannot be read: {error}");
                Mistake::new(Fault::Trace, name.span(), what, "this file")
                    .hint("the path is taken from the folder of the scenario")
            })?
        } else {
            let own = OWN.iter().find(|(own, _)| own == written);
            own.map(|(_, text)| (*text).to_owned()).ok_or_else(|| {
                let names: Vec<&str> = OWN.iter().map(|(own, _)| *own).collect();
                let hint = suggest::hint(written, &names);
                let what = format!("the program has no trace `{written}`");
                Mistake::new(Fault::UnknownName, name.span(), what, "not one of its traces")
                    .hint(format!("{hint}; a file has a dot or a slash in its name"))
            })?
        };
        let trace = DeliveryTrace::parse(&text).map_err(|error| {
            let whole = error.to_string();
            let (what, remedy) = whole.rsplit_once(": ").unwrap_or((&whole, ""));
            Mistake::new(Fault::Trace, name.span(), format!("{written}, {what}"), "this trace").hint(remedy)
        })?;
        let trace = Arc::new(trace);
        self.read.insert(written.clone(), Arc::clone(&trace));
        Ok(trace)
    }

    fn load(&self, written: &str) -> io::Result<String> {
        let path = self.folder.join(written);
        // Opening a pipe or a device could wait indefinitely.
        if !std::fs::metadata(&path)?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        let mut text = String::new();
        // One byte more shows that the file is too long, whatever its size is said to be.
        File::open(path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
        match text.len() as u64 {
            0..=MOST_BYTES => Ok(text),
            _ => Err(io::Error::other("it has more than 128 MiB")),
        }
    }
}
