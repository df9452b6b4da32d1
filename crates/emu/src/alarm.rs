//! Waking up at a time more precisely than tokio's timer, which counts in milliseconds.

pub(crate) use imp::Alarm;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod imp {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tfrc_units::{Duration, Instant};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// A timerfd: late by tens of microseconds.
    #[derive(Debug)]
    pub(crate) struct Alarm {
        fd: AsyncFd<OwnedFd>,
        set: Option<Instant>,
    }

    impl Alarm {
        pub(crate) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            #[expect(
                deprecated,
                reason = "unsound only for types that lie about their descriptor; an OwnedFd does not, and its successor is unsafe"
            )]
            let fd = AsyncFd::with_interest(fd, Interest::READABLE)?;
            Ok(Self { fd, set: None })
        }

        /// Wakes at `at`, in place of any earlier time; never if `None`.
        pub(crate) fn set(&mut self, now: Instant, at: Option<Instant>) -> io::Result<()> {
            if at == self.set {
                return Ok(());
            }
            self.set = at;
            // A relative time of zero would disarm it.
            let wait = at.map_or(Duration::ZERO, |at| at.saturating_since(now).max(Duration::from_nanos(1)));
            let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
            let it_value = Timespec::try_from(std::time::Duration::from(wait))
                .unwrap_or(Timespec { tv_sec: i64::MAX, ..zero });
            timerfd_settime(
                self.fd.get_ref(),
                TimerfdTimerFlags::empty(),
                &Itimerspec { it_interval: zero, it_value },
            )?;
            Ok(())
        }

        /// Until the time has come. Cancelling is harmless.
        pub(crate) async fn rings(&mut self) -> io::Result<()> {
            let mut count = [0u8; 8];
            self.fd
                .async_io(Interest::READABLE, |fd| rustix::io::read(fd, &mut count).map_err(io::Error::from))
                .await?;
            self.set = None;
            Ok(())
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod imp {
    use std::io;

    use tfrc_units::{Duration, Instant};

    /// tokio's timer: late by up to two milliseconds.
    #[derive(Debug)]
    pub(crate) struct Alarm {
        set: Option<(Instant, tokio::time::Instant)>,
    }

    impl Alarm {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self { set: None })
        }

        /// Wakes at `at`, in place of any earlier time; never if `None`.
        pub(crate) fn set(&mut self, now: Instant, at: Option<Instant>) -> io::Result<()> {
            if self.set.map(|(at, _)| at) != at {
                let longest = Duration::from_secs(86_400);
                self.set = at.map(|at| {
                    let wait = at.saturating_since(now).min(longest);
                    (at, tokio::time::Instant::now() + std::time::Duration::from(wait))
                });
            }
            Ok(())
        }

        /// Until the time has come. Cancelling is harmless.
        pub(crate) async fn rings(&mut self) -> io::Result<()> {
            match self.set {
                Some((_, at)) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
            self.set = None;
            Ok(())
        }
    }
}
