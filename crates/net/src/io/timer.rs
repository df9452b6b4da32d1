//! A timer for one deadline, by a timerfd on Linux.

use std::io;

use tfrc_units::Instant;
#[cfg(target_os = "linux")]
use tfrc_units::saturating;

use crate::io::Clock;

/// One deadline that can be moved at any time.
///
/// On Linux a timerfd, which wakes within some tens of microseconds; elsewhere the runtime's timer,
/// which is good to a millisecond: there a flow of more than some hundred packets a second does not
/// reach its rate (docs/install.md).
#[derive(Debug)]
pub struct Timer {
    clock: Clock,
    armed: Option<Instant>,
    #[cfg(target_os = "linux")]
    fd: tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>,
}

impl Timer {
    /// Makes sure that the timer fires by then. A deadline that is set and comes earlier stays: a
    /// caller that keeps moving a deadline onwards is woken once in vain instead of asking the
    /// system each time.
    ///
    /// # Errors
    /// What the system says.
    pub fn fire_by(&mut self, at: Option<Instant>) -> io::Result<()> {
        let Some(at) = at else { return Ok(()) };
        if self.armed.is_some_and(|armed| armed <= at) { Ok(()) } else { self.arm(Some(at)) }
    }
}

#[cfg(target_os = "linux")]
impl Timer {
    /// A timer that is not armed. Must be made inside a tokio runtime with I/O.
    ///
    /// # Errors
    /// What the system says when it has no more timers or descriptors.
    pub fn new(clock: Clock) -> io::Result<Self> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe, for types whose descriptor may change; this one is owned"
        )]
        let fd = tokio::io::unix::AsyncFd::new(fd)?;
        Ok(Self { clock, armed: None, fd })
    }

    /// Sets the deadline, or takes it away. A deadline in the past fires at once.
    ///
    /// # Errors
    /// What the system says.
    pub fn arm(&mut self, at: Option<Instant>) -> io::Result<()> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        if at == self.armed {
            return Ok(());
        }
        // All zeros disarm, so the earliest time that can be asked for is one nanosecond.
        let ns = at.map_or(0, |at| self.clock.on_system_clock(at).as_nanos().max(1));
        let value = Timespec {
            tv_sec: saturating::<i64>(ns / 1_000_000_000),
            tv_nsec: saturating::<i64>(ns % 1_000_000_000),
        };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(
            self.fd.get_ref(),
            TimerfdTimerFlags::ABSTIME,
            &Itimerspec { it_interval: never, it_value: value },
        )?;
        self.armed = at;
        Ok(())
    }

    /// Waits for the deadline; indefinitely while there is none. Cancel-safe.
    ///
    /// # Errors
    /// What the system says.
    pub async fn expired(&mut self) -> io::Result<()> {
        loop {
            // The descriptor is never read: setting it anew makes it unready, and each expiration
            // wakes the runtime once.
            self.fd.readable().await?.clear_ready();
            // Otherwise it was an expiration of a deadline that has been moved.
            if self.armed.is_some_and(|at| at <= self.clock.now()) {
                self.armed = None;
                return Ok(());
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Timer {
    /// A timer that is not armed.
    ///
    /// # Errors
    /// None here.
    pub fn new(clock: Clock) -> io::Result<Self> {
        Ok(Self { clock, armed: None })
    }

    /// Sets the deadline, or takes it away. A deadline in the past fires at once.
    ///
    /// # Errors
    /// None here.
    pub fn arm(&mut self, at: Option<Instant>) -> io::Result<()> {
        self.armed = at;
        Ok(())
    }

    /// Waits for the deadline; indefinitely while there is none. Cancel-safe.
    ///
    /// # Errors
    /// None here.
    pub async fn expired(&mut self) -> io::Result<()> {
        match self.armed {
            None => std::future::pending().await,
            Some(at) => {
                tokio::time::sleep(at.saturating_since(self.clock.now()).into()).await;
                self.armed = None;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_units::Duration;

    #[tokio::test]
    async fn fires_once_and_not_early() -> io::Result<()> {
        let clock = Clock::start();
        let mut timer = Timer::new(clock)?;
        for ms in [0, 1, 5] {
            let at = clock.now() + Duration::from_millis(ms);
            timer.arm(Some(at + Duration::from_secs(3600)))?;
            timer.arm(Some(at))?;
            timer.expired().await?;
            assert!(clock.now() >= at);
        }
        // Armed again for the same time, it fires again; disarmed, it does not.
        let at = clock.now();
        timer.arm(Some(at))?;
        timer.expired().await?;
        timer.arm(Some(at))?;
        timer.expired().await?;
        timer.arm(Some(at))?;
        timer.arm(None)?;
        // An earlier deadline stays, a later one gives way.
        let late = clock.now() + Duration::from_secs(3600);
        timer.fire_by(Some(late))?;
        timer.fire_by(Some(at))?;
        timer.fire_by(Some(late))?;
        timer.fire_by(None)?;
        timer.expired().await?;
        tokio::select! {
            biased;
            fired = timer.expired() => panic!("fired without a deadline: {fired:?}"),
            () = tokio::task::yield_now() => Ok(()),
        }
    }
}
