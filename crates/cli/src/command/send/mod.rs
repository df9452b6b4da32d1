//! `tfrc send`: a file, a pipe or made-up data over one connection.
//!
//! A session has four acts, a file each: `agree` on what is sent and to whom, `connect`,
//! `transfer`, `sum_up`. Files that exist, that two options name or that cannot be written are
//! refused before anybody is called; `-l` longer than a packet of the path takes, after the
//! handshake. However the data ends, the connection is closed and summed up.

mod agree;
mod connect;
mod course;
mod hearing;
mod judge;
mod prepare;
mod pump;
mod rate_out;
mod refused;
mod sum_up;
mod transfer;
mod trial;

use self::rate_out::RateOut;
use crate::Failure;
use crate::args::SendArgs;
use crate::interrupt::Interrupt;
use crate::reporter::Reporter;
use crate::session::{self, Encoded};

/// Runs `tfrc send`.
///
/// # Errors
/// [`Failure::Usage`] when a file must not be touched or cannot be opened, [`Failure::Run`] when
/// the connection cannot be made, [`Failure::Session`] when it broke off or not all data was
/// delivered.
pub(crate) fn run(args: &SendArgs) -> Result<(), Failure> {
    run_fed(args, None)
}

/// The program that the data comes from, an encoder.
pub(super) struct Feeder {
    /// Its figures.
    pub(super) encoded: Encoded,
    /// Ends it, once no more is read; an error, a sentence, is that of the source.
    pub(super) end: Box<dyn FnOnce() -> Result<(), String> + Send>,
}

/// Runs `tfrc send`, with data of another program if one is named.
///
/// # Errors
/// As [`run`].
pub(super) fn run_fed(args: &SendArgs, feeder: Option<Feeder>) -> Result<(), Failure> {
    prepare::check_private(args)?;
    prepare::check_files(args)?;
    // Before anything else is opened: a descriptor that was not given must not be one of ours.
    let rate_out = args.rate_out.as_ref().map(RateOut::open).transpose()?;
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    session::block_on(send(args, rate_out, feeder, interrupt))
}

/// A session, its output for the user, and the user's interrupts.
struct Session<'a> {
    args: &'a SendArgs,
    reporter: Reporter,
    interrupt: Interrupt,
}

async fn send(
    args: &SendArgs,
    rate_out: Option<RateOut>,
    feeder: Option<Feeder>,
    interrupt: Interrupt,
) -> Result<(), Failure> {
    let reporter = Reporter::new(prepare::config(args));
    let reporter = reporter.with_series(args.session.series.as_deref(), &[])?;
    let mut session = Session { args, reporter, interrupt };
    let agreed = session.agree().await?;
    let connected = session.connect(agreed).await?;
    let sent = session.transfer(connected, rate_out, feeder).await;
    session.sum_up(sent).await
}

impl Session<'_> {
    /// The failure of a session that its user ended before it had begun.
    fn interrupted(&self) -> Failure {
        Failure::Run(match &self.args.to {
            Some(to) => format!("interrupted before {to} answered"),
            None => "interrupted before a receiver connected".to_owned(),
        })
    }
}
