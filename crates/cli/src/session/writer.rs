//! The thread that writes out what `recv` received, so that a slow disk or reader holds up only
//! itself.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tfrc_units::saturating;

use tokio::sync::{mpsc, oneshot};

use super::{Handle, UdpOut};
use crate::limits;

/// Datagrams that wait for the thread that writes to a program, at most: some 340 kB of them in
/// packets of the usual length, so that live data is not old when it comes out. While there is no
/// room `recv` reads nothing, the connection's own queue fills, and the sender is informed (RFC
/// 4340 §11.7).
const WAITING_FOR_READER: usize = 256;
/// Maximum waiting for a file: 22 MB. A disk stalls for tenths of a second, in which
/// a fast path brings more than the connection's own queue holds.
const WAITING_FOR_DISK: usize = 16_384;
/// Bytes written at once, at most (and one datagram).
const BATCH: usize = 1 << 16;

/// Writes datagrams and counts those written.
#[derive(Debug)]
pub(crate) struct DatagramWriter {
    /// `None` once the last datagram has been handed over, or if nothing is written.
    queue: Option<mpsc::Sender<Vec<u8>>>,
    task: Task,
    written: Arc<Written>,
}

#[derive(Debug)]
enum Task {
    Ended(Result<(), Arc<io::Error>>),
    Runs(oneshot::Receiver<io::Result<()>>),
}

/// The counts of what the system has taken.
#[derive(Debug, Default)]
struct Written {
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl Written {
    fn add(&self, packets: u64, bytes: usize) {
        self.packets.fetch_add(packets, Ordering::Relaxed);
        self.bytes.fetch_add(saturating::<u64>(bytes), Ordering::Relaxed);
    }
}

impl DatagramWriter {
    /// Begins to write to an output; without one, datagrams are only counted. With `beside` other
    /// writers, which may stall at once, the room for a disk is shared.
    pub(crate) fn start(output: Option<Handle>, beside: u32) -> Self {
        let written = Arc::new(Written::default());
        let Some(output) = output else {
            return Self { queue: None, task: Task::Ended(Ok(())), written };
        };
        let is_file = match &output {
            Handle::File(file) => file.metadata().is_ok_and(|metadata| metadata.is_file()),
            Handle::Udp(_) => false,
        };
        let share = WAITING_FOR_DISK / saturating::<usize>(beside.saturating_add(1));
        let room = if is_file { share.max(WAITING_FOR_READER) } else { WAITING_FOR_READER };
        let (sender, queue) = mpsc::channel(room);
        let counts = Arc::clone(&written);
        let (tell, ended) = oneshot::channel();
        // A thread of its own: where the system gives none, this connection alone fails.
        let started = limits::thread("writer", move || {
            let outcome = match output {
                Handle::File(file) => write_all(file, queue, &counts),
                Handle::Udp(out) => {
                    send_all(&out, queue, &counts);
                    Ok(())
                }
            };
            let _ = tell.send(outcome);
        });
        let task = match started {
            Ok(_) => Task::Runs(ended),
            Err(error) => Task::Ended(Err(Arc::new(error))),
        };
        Self { queue: Some(sender), task, written }
    }

    /// True if a datagram can be handed over now.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.as_ref().is_none_or(|queue| queue.capacity() > 0)
    }

    /// Hands a datagram over. It is lost if there is no room or writing has failed.
    pub(crate) fn write(&self, datagram: Vec<u8>) {
        match &self.queue {
            None => self.written.add(1, datagram.len()),
            // The task reports the failure.
            Some(queue) => drop(queue.try_send(datagram)),
        }
    }

    /// Waits until there is room.
    ///
    /// # Errors
    /// The failure of a write. Cancel-safe.
    pub(crate) async fn room(&mut self) -> Result<(), Arc<io::Error>> {
        let Some(queue) = self.queue.clone() else { return Ok(()) };
        tokio::select! {
            error = self.failure() => Err(error),
            permit = queue.reserve() => if permit.is_ok() { Ok(()) } else { Err(self.failure().await) },
        }
    }

    /// Waits for the failure of a write; indefinitely if there is none. Cancel-safe.
    pub(crate) async fn failure(&mut self) -> Arc<io::Error> {
        match self.ended().await {
            Err(error) => error,
            Ok(()) => std::future::pending().await,
        }
    }

    /// Waits until everything handed over is written. Nothing can be handed over afterwards.
    /// Cancel-safe.
    ///
    /// # Errors
    /// The failure of a write.
    pub(crate) async fn finish(&mut self) -> Result<(), Arc<io::Error>> {
        self.queue = None;
        self.ended().await
    }

