//! The way of received datagrams to their output. A pipe or a UDP address is written to as far as
//! it takes anything at once; a file or device gets a thread, so that a slow disk holds up only
//! itself.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use tfrc_units::saturating;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::UdpOut;
use crate::udp_out::Sending;

/// Datagrams that wait for a reader, at most: some 340 kB of them in packets of the usual length,
/// so that live data is not old when it comes out. While there is no room `recv` reads nothing, the
/// connection's own queue fills, and the sender is informed (RFC 4340 §11.7).
const WAITING_FOR_READER: usize = 256;
/// Maximum waiting for a file: 22 MB. A disk stalls for tenths of a second, in which
/// a fast path brings more than the connection's own queue holds.
const WAITING_FOR_DISK: usize = 16_384;
/// Bytes with which a batch goes to the thread at once.
const BATCH: usize = 1 << 16;
/// The longest time for which a datagram waits for others of its batch: each batch wakes the
/// thread.
const GATHERING: Duration = Duration::from_millis(20);
/// Time after which a full buffer of a UDP socket is tried again.
const UDP_PAUSE: Duration = Duration::from_millis(1);

/// An output as the writer has it.
#[derive(Debug)]
pub enum Handle {
    /// Datagrams are written one behind another.
    File(File),
    /// Datagrams stay datagrams.
    Udp(UdpOut),
}

/// Writes datagrams and counts those written.
#[derive(Debug)]
pub struct DatagramWriter {
    way: Way,
    written: Arc<Written>,
    /// Datagrams that may wait.
    room: usize,
}

#[derive(Debug)]
enum Way {
    /// The data is counted.
    Nowhere,
    /// The output takes at once what it has room for; the rest waits.
    Here {
        out: Taker,
        waiting: Batch,
    },
    Behind(Behind),
    Ended(Result<(), Arc<io::Error>>),
}

/// An output that never blocks.
#[derive(Debug)]
enum Taker {
    #[cfg(unix)]
    Pipe(tokio::net::unix::pipe::Sender),
    Udp(UdpOut),
}

/// A thread that writes.
#[derive(Debug)]
struct Behind {
    queue: Option<mpsc::Sender<Batch>>,
    ended: oneshot::Receiver<io::Result<()>>,
    gathered: Batch,
    /// When the datagrams gathered go to the thread.
    due: Option<Instant>,
    queued: Arc<Queued>,
}

/// Datagrams that the thread has not written yet.
#[derive(Debug, Default)]
struct Queued {
    datagrams: AtomicUsize,
    less: Notify,
}

