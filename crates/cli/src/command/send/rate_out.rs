//! `--rate-out`: the target rate for the program that makes the data, a line for each change.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tfrc_net::Status;
use tfrc_units::{Duration, Instant};

use crate::Failure;
use crate::args::values::RatePlace;

/// A change by this part of the last written rate is written at once.
const CHANGE: f64 = 0.05;
/// A smaller change is written after this time.
const AT_LATEST: Duration = Duration::from_secs(1);

/// The lines and their place. A reader that is slow or gone misses lines; it holds up nothing.
#[derive(Debug)]
pub(super) struct RateOut {
    place: PathBuf,
    shown: String,
    changes: Changes,
    state: PlaceState,
}

#[derive(Debug)]
enum PlaceState {
    /// Nothing more can be written, for a reason other than a reader that is gone.
    Broken(String),
    /// A pipe without a name whose reader is gone: nobody wants the rest.
    Closed,
    /// A FIFO that has no reader now; it is opened when it has one.
    NoReader,
    Open(File),
}

impl RateOut {
    /// Opens the place. A file is emptied; a FIFO may have its reader later.
    ///
    /// # Errors
    /// [`Failure::Usage`] if there is no such descriptor, or the file cannot be written.
    pub(super) fn open(place: &RatePlace) -> Result<Self, Failure> {
        let (path, shown, start) = match place {
            // A descriptor is reopened: it is made non-blocking here only.
            RatePlace::Descriptor(number) => (
                PathBuf::from(format!("/proc/self/fd/{number}")),
                format!("descriptor {number}"),
                Start::Append,
            ),
            RatePlace::File(path) => (path.clone(), path.display().to_string(), Start::Empty),
        };
        let state = open(&path, start).map_err(|error| match place {
            RatePlace::Descriptor(number) => Failure::usage(
                format!("--rate-out {number}: descriptor {number} is not an open pipe or file: {error}"),
                format!("open it, as in {number}>FILE, or name a file"),
            ),
            RatePlace::File(_) => {
                Failure::usage(format!("{shown}: {error}"), "name a file or FIFO that can be written")
            }
        })?;
        Ok(Self { place: path, shown, changes: Changes::default(), state })
    }

    /// Writes a line if one is due; several times a second. Returns a sentence for the user when
    /// writing has failed.
    pub(super) fn tell(&mut self, status: &Status) -> Option<String> {
        status.rtt?;
        let bps = status.target_rate.bits_per_sec().round() as u64;
        if !self.changes.is_due(status.at, bps) {
            return None;
        }
        if let PlaceState::NoReader = self.state {
            self.state = open(&self.place, Start::Append).unwrap_or(PlaceState::NoReader);
        }
        let PlaceState::Open(file) = &mut self.state else { return None };
        let error = match file.write_all(format!("{bps}\n").as_bytes()) {
            Ok(()) => {
                self.changes.told(status.at, bps);
                return None;
            }
            // The pipe is full. The rate of a later look goes as soon as there is room.
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            Err(error) => error,
        };
        // A FIFO with a name may have another reader, who begins with the present rate.
        if error.kind() == ErrorKind::BrokenPipe && !self.place.starts_with("/proc/self/fd") {
            self.state = PlaceState::NoReader;
            self.changes = Changes::default();
            return None;
        }
        let sentence = format!("no more lines of --rate-out to {}: {error}", self.shown);
        self.state = match error.kind() {
            ErrorKind::BrokenPipe => PlaceState::Closed,
            _ => PlaceState::Broken(sentence.clone()),
        };
        Some(sentence)
    }

    /// Why lines were not written, if the place is at fault: the encoder did not hear the rate.
    pub(super) fn failure(self) -> Option<Failure> {
        match self.state {
            PlaceState::Broken(sentence) => Some(Failure::Run(sentence)),
            _ => None,
        }
    }
}

/// Content of a file before the first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// Keeps the content and appends.
    Append,
    /// Empties the file first.
    Empty,
}

/// Opens a file, pipe or FIFO for lines, without waiting for anybody.
fn open(path: &Path, start: Start) -> io::Result<PlaceState> {
    let mut options = OpenOptions::new();
    options.append(true).create(start == Start::Empty);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = match options.open(path) {
        Ok(file) => file,
        #[cfg(unix)]
        Err(error)
            if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) && is_fifo(path) =>
        {
            return Ok(PlaceState::NoReader);
        }
        Err(error) => return Err(error),
    };
    if start == Start::Empty && file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(PlaceState::Open(file))
}