    async fn ended(&mut self) -> Result<(), Arc<io::Error>> {
        if let Task::Runs(task) = &mut self.task {
            let outcome = task.await.unwrap_or_else(|gone| Err(io::Error::other(gone)));
            self.task = Task::Ended(outcome.map_err(Arc::new));
        }
        match &self.task {
            Task::Ended(outcome) => outcome.clone(),
            Task::Runs(_) => Ok(()),
        }
    }

    /// Datagrams written whole, and bytes written.
    pub(crate) fn written(&self) -> (u64, u64) {
        (self.written.packets.load(Ordering::Relaxed), self.written.bytes.load(Ordering::Relaxed))
    }
}

/// Writes what comes until nobody can hand over more.
fn write_all(mut file: impl Write, mut queue: mpsc::Receiver<Vec<u8>>, written: &Written) -> io::Result<()> {
    let mut batch = Vec::with_capacity(BATCH + 2048);
    let mut lengths = VecDeque::new();
    while let Some(first) = queue.blocking_recv() {
        batch.clear();
        let mut next = Some(first);
        while let Some(datagram) = next {
            lengths.push_back(datagram.len());
            batch.extend_from_slice(&datagram);
            next = if batch.len() < BATCH { queue.try_recv().ok() } else { None };
        }
        write_batch(&mut file, &batch, &mut lengths, written)?;
    }
    file.flush()
}

/// Sends on what comes until nobody can hand over more. What the system does not send is not
/// written.
fn send_all(out: &UdpOut, mut queue: mpsc::Receiver<Vec<u8>>, written: &Written) {
    while let Some(datagram) = queue.blocking_recv() {
        if out.send(&datagram) {
            written.add(1, datagram.len());
        }
    }
    out.finish();
}

/// Writes a batch of datagrams of these lengths; counts bytes as they go and datagrams as they are
/// whole.
fn write_batch(
    file: &mut impl Write,
    mut batch: &[u8],
    lengths: &mut VecDeque<usize>,
    written: &Written,
) -> io::Result<()> {
    // Bytes of the first datagram that is not yet whole.
    let mut begun = 0;
    loop {
        // Datagrams without a byte are whole at once.
        while lengths.front().is_some_and(|length| *length <= begun) {
            begun -= lengths.pop_front().unwrap_or(0);
            written.add(1, 0);
        }
        if batch.is_empty() {
            return Ok(());
        }
        match file.write(batch) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => {
                written.add(0, length);
                begun += length;
                batch = batch.get(length..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Standard output that somebody made non-blocking.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

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
            let mut lengths = VecDeque::from([5, 0, 7, 5]);
            let outcome = write_batch(&mut Disk(room), &[0; 17], &mut lengths, &written);
            assert_eq!(outcome.is_ok(), room >= 17);
            let counts = (written.packets.into_inner(), written.bytes.into_inner());
            assert_eq!(counts, (packets, bytes), "room for {room}");
        }
    }

    #[tokio::test]
    async fn a_failure_is_told_once_and_again() {
        let full = File::options().write(true).open("/dev/full").expect("a device of Linux");
        let mut writer = DatagramWriter::start(Some(Handle::File(full)), 0);
        writer.write(vec![1; 100]);
        assert_eq!(writer.failure().await.kind(), io::ErrorKind::StorageFull);
        assert!(writer.room().await.is_err());
        assert!(writer.finish().await.is_err_and(|error| error.kind() == io::ErrorKind::StorageFull));
        assert_eq!(writer.written(), (0, 0));
    }

    #[tokio::test]
    async fn without_a_file_datagrams_are_counted() {
        let mut writer = DatagramWriter::start(None, 0);
        assert!(writer.has_room());
        writer.write(vec![1; 100]);
        assert!(writer.room().await.is_ok() && writer.finish().await.is_ok());
        assert_eq!(writer.written(), (1, 100));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_reader_that_reads_nothing_leaves_no_room() {
        use std::io::Read;
        let (mut reader, pipe) = std::io::pipe().expect("a pipe");
        let pipe = Handle::File(std::os::fd::OwnedFd::from(pipe).into());
        let mut writer = DatagramWriter::start(Some(pipe), 0);
        // More than a pipe and the queue hold; however slowly the thread runs, some find no room.
        let mut handed_over = 0;
        for _ in 0..2000 {
            if writer.has_room() {
                writer.write(vec![7; 1316]);
                handed_over += 1;
            }
        }
        assert!((256..2000).contains(&handed_over), "{handed_over}");
        let reading = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map(|_| bytes.len())
        });
        assert!(writer.finish().await.is_ok());
        assert_eq!(writer.written(), (handed_over, handed_over * 1316));
        drop(writer);
        let read = reading.join().expect("no panic").expect("readable");
        assert_eq!(u64::try_from(read), Ok(handed_over * 1316));
    }
}
