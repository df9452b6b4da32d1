//! How a command can fail, and the exit status of each way.

use std::fmt;
use std::io;
use std::process::ExitCode;

use miette::Diagnostic as _;
use tfrc_scenario::ScenarioError;
use tfrc_scenario::library::LibraryError;

use crate::visible::{to_stderr, visible};

/// Why a command did not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum Failure {
    /// A check of a result failed: exit status 3.
    Check(String),
    /// The reader of our output has closed it: nothing is left to do, exit status 0.
    ClosedPipe,
    /// The run failed: exit status 1.
    Run(String),
    /// The session failed, and its last line has said why: exit status 1, nothing more to say.
    Session,
    /// The scenario is not right: exit status 2. The text shows where, over several lines.
    Scenario(String),
    /// The command line or the scenario asks for something impossible: exit status 2.
    Usage {
        /// Description of the fault.
        message: String,
        /// Advice for the user.
        hint: String,
    },
}

impl Failure {
    /// A usage failure from its two sentences.
    #[must_use]
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: hint.into() }
    }

    /// An I/O error on `what`, such as `standard output` or a file's name.
    #[must_use]
    pub(crate) fn io(what: &dyn fmt::Display, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Run(format!("{what}: {error}")),
        }
    }

    /// An I/O error on standard output. A terminal that is gone is a reader that has closed it,
    /// like a pipe without one.
    #[must_use]
    pub(crate) fn standard_output(error: &io::Error) -> Self {
        if is_terminal_gone(error) { Self::ClosedPipe } else { Self::io(&"standard output", error) }
    }

    /// The fault without the advice, in one line.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Usage { message, .. } => message.clone(),
            other => other.to_string(),
        }
    }

    /// The exit status.
    #[must_use]
    pub(crate) const fn status(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Run(_) | Self::Session => 1,
            Self::Scenario(_) | Self::Usage { .. } => 2,
            Self::Check(_) => 3,
        }
    }

    /// Says it on standard error, in the form of clap's own errors, and gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::ClosedPipe | Self::Session => {}
            Self::Scenario(picture) => to_stderr(picture.trim_end()),
            _ => to_stderr(&visible(&format!("error: {self}"))),
        }
        ExitCode::from(self.status())
    }
}

/// True for the error that a terminal gives after it has gone away: EIO, which a broken disk gives
/// too, and standard output is a device. `isatty` says no by then.
#[cfg(unix)]
fn is_terminal_gone(error: &io::Error) -> bool {
    use rustix::fs::{FileType, fstat};
    use rustix::io::Errno;
    let device = || {
        fstat(io::stdout())
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice)
    };
    error.raw_os_error() == Some(Errno::IO.raw_os_error()) && device()
}

#[cfg(not(unix))]
const fn is_terminal_gone(_: &io::Error) -> bool {
    false
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check(message) | Self::Run(message) | Self::Scenario(message) => f.write_str(message),
            Self::Session => f.write_str("the session failed"),
            Self::ClosedPipe => f.write_str("the reader closed the pipe"),
            Self::Usage { message, hint } => write!(f, "{message}\n\n  hint: {hint}"),
        }
    }
}

impl std::error::Error for Failure {}

/// An error with what is behind it.
pub(crate) fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", with_source(source)),
        None => error.to_string(),
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        match error {
            ScenarioError::Invalid(_) => Self::Scenario(format!("{:?}", miette::Report::new(error))),
            error => Self::usage(
                with_source(&error),
                "name a readable scenario file, or one that `tfrc scenario list` shows",
            ),
        }
    }
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::Scenario(error) => error.into(),
            error => {
                let hint = error.help().map(|help| help.to_string()).unwrap_or_default();
                Self::usage(error.to_string(), hint)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_fine_and_other_io_is_not() {
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(Failure::io(&"standard output", &closed).status(), 0);
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let failure = Failure::io(&"out.html", &full);
        assert_eq!(failure.status(), 1);
        assert!(failure.to_string().starts_with("out.html: "));
    }
}
