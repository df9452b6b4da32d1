//! Namespaces of the run's own: network, mounts and processes.
//!
//! The run starts itself again in them. Its loopback interface is its own, so that it meets nobody
//! else's ports and needs no privilege of the machine; everything that it made goes with its last
//! process. The process outside holds a pipe to the one inside: when the outer one ends in whatever
//! way, the inner one reads the end of the pipe and ends too.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};

use super::engine::Ground;

/// Set in the environment of the process inside: the directory of the run.
const INSIDE: &str = "TFRC_HOSTILE_DIRECTORY";
/// Addresses of one IPv6 /64 that the run's loopback interface gets; they end in 1 to this.
pub(crate) const ADDRESSES: usize = 8;
/// The /64 of these addresses (RFC 4193).
pub(crate) const PREFIX: &str = "fd00:7f7c:1::";
/// A name of two addresses: ::1 and 127.0.0.1, in this order.
pub(crate) const TWO_ADDRESSES: &str = "two-addresses.hostile.invalid";

/// The command that starts another one with the system's reaction to signals (GNU coreutils).
const DEFAULT_SIGNALS: [&str; 2] = ["env", "--default-signal=HUP,INT,TERM"];

/// Where the run finds itself.
pub(crate) enum Entered {
    /// Outside, and the run inside has ended with this exit status.
    Done(i32),
    /// Where its cases can run, and the directory for its files.
    Here(Ground, PathBuf),
}

/// Enters namespaces of the run's own if the machine allows it: this program is started again there
/// with its own arguments.
pub(crate) fn enter() -> Result<Entered, String> {
    if let Some(directory) = std::env::var_os(INSIDE) {
        let directory = PathBuf::from(directory);
        furnish(&directory)?;
        // The other end of standard input is the process outside.
        let left = directory.clone();
        std::thread::spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            // The mount goes with the namespace; the empty directory below it would stay.
            let _ = run("umount", &["--lazy", &left.to_string_lossy()]);
            let _ = fs::remove_dir(&left);
            exit(130);
        });
        return Ok(Entered::Here(Ground::Own, directory));
    }
    let directory = std::env::temp_dir().join(format!("tfrc-hostile-{}", std::process::id()));
    fs::create_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    if let Err(why) = possible(&directory) {
        eprintln!("no namespaces of its own ({why}): some cases are skipped");
        return Ok(Entered::Here(Ground::Machine, directory));
    }
    let myself = std::env::current_exe().map_err(|error| error.to_string())?;
    // A run without a terminal may ignore signals, which programs under test would inherit.
    let status = unshare()
        .args(DEFAULT_SIGNALS)
        .arg(&myself)
        .args(std::env::args_os().skip(1))
        .env(INSIDE, &directory)
        // Keys of private sessions are the run's own, and so are its known hosts.
        .env("XDG_CONFIG_HOME", directory.join("config"))
        .stdin(Stdio::piped())
        .spawn()
        .and_then(|mut child| {
            let input = child.stdin.take();
            let status = child.wait();
            drop(input);
            status
        })
        .map_err(|error| format!("unshare: {error}"));
    // The files were on a file system of the namespace; the directory is empty.
    let _ = fs::remove_dir(&directory);
    Ok(Entered::Done(status?.code().unwrap_or(1)))
}

/// `unshare` with all that the run wants; without root in a user namespace.
fn unshare() -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]);
    command
}

/// Tries what [`furnish`] and the cases do: a network, a mount, a veth pair.
fn possible(directory: &Path) -> Result<(), String> {
    let trial = "ip link set lo up && ip -6 addr add \"$2\" dev lo nodad && \
                 mount -t tmpfs tmpfs \"$1\" && ip link add near type veth peer name far";
    let tried = unshare()
        .args(DEFAULT_SIGNALS)
        .args(["sh", "-c", trial, "sh"])
        .arg(directory)
        .arg(format!("{PREFIX}1/64"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("unshare: {error}"))?;
    if tried.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&tried.stderr).trim().replace('\n', "; "))
    }
}

/// Makes the namespaces habitable.
fn furnish(directory: &Path) -> Result<(), String> {
    run("ip", &["link", "set", "lo", "up"])?;
    for number in 1..=ADDRESSES {
        run("ip", &["-6", "addr", "add", &format!("{PREFIX}{number}/64"), "dev", "lo", "nodad"])?;
    }
    mount_memory(directory, "1g")?;
    let hosts = directory.join("hosts");
    fs::write(
        &hosts,
        format!("::1 {TWO_ADDRESSES}\n127.0.0.1 {TWO_ADDRESSES}\n127.0.0.1 localhost\n::1 localhost\n"),
    )
    .map_err(|error| format!("{}: {error}", hosts.display()))?;
    run("mount", &["--bind", &hosts.to_string_lossy(), "/etc/hosts"])
}

/// Mounts a file system in memory of `size` at `directory`.
pub(crate) fn mount_memory(directory: &Path, size: &str) -> Result<(), String> {
    let options = format!("size={size}");
    run("mount", &["-t", "tmpfs", "-o", &options, "tmpfs", &directory.to_string_lossy()])
}

/// Runs a command to its end.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(name)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name} {}: {}", arguments.join(" "), said.trim()))
}
