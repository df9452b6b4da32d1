//! Traces and logs by name: the program's own traces, and files next to a scenario.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tfrc_sim::link::DeliveryTrace;
use tfrc_units::hash::fnv1a;

use super::error::{Checked, Fault, Mistake};
use super::logs::{self, Columns, Entry, Extent, LogError};
use super::suggest;
use super::syntax::Spanned;

/// The program's own, by name: `docs/models/traces.md` has their models.
const OWN: [(&str, &str); 4] = [
    ("cable", include_str!("../../../scenarios/traces/cable.trace")),
    ("lte", include_str!("../../../scenarios/traces/lte.trace")),
    ("satellite", include_str!("../../../scenarios/traces/satellite.trace")),
    ("wifi", include_str!("../../../scenarios/traces/wifi.trace")),
];

/// The traces of a scenario, each read once.
#[derive(Debug)]
pub(super) struct Traces {
    /// The folder of the scenario.
    folder: PathBuf,
    read: BTreeMap<String, Arc<DeliveryTrace>>,
    logs: BTreeMap<String, Arc<str>>,
    /// The columns that were read of each log.
    extents: BTreeMap<(String, String), Log>,
}

/// A log that a scenario names, as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// The file, as the scenario writes it.
    pub file: String,
    /// The column of values.
    pub column: String,
    /// Meaning of the values.
    pub kind: LogKind,
    /// Its figures: bit/s, or bytes.
    pub extent: Extent,
}

/// Meaning of the values of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// Rates of a link, bit/s.
    Rates,
    /// Sizes of what a flow writes, bytes.
    Sizes,
}

impl Traces {
    pub(super) fn beside(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            read: BTreeMap::new(),
            logs: BTreeMap::new(),
            extents: BTreeMap::new(),
        }
    }

    /// The trace of a name: a file if the name has a dot or a slash, else one of the program's.
    pub(super) fn find(&mut self, name: &Spanned<String>) -> Checked<Arc<DeliveryTrace>> {
        let written = name.get_ref();
        if let Some(known) = self.read.get(written) {
            return Ok(Arc::clone(known));
        }
        let text = if written.contains(['.', '/', '\\']) {
            self.load(written).map_err(|error| unreadable(name, "trace", &error))?
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
            let is_table = text.lines().next().is_some_and(|line| line.contains([',', ';', '\t']));
            let log = "a table of times and rates is a log: { log = …, time = …, rate = …, unit = … }";
            let hint = if is_table { log } else { remedy };
            Mistake::new(Fault::Trace, name.span(), format!("{written}, {what}"), "this trace").hint(hint)
        })?;
        let trace = Arc::new(trace);
        self.read.insert(written.clone(), Arc::clone(&trace));
        Ok(trace)
    }

    /// The entries of a log next to the scenario.
    pub(super) fn log(
        &mut self,
        file: &Spanned<String>,
        columns: &Columns<'_>,
        kind: LogKind,
    ) -> Checked<Vec<Entry>> {
        let written = file.get_ref();
        let text = match self.logs.get(written) {
            Some(text) => Arc::clone(text),
            None => {
                let text: Arc<str> =
                    self.load(written).map_err(|error| unreadable(file, "log", &error))?.into();
                self.logs.insert(written.clone(), Arc::clone(&text));
                text
            }
        };
        let entries = logs::read(&text, columns, &|_, _| Ok(true));
        let entries = entries.map_err(|LogError { line, what, hint }| {
            let what = format!("{written}, line {line}: {what}");
            Mistake::new(Fault::Trace, file.span(), what, "this log").hint(hint)
        })?;
        let column = columns.value.to_owned();
        let log = Log { file: written.clone(), column: column.clone(), kind, extent: Extent::of(&entries) };
        self.extents.insert((written.clone(), column), log);
        Ok(entries)
    }

    /// The logs that were read.
    pub(super) fn into_logs(self) -> Vec<Log> {
        self.extents.into_values().collect()
    }

    /// A hash of each log that was read, in the order of their names.
    pub(super) fn log_fingerprints(&self) -> impl Iterator<Item = u64> {
        self.logs.values().map(|text| fnv1a(text.as_bytes()))
    }

    fn load(&self, written: &str) -> io::Result<String> {
        super::files::read_trace(&self.folder.join(written))
    }
}

fn unreadable(name: &Spanned<String>, kind: &str, error: &io::Error) -> Mistake {
    let what = format!("the {kind} `{}` cannot be read: {error}", name.get_ref());
    Mistake::new(Fault::Trace, name.span(), what, "this file")
        .hint("the path is taken from the folder of the scenario")
}
