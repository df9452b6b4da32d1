//! Starvation of an emulation: time for which threads were ready to run, and others had the
//! processor. The engine's own lateness shows in its wake-ups; nothing else shows that of programs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The kernel's threads that do a network's work where it does not fit into the time of the
/// programs: one `ksoftirqd` for each processor. They are outside of the namespace of processes of
/// an emulation, so that [`crate::sandbox::settle`] opens their counters before it leaves.
#[derive(Debug, Default)]
pub struct KernelThreads(Vec<File>);

impl KernelThreads {
    /// Opens the counters of all that `/proc` shows; none where it shows no kernel threads.
    pub(crate) fn open() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_one = |folder: &Path| {
            fs::read_to_string(folder.join("comm")).is_ok_and(|name| name.starts_with("ksoftirqd/"))
        };
        let folders = entries.map(|entry| entry.path()).filter(|folder| is_one(folder));
        Self(folders.filter_map(|folder| File::open(folder.join("schedstat")).ok()).collect())
    }

    /// Times that each has waited.
    fn waited(&mut self) -> Vec<Duration> {
        let read = |file: &mut File| {
            let mut text = String::new();
            file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_string(&mut text)).ok()?;
            Counters::read(&text).map(|counters| counters.waited)
        };
        self.0.iter_mut().map(|file| read(file).unwrap_or_default()).collect()
    }
}

/// Shares of a run's time that were missing to those who were ready to run. `None` where the
/// system does not count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Starvation {
    /// Time over which they are measured.
    pub measured: tfrc_units::Duration,
    /// Of the threads at the nodes the greatest share that one waited for a processor.
    pub programs: Option<f64>,
    /// The greatest share in which a packet for one of these threads would have waited for longer
    /// than [`LATE`]: of each wait the part beyond it.
    pub late: Option<f64>,
    /// The greatest share of one of the kernel's threads for the network.
    pub kernel: Option<f64>,
    /// The share of all processors that a hypervisor gave to others.
    pub stolen: Option<f64>,
}

/// Delay from which on an engine or a thread is late: the limit that a run has for the 99th
/// percentile of its packets. Of a wait of w a packet that comes at any time of it waits for longer
/// than this during w - LATE, and never if w is shorter.
pub const LATE: tfrc_units::Duration = tfrc_units::Duration::from_millis(2);

/// A thread at a node.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingThread {
    /// Name of the thread: `node NAME` for the flows at a node, or that of a program.
    pub name: String,
    /// Time that it ran.
    pub ran: tfrc_units::Duration,
    /// Time that it was ready to run and did not.
    pub waited: tfrc_units::Duration,
    /// The parts of its waits beyond [`LATE`]. Waits within 5 ms count as one.
    pub late: tfrc_units::Duration,
}

/// Counters of a thread, as `/proc/PID/schedstat` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counters {
    ran: Duration,
    waited: Duration,
}

impl Counters {
    fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        let (Some(Ok(ran)), Some(Ok(waited))) = (numbers.next(), numbers.next()) else { return None };
        Some(Self { ran: Duration::from_nanos(ran), waited: Duration::from_nanos(waited) })
    }

    fn since(self, earlier: Self) -> Self {
        Self { ran: self.ran.saturating_sub(earlier.ran), waited: self.waited.saturating_sub(earlier.waited) }
    }
}

/// Ticks of all processors since the machine was started: those that a hypervisor took, and all.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    stolen: u64,
    all: u64,
}

impl Ticks {
    fn read(text: &str) -> Option<Self> {
        let mut words = text.lines().next()?.split_ascii_whitespace();
        (words.next() == Some("cpu")).then_some(())?;
        // user, nice, system, idle, iowait, irq, softirq, steal; time of guests is in user's.
        let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
        Some(Self { stolen: *ticks.get(7)?, all: ticks.iter().sum() })
    }

    fn now() -> Option<Self> {
        Self::read(&fs::read_to_string("/proc/stat").ok()?)
    }
}

/// A measurement that goes on.
#[derive(Debug)]
pub(crate) struct StarvationMeter {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<(Starvation, Vec<WaitingThread>)>,
}

/// Time between two looks at the counters of a thread. It is near [`LATE`], so that short waits do
/// not add up to what looks like a long one: those of 0.2 ms must make up 40 % of the time for
/// that.
const EVERY: Duration = Duration::from_millis(5);

/// Time between two looks for new threads: one that ends before is not seen.
const NEW: Duration = Duration::from_millis(500);

/// Least time between two looks, in times that the last look took: the measurement takes at most
/// 1/50 of a processor, however many threads there are.
const PAUSE: u32 = 50;

