//! Pipes, which are read and written without a thread that waits.

use std::path::PathBuf;

/// The path that opens a pipe or FIFO anew, with flags of its own; `None` for anything else.
pub(crate) fn pipe_path(file: &impl std::os::fd::AsFd) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    let descriptor = file.as_fd();
    let status = rustix::fs::fstat(descriptor).ok()?;
    let is_pipe = rustix::fs::FileType::from_raw_mode(status.st_mode) == rustix::fs::FileType::Fifo;
    is_pipe.then(|| PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_raw_fd())))
}