#[cfg(unix)]
fn is_fifo(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// The last written rate, and when.
#[derive(Debug, Default)]
struct Changes {
    last: Option<(Instant, u64)>,
}

impl Changes {
    /// Returns true for the first rate, for one that differs by [`CHANGE`] from the last written,
    /// and for any other one after [`AT_LATEST`].
    fn is_due(&self, now: Instant, bps: u64) -> bool {
        let Some((at, told)) = self.last else { return true };
        let change = bps.abs_diff(told);
        change > 0 && (change as f64 >= CHANGE * told as f64 || now.saturating_since(at) >= AT_LATEST)
    }

    const fn told(&mut self, now: Instant, bps: u64) {
        self.last = Some((now, bps));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;

    use tfrc_units::Rate;

    use super::*;

    fn status(ms: u64, bps: f64) -> Status {
        let mut status = Status::default();
        status.at = Instant::from_nanos(ms * 1_000_000);
        status.rtt = Some(Duration::from_millis(40));
        (status.target_rate, status.allowed_rate) =
            (Rate::from_bits_per_sec(bps), Rate::from_bits_per_sec(9e9));
        status
    }

    fn file(path: &Path) -> RateOut {
        RateOut::open(&RatePlace::File(path.to_owned())).expect("opened")
    }

    fn fifo(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo starts");
        assert!(made.success());
    }

    /// The reading end of a FIFO, opened without waiting for a writer.
    fn reader(path: &Path) -> File {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        OpenOptions::new().read(true).custom_flags(flags).open(path).expect("a FIFO")
    }

    /// All that can be read now.
    fn text(reader: &mut File) -> String {
        let mut bytes = Vec::new();
        let read = reader.read_to_end(&mut bytes);
        assert!(read.is_ok() || read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn a_line_is_due_for_a_change_of_a_twentieth_or_after_a_second() {
        let mut changes = Changes::default();
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        assert!(changes.is_due(at(0), 1_000_000), "the first");
        changes.told(at(0), 1_000_000);
        for (ms, bps, due) in [
            (100, 1_000_000, false),
            (100, 1_049_999, false),
            (100, 1_050_000, true),
            (100, 950_001, false),
            (100, 950_000, true),
            (999, 1_000_001, false),
            (1000, 1_000_001, true),
            (60_000, 1_000_000, false),
        ] {
            assert_eq!(changes.is_due(at(ms), bps), due, "{ms} ms, {bps} bit/s");
        }
    }

    #[test]
    fn a_file_is_emptied_and_has_a_line_for_each_change() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("rate");
        std::fs::write(&path, "of an earlier run\n").expect("written");
        let mut out = file(&path);
        assert_eq!(out.tell(&Status::default()), None, "no round-trip time yet");
        for (ms, bps) in [(0, 1e6), (100, 1.01e6), (200, 2e6), (300, 5e6), (400, 5e6)] {
            assert_eq!(out.tell(&status(ms, bps)), None);
        }
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "1000000\n2000000\n5000000\n");
    }

    #[test]
    fn a_fifo_may_have_its_reader_late_lose_it_and_get_another() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("rate");
        fifo(&path);
        let mut out = file(&path);
        assert_eq!(out.tell(&status(0, 1e6)), None);
        let mut first = reader(&path);
        assert_eq!(out.tell(&status(100, 1.01e6)), None);
        assert_eq!(text(&mut first), "1010000\n", "the present rate, not that of before");
        drop(first);
        assert_eq!(out.tell(&status(200, 2e6)), None);
        let mut second = reader(&path);
        assert_eq!(out.tell(&status(300, 2.01e6)), None);
        assert_eq!(text(&mut second), "2010000\n");
    }

    #[test]
    fn a_reader_that_does_not_read_misses_lines_and_holds_up_nothing() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("rate");
        fifo(&path);
        let mut slow = reader(&path);
        let mut out = file(&path);
        // More lines than any pipe holds.
        for n in 0..200_000_u32 {
            let bps = if n % 2 == 0 { 1e6 } else { 2e6 };
            assert_eq!(out.tell(&status(u64::from(n), bps)), None);
        }
        let all = text(&mut slow);
        assert!(all.lines().all(|line| line == "1000000" || line == "2000000"), "whole lines");
        assert!((100..199_999).contains(&all.lines().count()), "{}", all.lines().count());
        assert_eq!(out.tell(&status(200_000, 3e6)), None);
        assert_eq!(text(&mut slow), "3000000\n");
    }

    #[test]
    fn a_descriptor_is_a_pipe_and_its_end_is_told_once() {
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let number = u32::try_from(writer.as_raw_fd()).expect("a descriptor");
        let mut out = RateOut::open(&RatePlace::Descriptor(number)).expect("opened");
        assert_eq!(out.tell(&status(0, 1e6)), None);
        let mut line = [0; 8];
        reader.read_exact(&mut line).expect("a line");
        assert_eq!(&line, b"1000000\n");
        drop(reader);
        // A child that another test has just forked holds the reader too until it runs its program.
        let mut told =
            (1..1_000_000).filter_map(|n| out.tell(&status(100 * n, if n % 2 == 0 { 1e6 } else { 2e6 })));
        assert!(told.next().is_some_and(|note| note.contains("descriptor")));
        drop(told);
        assert_eq!(out.tell(&status(200_000_000, 3e6)), None);
    }

    #[test]
    fn places_that_cannot_be_written_are_refused() {
        let place = tempfile::tempdir().expect("a directory");
        let refused = |place: &RatePlace| RateOut::open(place).expect_err("refused");
        for place in [
            RatePlace::Descriptor(900_000),
            RatePlace::File(place.path().to_owned()),
            RatePlace::File(place.path().join("no/rate")),
        ] {
            assert_eq!(refused(&place).status(), 2, "{place:?}");
        }
    }
}