impl StarvationMeter {
    /// Begins to measure the threads of the nodes, and every process of this namespace of processes
    /// but its first.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(crate) fn start(mut kernel: KernelThreads) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let (begun, ticks, before) = (Instant::now(), Ticks::now(), kernel.waited());
        let mut threads = Threads::begun();
        let thread = std::thread::Builder::new().name("tfrc-starved".to_owned()).spawn(move || {
            let mut pause = EVERY;
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let start = Instant::now();
                threads.look(start);
                pause = EVERY.max(PAUSE * start.elapsed());
            }
            threads.look_for_new();
            threads.read();
            let took = begun.elapsed();
            let share = |time: tfrc_units::Duration| time.as_secs_f64() / took.as_secs_f64();
            let threads: Vec<WaitingThread> = threads.waiting().collect();
            let kernel =
                kernel.waited().into_iter().zip(&before).map(|(now, before)| now.saturating_sub(*before));
            let stolen = Ticks::now().zip(ticks).filter(|(now, then)| now.all > then.all);
            let starvation = Starvation {
                measured: nanos(took),
                programs: threads.iter().map(|thread| thread.waited).max().map(share),
                late: threads.iter().map(|thread| thread.late).max().map(share),
                kernel: kernel.max().map(nanos).map(share),
                stolen: stolen.map(|(now, then)| {
                    now.stolen.saturating_sub(then.stolen) as f64 / (now.all - then.all) as f64
                }),
            };
            (starvation, threads)
        })?;
        Ok(Self { stop, thread })
    }

    /// Ends the measurement.
    pub(crate) fn stop(self) -> (Starvation, Vec<WaitingThread>) {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

/// Threads seen, by process and thread.
#[derive(Debug)]
struct Threads {
    seen: BTreeMap<(u32, u32), Seen>,
    /// Number of this process where `/proc` shows those of its namespace alone; elsewhere the
    /// others there are strangers.
    is_own: bool,
    /// Time of the last look for new ones.
    looked: Instant,
}

#[derive(Debug, Default)]
struct Seen {
    name: String,
    /// Its counters, until it ends.
    file: Option<File>,
    first: Counters,
    last: Counters,
    late: Duration,
    /// When it was last seen asleep.
    asleep: Option<Instant>,
    /// Waiting that was counted while it slept.
    slept: Duration,
}

impl Seen {
    /// Takes the counters of now.
    fn read(&mut self) {
        let mut text = [0; 100];
        let read = self.file.as_ref().and_then(|file| file.read_at(&mut text, 0).ok());
        let text = read.and_then(|length| std::str::from_utf8(text.get(..length)?).ok());
        match text.and_then(Counters::read) {
            Some(now) => self.take(now, Instant::now()),
            // It has ended.
            None => self.file = None,
        }
    }

    /// Takes the counters of a time. Linux 6.18 was seen to count whole sleeps as waiting: 9.9 s of
    /// a thread of Chromium that wakes once in ten; its cause is not known, and a plain program did
    /// not show it. A wait has not begun before the thread was last seen asleep.
    fn take(&mut self, now: Counters, at: Instant) {
        let counted = now.since(self.last).waited;
        let waited = self.asleep.map_or(counted, |asleep| counted.min(at.saturating_duration_since(asleep)));
        self.slept += counted.saturating_sub(waited);
        self.late += waited.saturating_sub(LATE.into());
        self.last = now;
    }
}

impl Threads {
    /// The threads of now, which are measured from now on; those that come later, from their start.
    fn begun() -> Self {
        let is_own = fs::read_link("/proc/self").is_ok_and(|own| own.as_os_str() == "1");
        let mut threads = Self { seen: BTreeMap::new(), is_own, looked: Instant::now() };
        threads.look_for_new();
        threads.read();
        for seen in threads.seen.values_mut() {
            (seen.first, seen.late, seen.slept) = (seen.last, Duration::ZERO, Duration::ZERO);
        }
        threads
    }

    fn look(&mut self, now: Instant) {
        if now.duration_since(self.looked) >= NEW {
            self.looked = now;
            self.look_for_new();
        }
        self.read();
    }

    /// Takes the counters of all that were seen.
    fn read(&mut self) {
        self.seen.values_mut().for_each(Seen::read);
    }

    fn look_for_new(&mut self) {
        if self.is_own {
            for process in numbers("/proc") {
                self.look_at(process, &format!("/proc/{process}/task"));
            }
        } else {
            self.look_at(1, "/proc/self/task");
        }
    }

    fn look_at(&mut self, process: u32, tasks: &str) {
        for task in numbers(tasks) {
            let name = fs::read_to_string(format!("{tasks}/{task}/comm")).unwrap_or_default();
            // Of this process the nodes' threads alone: the others only look on.
            if process == 1 && !name.starts_with(NODE) {
                continue;
            }
            let seen = self.seen.entry((process, task)).or_insert_with(|| Seen {
                file: File::open(format!("{tasks}/{task}/schedstat")).ok(),
                ..Seen::default()
            });
            // A process that becomes another program has another name.
            name.trim_end().clone_into(&mut seen.name);
            let now = Instant::now();
            if fs::read_to_string(format!("{tasks}/{task}/stat")).is_ok_and(|stat| is_asleep(&stat)) {
                seen.asleep = Some(now);
            }
        }
    }

    fn waiting(&self) -> impl Iterator<Item = WaitingThread> {
        self.seen.values().map(|Seen { name, first, last, late, slept, .. }| {
            let Counters { ran, waited } = last.since(*first);
            let waited = nanos(waited.saturating_sub(*slept));
            WaitingThread { name: name.clone(), ran: nanos(ran), waited, late: nanos(*late) }
        })
    }
}

/// True if a thread is neither running nor ready to run, by `/proc/PID/stat`: the state stands
/// behind the name, which may have anything in it but ends with the last bracket.
fn is_asleep(stat: &str) -> bool {
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().next());
    state.is_some_and(|state| state != "R")
}

