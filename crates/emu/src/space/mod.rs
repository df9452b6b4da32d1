//! Network namespaces of the end nodes: a thread in each, on which its sockets are made.

mod wiring;

use std::fs::{self, File};
use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::thread::JoinHandle;

use nix::sched::{CloneFlags, unshare};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

pub(crate) use wiring::{Wire, await_running, wire, without_ipv6};

use crate::SandboxError;
use crate::system::{self, First};

/// Place of the threads and programs at nodes among all of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// Before others, and after the engine alone, where the system allows it (`SCHED_RR`): what the
    /// machine does besides does not change what they do.
    First,
    /// As all programs.
    #[default]
    Usual,
}

/// A node's network namespace. A thread lives in it and runs the tasks given to it, so that their
/// sockets, and the processes that they start, are in it too. Dropping it ends the thread; tasks
/// then end where they wait.
#[derive(Debug)]
pub struct NodeSpace {
    name: String,
    address: Ipv4Addr,
    runtime: Handle,
    namespace: File,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl NodeSpace {
    /// Makes a namespace with nothing in it but a loopback interface that is down.
    pub(crate) fn new(name: &str, address: Ipv4Addr, priority: Priority) -> Result<Self, SandboxError> {
        let set_up = || SandboxError::set_up(format!("network namespace of {name}"));
        let (end, ended) = oneshot::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name(format!("{}{name}", crate::starvation::NODE));
        let thread = thread.spawn(move || match open(priority) {
            Err(error) => drop(tell.send(Err(error))),
            Ok((runtime, namespace)) => {
                let told = tell.send(Ok((runtime.handle().clone(), namespace)));
                if told.is_ok() {
                    // A sender that is gone asks for the end as well.
                    runtime.block_on(async { drop(ended.await) });
                }
            }
        });
        let thread = thread.map_err(set_up())?;
        let gone = |_| io::Error::other("its thread has ended");
        let (runtime, namespace) = told.recv().map_err(gone).and_then(|opened| opened).map_err(set_up())?;
        Ok(Self { name: name.to_owned(), address, runtime, namespace, end: Some(end), thread: Some(thread) })
    }

    /// The node's name in the scenario.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The node's address in the emulated network.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Starts a task in the namespace.
    pub fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.runtime.spawn(task)
    }

    /// Runs a task in the namespace and waits for its outcome. Not to be called from a task.
    ///
    /// # Errors
    /// If the task panics.
    pub fn run<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
        let (tell, told) = std::sync::mpsc::channel();
        self.runtime.spawn(async move { drop(tell.send(task.await)) });
        told.recv().map_err(|_| io::Error::other(format!("a task at {} has ended early", self.name)))
    }

    /// The descriptor of the namespace.
    pub(crate) fn namespace(&self) -> &File {
        &self.namespace
    }

    /// Sets a network parameter (a path below `/proc/sys/net/`) of this namespace.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_parameter(&self, path: &'static str, value: String) -> io::Result<()> {
        // The kernel shows each thread the parameters of the namespace it is in.
        self.run(async move { fs::write(format!("/proc/sys/net/{path}"), value) })?
    }
}

impl Drop for NodeSpace {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Makes the namespace of the calling thread, and a runtime in it.
fn open(priority: Priority) -> io::Result<(tokio::runtime::Runtime, File)> {
    // The usual priority again, for what runs at the node.
    let _ = rustix::process::setpriority_process(None, 0);
    if priority == Priority::First {
        // Where it is not allowed, the time that they wait shows what came of it.
        system::run_first(First::Programs);
    }
    unshare(CloneFlags::CLONE_NEWNET)?;
    let namespace = File::open("/proc/thread-self/ns/net")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok((runtime, namespace))
}
