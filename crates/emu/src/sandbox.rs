//! Namespaces of our own for one emulation: user (where it takes one), network, processes, mounts.
//!
//! Two processes make them, because the process that asks for a namespace of processes is not in
//! it: the first calls [`enter`] while it has a single thread, and then [`wait_inside`] with a
//! command that runs the same program again; the second calls [`settle`] and is process 1 of the
//! new namespace. When it ends, or the first is killed, the kernel ends every process in there, and
//! with the last of them go the interfaces, routes and mounts.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::RawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getegid, geteuid, sethostname};
use thiserror::Error;

use crate::starvation::KernelThreads;

/// The reason why a world of its own cannot be had here.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The system does not give namespaces to this user.
    #[error("this system gives no namespaces to this user: {why}")]
    Refused {
        /// The cause, as far as it can be found, and the remedy.
        why: String,
        /// The system's error.
        source: io::Error,
    },
    /// Namespaces are there, and something in them cannot be set up.
    #[error("{what}: {source}")]
    SetUp {
        /// The step that failed.
        what: String,
        /// The system's error.
        source: io::Error,
    },
}

impl SandboxError {
    pub(crate) fn set_up(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::SetUp { what, source }
    }
}

/// Leaves the namespaces of this process for new ones. Children are in the new namespace of
/// processes, this process is not; it must have a single thread, now and later.
///
/// # Errors
/// [`SandboxError::Refused`] with the cause and its remedy.
pub fn enter() -> Result<(), SandboxError> {
    // Better than its neighbours where that is allowed: it keeps the time of all packets. Commands
    // at nodes get the usual priority back.
    let _ = rustix::process::setpriority_process(None, EAGER);
    let wanted = CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    let (user, group) = (geteuid(), getegid());
    // Root needs no namespace of users, unless it is the root of a container.
    if user.is_root() && unshare(wanted).is_ok() {
        return Ok(());
    }
    unshare(wanted | CloneFlags::CLONE_NEWUSER).map_err(|error| refused(error.into()))?;
    let maps = [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("0 {user} 1")),
        ("gid_map", format!("0 {group} 1")),
    ];
    for (file, text) in maps {
        fs::write(format!("/proc/self/{file}"), text).map_err(refused)?;
    }
    Ok(())
}

/// The nice value of the process that keeps the time.
const EAGER: i32 = -15;

fn refused(source: io::Error) -> SandboxError {
    let setting = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    let is = |path: &str, value: &str| setting(path).as_deref() == Some(value);
    let apparmor = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
    let debian = "/proc/sys/kernel/unprivileged_userns_clone";
    let most = "/proc/sys/user/max_user_namespaces";
    let why = if is(apparmor, "1") {
        "AppArmor restricts them; as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    } else if is(debian, "0") {
        "they are kept for root; as root: sysctl kernel.unprivileged_userns_clone=1"
    } else if is(most, "0") {
        "none are allowed; as root: sysctl user.max_user_namespaces=10000"
    } else if setting(most).is_none() {
        "the kernel is built without user namespaces; run it as root"
    } else {
        "a container or a filter of system calls may forbid them; run it outside, or as root"
    };
    SandboxError::Refused { why: why.to_owned(), source }
}

/// Runs a command as process 1 of the new namespaces and waits for its end. Signals that ask this
/// process to end are passed on, and the command decides.
///
/// # Errors
/// If it cannot be started or waited for.
pub fn wait_inside(command: &mut Command) -> io::Result<ExitStatus> {
    let signals = waited_for();
    // The child inherits this, and `settle` takes it back.
    signals.thread_block()?;
    let child = command.spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    loop {
        match waitpid(pid, Some(WaitPidFlag::WNOHANG))? {
            WaitStatus::Exited(_, code) => return Ok(ExitStatus::from_raw((code & 0xff) << 8)),
            WaitStatus::Signaled(_, signal, _) => return Ok(ExitStatus::from_raw(signal as i32)),
            _ => {}
        }
        match signals.wait()? {
            Signal::SIGCHLD => {}
            // A terminal has sent this to the child as well.
            Signal::SIGINT if rustix::stdio::stdin().is_terminal_group() => {}
            signal => drop(kill(pid, signal)),
        }
    }
}