fn nanos(time: Duration) -> tfrc_units::Duration {
    tfrc_units::Duration::from_nanos(tfrc_units::saturating(time.as_nanos()))
}

/// First word of the name of a node's thread.
pub(crate) const NODE: &str = "node ";

/// The entries of a folder that are numbers.
fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_a_thread_and_of_the_processors() {
        let counters = Counters::read("1500000000 250000000 37\n").expect("three numbers");
        assert_eq!((counters.ran.as_millis(), counters.waited.as_millis()), (1500, 250));
        assert_eq!(
            counters.since(Counters { waited: Duration::from_millis(50), ..counters }).waited.as_millis(),
            200
        );
        for wrong in ["", "5", "a b c"] {
            assert_eq!(Counters::read(wrong), None, "{wrong}");
        }
        let ticks = Ticks::read("cpu  100 0 50 800 5 0 5 40 7 0\ncpu0 …").expect("a line of processors");
        assert_eq!((ticks.stolen, ticks.all), (40, 1000));
        assert!(Ticks::read("cpu 1 2 3").is_none() && Ticks::read("intr 5").is_none());
    }

    #[test]
    fn threads_of_nodes_are_seen_and_others_of_this_process_are_not() {
        let (stop, stopped) = mpsc::channel::<()>();
        let node = std::thread::Builder::new().name(format!("{NODE}x")).spawn(move || {
            // Some work, so that it has run; and then there until it was seen.
            let sum = (0..1_000_000u64).fold(0, |sum: u64, n| sum.rotate_left(3) ^ n);
            let _ = stopped.recv();
            sum
        });
        let node = node.expect("a thread");
        let mut threads = Threads { seen: BTreeMap::new(), is_own: false, looked: Instant::now() };
        let is_there = |threads: &Threads| threads.waiting().any(|thread| thread.name == "node x");
        for _ in 0..10_000 {
            threads.look_for_new();
            if is_there(&threads) {
                break;
            }
            std::thread::yield_now();
        }
        assert!(is_there(&threads), "{threads:?}");
        assert!(threads.waiting().all(|thread| thread.name.starts_with(NODE)));
        drop(stop);
        node.join().expect("it ends");
        // What has ended keeps its last counters.
        threads.look_for_new();
        threads.read();
        assert!(is_there(&threads));
    }

    #[test]
    fn of_a_wait_the_part_beyond_the_limit_is_late() {
        let mut seen = Seen::default();
        let mut waited = Duration::ZERO;
        let mut wait = |micros: u64| {
            waited += Duration::from_micros(micros);
            Counters { ran: Duration::ZERO, waited }
        };
        // 100 looks with 1.9 ms of waiting each: 38 % of the time, and never late.
        let now = Instant::now();
        for _ in 0..100 {
            seen.take(wait(1900), now);
        }
        assert_eq!((seen.last.waited, seen.late), (Duration::from_millis(190), Duration::ZERO));
        // A tenth of that in two waits: late for all but twice 2 ms.
        for _ in 0..2 {
            seen.take(wait(9500), now);
        }
        assert_eq!(seen.late, Duration::from_millis(15));
        // Ten seconds, of which it slept at least all but 200 ms, and as many of which it did not.
        seen.asleep = Some(now);
        seen.take(wait(10_000_000), now + Duration::from_millis(200));
        assert_eq!((seen.slept, seen.late), (Duration::from_millis(9800), Duration::from_millis(213)));
        seen.asleep = None;
        seen.take(wait(10_000_000), now + Duration::from_millis(200));
        assert_eq!(seen.late, Duration::from_millis(213 + 9998));
    }

    #[test]
    fn the_state_of_a_thread_stands_behind_its_name() {
        assert!(is_asleep("12 (a) R b) S 1 2 3") && is_asleep("12 (x) D 1"));
        assert!(!is_asleep("12 (S) S) R 1 2 3") && !is_asleep(""));
    }
}
