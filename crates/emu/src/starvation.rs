//! Starvation of an emulation: time for which threads were ready to run, and others had the
//! processor. The engine's own lateness shows in its wake-ups; nothing else shows that of programs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
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
    /// Of the threads at the nodes the greatest share that one waited for a processor.
    pub programs: Option<f64>,
    /// The greatest share of one of the kernel's threads for the network.
    pub kernel: Option<f64>,
    /// The share of all processors that a hypervisor gave to others.
    pub stolen: Option<f64>,
}

/// A thread at a node.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingThread {
    /// Name of the thread: `node NAME` for the flows at a node, or that of a program.
    pub name: String,
    /// Time that it ran.
    pub ran: tfrc_units::Duration,
    /// Time that it was ready to run and did not.
    pub waited: tfrc_units::Duration,
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

/// Time between two looks at the threads: of one that ends, what came after the last look is lost.
const EVERY: Duration = Duration::from_millis(500);

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
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                threads.look();
            }
            threads.look();
            let took = begun.elapsed();
            let share = |waited: Duration| waited.as_secs_f64() / took.as_secs_f64();
            let threads: Vec<WaitingThread> = threads.waiting().collect();
            let programs = threads.iter().map(|thread| thread.waited.into()).max().map(share);
            let kernel_waited =
                kernel.waited().iter().zip(&before).map(|(now, before)| now.saturating_sub(*before)).max();
            let stolen = Ticks::now().zip(ticks).filter(|(now, then)| now.all > then.all);
            let stolen = stolen.map(|(now, then)| {
                now.stolen.saturating_sub(then.stolen) as f64 / (now.all - then.all) as f64
            });
            (Starvation { programs, kernel: kernel_waited.map(share), stolen }, threads)
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
#[derive(Debug, Default)]
struct Threads {
    seen: BTreeMap<(u32, u32), Seen>,
    /// Number of this process where `/proc` shows those of its namespace alone; elsewhere the
    /// others there are strangers.
    is_own: bool,
}

#[derive(Debug)]
struct Seen {
    name: String,
    first: Counters,
    last: Counters,
}

impl Threads {
    /// The threads of now, which are measured from now on; those that come later, from their start.
    fn begun() -> Self {
        let is_own = fs::read_link("/proc/self").is_ok_and(|own| own.as_os_str() == "1");
        let mut threads = Self { seen: BTreeMap::new(), is_own };
        threads.look();
        for seen in threads.seen.values_mut() {
            seen.first = seen.last;
        }
        threads
    }

    fn look(&mut self) {
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
            let text = |file: &str| fs::read_to_string(format!("{tasks}/{task}/{file}")).ok();
            let name = text("comm").unwrap_or_default().trim_end().to_owned();
            // Of this process the nodes' threads alone: the others only look on.
            if process == 1 && !name.starts_with(NODE) {
                continue;
            }
            let Some(last) = text("schedstat").and_then(|text| Counters::read(&text)) else { continue };
            let first = Counters::default();
            self.seen.entry((process, task)).or_insert(Seen { name: String::new(), first, last });
            if let Some(seen) = self.seen.get_mut(&(process, task)) {
                (seen.name, seen.last) = (name, last);
            }
        }
    }

    fn waiting(&self) -> impl Iterator<Item = WaitingThread> {
        let nanos =
            |time: Duration| tfrc_units::Duration::from_nanos(tfrc_units::saturating(time.as_nanos()));
        self.seen.values().map(move |Seen { name, first, last }| {
            let Counters { ran, waited } = last.since(*first);
            WaitingThread { name: name.clone(), ran: nanos(ran), waited: nanos(waited) }
        })
    }
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
        let mut threads = Threads { is_own: false, ..Threads::default() };
        let is_there = |threads: &Threads| threads.waiting().any(|thread| thread.name == "node x");
        for _ in 0..10_000 {
            threads.look();
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
        threads.look();
        assert!(is_there(&threads));
    }
}