/// Keeps a text in memory for a command of [`wait_inside`], which takes it by its number
/// ([`take_over`]): what can be read only once, a pipe, is not read again in there.
///
/// # Errors
/// The system's error.
pub fn hand_over(text: &str) -> io::Result<File> {
    // It stays open in the command.
    let mut file = File::from(rustix::fs::memfd_create("scenario", rustix::fs::MemfdFlags::empty())?);
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// The text that [`hand_over`] kept under this number. Processes that are started from then on do
/// not have it.
///
/// # Errors
/// The system's error, or [`io::ErrorKind::InvalidData`] for what is not text.
pub fn take_over(number: RawFd) -> io::Result<String> {
    let text = fs::read_to_string(format!("/proc/self/fd/{number}"))?;
    nix::unistd::close(number)?;
    Ok(text)
}

/// Signals that [`wait_inside`] waits for.
fn waited_for() -> SigSet {
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD].into_iter().collect()
}

/// Knows of a descriptor whether a terminal behind it sends its signals to this process.
trait Foreground {
    fn is_terminal_group(&self) -> bool;
}

impl Foreground for rustix::fd::BorrowedFd<'_> {
    fn is_terminal_group(&self) -> bool {
        rustix::termios::tcgetpgrp(self).is_ok_and(|group| group == rustix::process::getpgrp())
    }
}

/// Makes the new namespaces a place to live in, as process 1: it ends with its parent, mounts are
/// its own, `/proc` shows its processes. Returns the kernel's threads, which nothing in there
/// shows.
///
/// # Errors
/// [`SandboxError::SetUp`]; also if this is not process 1, for then the processes of the run would
/// outlive it.
pub fn settle() -> Result<KernelThreads, SandboxError> {
    let system = |what: &str| {
        let what = what.to_owned();
        move |error: nix::Error| SandboxError::SetUp { what, source: error.into() }
    };
    if std::process::id() != 1 {
        let source = io::Error::new(io::ErrorKind::Unsupported, "it is made by `tfrc emu`, not by hand");
        return Err(SandboxError::SetUp { what: "not in a namespace of its own".to_owned(), source });
    }
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(system("end with the parent"))?;
    waited_for().thread_unblock().map_err(system("signals"))?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
        .map_err(system("mounts of its own"))?;
    let kernel = KernelThreads::open();
    // Where a container hides parts of /proc it cannot be mounted again: tools then show processes
    // outside, which does no harm.
    let _ = mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none);
    let _ = sethostname("tfrc-emu");
    Ok(kernel)
}

/// Has this process killed when the thread that started it ends.
///
/// # Errors
/// The system's error.
pub fn end_with_parent() -> io::Result<()> {
    Ok(nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?)
}

/// Puts a file in the place of another, for processes in here alone.
pub(crate) fn replace_file(with: &std::path::Path, path: &str) -> io::Result<()> {
    let none: Option<&str> = None;
    Ok(mount(Some(with), path, none, MsFlags::MS_BIND, none)?)
}

/// Puts an empty file system in memory in the place of a folder, for processes in here alone.
pub(crate) fn mount_memory(folder: &std::path::Path) -> io::Result<()> {
    let none: Option<&str> = None;
    Ok(mount(Some("tfrc"), folder, Some("tmpfs"), MsFlags::empty(), none)?)
}

/// Takes it away again; files of it that stand in other places stay there.
pub(crate) fn unmount(folder: &std::path::Path) -> io::Result<()> {
    Ok(nix::mount::umount2(folder, nix::mount::MntFlags::MNT_DETACH)?)
}