/// The counts of what the system has taken.
#[derive(Debug, Default)]
pub struct Written {
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl Written {
    /// Datagrams written whole, and bytes written.
    pub fn counts(&self) -> (u64, u64) {
        (self.packets.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    pub(crate) fn add(&self, packets: u64, bytes: usize) {
        self.packets.fetch_add(packets, Ordering::Relaxed);
        self.bytes.fetch_add(saturating::<u64>(bytes), Ordering::Relaxed);
    }
}

/// Datagrams one behind another.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Bytes that have been written.
    start: usize,
    lengths: VecDeque<usize>,
    /// Bytes written of the first datagram that is not yet whole.
    begun: usize,
}

impl Batch {
    fn push(&mut self, datagram: &[u8]) {
        // A slow reader leaves some bytes at all times.
        if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(datagram);
        self.lengths.push_back(datagram.len());
    }

    fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Writes as much as `write` takes; counts bytes as they go and datagrams as they are whole.
    fn write(
        &mut self,
        written: &Written,
        mut write: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        loop {
            // Datagrams without a byte are whole at once.
            while self.lengths.front().is_some_and(|length| *length <= self.begun) {
                self.begun -= self.lengths.pop_front().unwrap_or(0);
                written.add(1, 0);
            }
            if self.is_empty() {
                return Ok(());
            }
            match write(self.rest()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(length) => {
                    written.add(0, length);
                    self.begun += length;
                    self.start += length;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends each datagram, until the system has no room. A datagram that is not sent is not
    /// written.
    fn send(&mut self, written: &Written, out: &UdpOut) {
        while let Some(length) = self.lengths.front().copied() {
            match out.send(self.rest().get(..length).unwrap_or_default()) {
                Sending::Full => return,
                Sending::Failed => {}
                Sending::Sent => written.add(1, length),
            }
            self.lengths.pop_front();
            self.start += length;
        }
    }
}

impl Taker {
    /// Writes what there is room for.
    fn take(&self, waiting: &mut Batch, written: &Written) -> io::Result<()> {
        match self {
            #[cfg(unix)]
            Self::Pipe(pipe) => match waiting.write(written, |bytes| pipe.try_write(bytes)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                outcome => outcome,
            },
            Self::Udp(out) => {
                waiting.send(written, out);
                Ok(())
            }
        }
    }

    /// Waits until there may be room.
    async fn writable(&self) -> io::Result<()> {
        match self {
            #[cfg(unix)]
            Self::Pipe(pipe) => pipe.writable().await,
            Self::Udp(_) => {
                tokio::time::sleep(UDP_PAUSE).await;
                Ok(())
            }
        }
    }
}

impl Behind {
    /// Begins a thread of its own: where the system gives none, this connection alone fails.
    fn start(file: File, written: &Arc<Written>) -> io::Result<Self> {
        let (queue, batches) = mpsc::channel();
        let (tell, ended) = oneshot::channel();
        let (queued, written) = (Arc::new(Queued::default()), Arc::clone(written));
        let counted = Arc::clone(&queued);
        let writing = move || tell.send(write_all(file, &batches, &counted, &written));
        std::thread::Builder::new().name("writer".to_owned()).spawn(writing)?;
        Ok(Self { queue: Some(queue), ended, gathered: Batch::default(), due: None, queued })
    }

    /// Adds a datagram to those that go to the thread together.
    fn gather(&mut self, datagram: &[u8]) {
        self.queued.datagrams.fetch_add(1, Ordering::Relaxed);
        self.gathered.push(datagram);
        self.due.get_or_insert_with(|| Instant::now() + GATHERING);
    }

    /// Gives the thread what was gathered.
    fn pass(&mut self) {
        self.due = None;
        let batch = std::mem::take(&mut self.gathered);
        if let Some(queue) = self.queue.as_ref().filter(|_| !batch.is_empty()) {
            // The task reports the failure.
            drop(queue.send(batch));
        }
    }
}

impl DatagramWriter {
    /// Begins to write to an output; without one, datagrams are only counted. With `beside` other
    /// writers, which may stall at once, the room for a disk is shared. Must be called inside the
    /// runtime.
    #[must_use]
    pub fn start(output: Option<Handle>, beside: u32) -> Self {
        let written = Arc::new(Written::default());
        let mut room = WAITING_FOR_READER;
        let here = |out| Way::Here { out, waiting: Batch::default() };
        let way = match output {
            None => Way::Nowhere,
            Some(Handle::Udp(out)) => here(Taker::Udp(out)),
            Some(Handle::File(file)) => match taker(&file) {
                Some(out) => here(out),
                None => {
                    if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
                        room = room.max(WAITING_FOR_DISK / saturating::<usize>(beside.saturating_add(1)));
                    }
                    match Behind::start(file, &written) {
                        Ok(behind) => Way::Behind(behind),
                        Err(error) => Way::Ended(Err(Arc::new(error))),
                    }
                }
            },
        };
        Self { way, written, room }
    }

    /// True if a datagram can be handed over now.
    pub fn has_room(&self) -> bool {
        let waiting = match &self.way {
            Way::Nowhere | Way::Ended(_) => 0,
            Way::Here { waiting, .. } => waiting.lengths.len(),
            Way::Behind(behind) => behind.queued.datagrams.load(Ordering::Relaxed),
        };
        waiting < self.room
    }

    /// Hands a datagram over; [`DatagramWriter::flush`] has it written. It is lost if writing has
    /// failed.
    pub fn write(&mut self, datagram: &[u8]) {
        match &mut self.way {
            Way::Nowhere => self.written.add(1, datagram.len()),
            Way::Here { waiting, .. } => waiting.push(datagram),
            Way::Behind(behind) => behind.gather(datagram),
            Way::Ended(_) => {}
        }
    }

    /// Writes what was handed over as far as there is room for it.
    pub fn flush(&mut self) {
        match &mut self.way {
            Way::Here { out, waiting } => {
                if let Err(error) = out.take(waiting, &self.written) {
                    self.way = Way::Ended(Err(Arc::new(error)));
                }
            }
            Way::Behind(behind) => {
                let is_due = behind.due.is_some_and(|due| due <= Instant::now());
                if is_due || behind.gathered.bytes.len() >= BATCH {
                    behind.pass();
                }
            }
            Way::Nowhere | Way::Ended(_) => {}
        }
    }

    /// Waits until there is room.
    ///
    /// # Errors
    /// The failure of a write. Cancel-safe.
    pub async fn room(&mut self) -> Result<(), Arc<io::Error>> {
        loop {
            if let Way::Ended(outcome) = &self.way {
                return outcome.clone();
            }
            if self.has_room() {
                return Ok(());
            }
            self.step().await;
        }
    }

    /// Writes on, and waits for the failure of a write; indefinitely if there is none. Cancel-safe.
    pub async fn failure(&mut self) -> Arc<io::Error> {
        loop {
            if let Way::Ended(Err(error)) = &self.way {
                return Arc::clone(error);
            }
            self.step().await;
        }
    }

    /// Waits until everything handed over is written. Nothing can be handed over afterwards.
    /// Cancel-safe.
    ///
    /// # Errors
    /// The failure of a write.
    pub async fn finish(&mut self) -> Result<(), Arc<io::Error>> {
        self.flush();
        loop {
            match &mut self.way {
                Way::Nowhere => return Ok(()),
                Way::Ended(outcome) => return outcome.clone(),
                Way::Here { out, waiting } if waiting.is_empty() => {
                    match out {
                        #[cfg(unix)]
                        Taker::Pipe(_) => {}
                        Taker::Udp(out) => out.finish(),
                    }
                    self.way = Way::Ended(Ok(()));
                }
                Way::Here { .. } => self.step().await,
                Way::Behind(behind) => {
                    behind.pass();
                    behind.queue = None;
                    self.step().await;
                }
            }
        }
    }

    /// Waits for the next thing to do, and does it.
    async fn step(&mut self) {
        match &mut self.way {
            Way::Here { out, waiting } if !waiting.is_empty() => {
                if let Err(error) = out.writable().await {
                    self.way = Way::Ended(Err(Arc::new(error)));
                }
                self.flush();
            }
            Way::Behind(behind) => {
                let due = behind.due;
                tokio::select! {
                    outcome = &mut behind.ended => {
                        let outcome = outcome.unwrap_or_else(|gone| Err(io::Error::other(gone)));
                        self.way = Way::Ended(outcome.map_err(Arc::new));
                    }
                    () = behind.queued.less.notified() => {}
                    () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                        behind.pass();
                    }
                }
            }
            Way::Here { .. } | Way::Nowhere | Way::Ended(_) => std::future::pending().await,
        }
    }

    /// The counts, which go on.
    pub fn written(&self) -> Arc<Written> {
        Arc::clone(&self.written)
    }
}

/// A pipe as an output that never blocks. It is opened anew: the flag that makes it so is shared by
/// all who have the descriptor, such as the shell.
#[cfg(target_os = "linux")]
fn taker(file: &File) -> Option<Taker> {
    let path = crate::pipe::pipe_path(file)?;
    tokio::net::unix::pipe::OpenOptions::new().open_sender(path).ok().map(Taker::Pipe)
}

#[cfg(not(target_os = "linux"))]
fn taker(_: &File) -> Option<Taker> {
    None
}

/// Writes what comes until nobody can hand over more.
fn write_all(
    mut file: impl Write,
    batches: &mpsc::Receiver<Batch>,
    queued: &Queued,
    written: &Written,
) -> io::Result<()> {
    while let Ok(mut batch) = batches.recv() {
        let datagrams = batch.lengths.len();
        while let Err(error) = batch.write(written, |bytes| file.write(bytes)) {
            // Standard output that somebody made non-blocking.
            if error.kind() != io::ErrorKind::WouldBlock {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        queued.datagrams.fetch_sub(datagrams, Ordering::Relaxed);
        queued.less.notify_one();
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes this many bytes, three at a time.
    struct Disk(usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(3).min(self.0);
            self.0 -= taken;
            if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn counts_say_what_was_written() {
        for (room, packets, bytes) in
            [(100, 4, 17), (17, 4, 17), (16, 3, 16), (7, 2, 7), (5, 2, 5), (4, 0, 4)]
        {
            let written = Written::default();
            let (mut batch, mut disk) = (Batch::default(), Disk(room));
            [5, 0, 7, 5].into_iter().for_each(|length| batch.push(&vec![0; length]));
            let outcome = batch.write(&written, |bytes| disk.write(bytes));
            assert_eq!(outcome.is_ok(), room >= 17);
            assert_eq!(written.counts(), (packets, bytes), "room for {room}");
        }
    }

    #[tokio::test]
    async fn a_failure_is_told_once_and_again() {
        let full = File::options().write(true).open("/dev/full").expect("a device of Linux");
        let mut writer = DatagramWriter::start(Some(Handle::File(full)), 0);
        writer.write(&[1; 100]);
        assert_eq!(writer.failure().await.kind(), io::ErrorKind::StorageFull);
        assert!(writer.room().await.is_err());
        assert!(writer.finish().await.is_err_and(|error| error.kind() == io::ErrorKind::StorageFull));
        assert_eq!(writer.written().counts(), (0, 0));
    }

    #[tokio::test]
    async fn without_a_file_datagrams_are_counted() {
        let mut writer = DatagramWriter::start(None, 0);
        assert!(writer.has_room());
        writer.write(&[1; 100]);
        assert!(writer.room().await.is_ok() && writer.finish().await.is_ok());
        assert_eq!(writer.written().counts(), (1, 100));
    }

    /// A disk gets many datagrams at a time, and each of them in the end.
    #[tokio::test]
    async fn a_file_is_written_in_batches() {
        let file = tempfile::tempfile().expect("a file");
        let mut writer = DatagramWriter::start(Some(Handle::File(file.try_clone().expect("a handle"))), 0);
        for n in 0..200u8 {
            writer.write(&[n; 1000]);
            writer.flush();
            let Way::Behind(behind) = &writer.way else { panic!("{writer:?}") };
            assert!(behind.gathered.bytes.len() < BATCH, "{n}");
        }
        assert!(writer.finish().await.is_ok());
        assert_eq!(writer.written().counts(), (200, 200_000));
        assert_eq!(file.metadata().expect("there").len(), 200_000);
    }

    /// The queue for a reader that always leaves something does not grow.
    #[test]
    fn what_has_been_written_is_forgotten() {
        let (mut batch, written) = (Batch::default(), Written::default());
        for _ in 0..1000 {
            batch.push(&[7; 1000]);
            let mut room = Some(999);
            let outcome =
                batch.write(&written, |_| room.take().ok_or_else(|| io::ErrorKind::WouldBlock.into()));
            assert!(outcome.is_err());
        }
        assert!(batch.rest().len() == 1000 && batch.bytes.len() < 4000, "{}", batch.bytes.len());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_reader_that_reads_nothing_leaves_no_room() {
        use std::io::Read;
        let (mut reader, pipe) = std::io::pipe().expect("a pipe");
        let pipe = Handle::File(std::os::fd::OwnedFd::from(pipe).into());
        let mut writer = DatagramWriter::start(Some(pipe), 0);
        assert!(matches!(writer.way, Way::Here { .. }), "{writer:?}");
        // More than a pipe and the queue hold.
        let mut handed_over = 0;
        for _ in 0..2000 {
            if writer.has_room() {
                writer.write(&[7; 1316]);
                writer.flush();
                handed_over += 1;
            }
        }
        assert!((256..2000).contains(&handed_over), "{handed_over}");
        let reading = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map(|_| bytes.len())
        });
        assert!(writer.finish().await.is_ok());
        assert_eq!(writer.written().counts(), (handed_over, handed_over * 1316));
        drop(writer);
        let read = reading.join().expect("no panic").expect("readable");
        assert_eq!(u64::try_from(read), Ok(handed_over * 1316));
    }
}
