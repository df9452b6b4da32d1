//! Where the data of one connection goes, opened when its first datagram is there.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::naming::Naming;
use super::options::Destination;
use super::program::Program;
use crate::Failure;
use crate::session::{self, Output, OutputPlan, UdpOut};

/// Time that a program has to end by itself once `recv` ends.
const PROGRAM_ENDS: Duration = Duration::from_secs(3);

/// The output of one connection.
#[derive(Debug)]
pub(super) struct Sink {
    pub(super) output: Output,
    program: Option<Program>,
}

impl Sink {
    /// A sink that is open already.
    pub(super) const fn of(output: Output) -> Self {
        Self { output, program: None }
    }

    /// Makes the file of a connection, or starts its program.
    ///
    /// # Errors
    /// A sentence.
    pub(super) async fn open(destination: &Destination, naming: &Naming) -> Result<Self, String> {
        match destination {
            Destination::One(_) => Ok(Self::of(Output::Nowhere)),
            Destination::Udp(to) => match UdpOut::open(*to) {
                Ok(out) => Ok(Self::of(Output::Udp(out))),
                Err(error) => Err(format!("{to}: {error}")),
            },
            Destination::Files { name, existing } => {
                let (path, existing) = (PathBuf::from(name.fill(naming)), *existing);
                // A pipe that somebody has put there would be waited for, and keep the place.
                let opening = move || match OutputPlan::new(&path, existing)? {
                    OutputPlan::Direct(path) => Err(Failure::usage(
                        format!("{}: is in the way and not a file", path.display()),
                        "move it away",
                    )),
                    plan => Ok(plan.open()?),
                };
                session::blocking(opening).await.map(Self::of).map_err(|failure| failure.sentence())
            }
            Destination::Programs(command) => {
                let (program, file) = command
                    .start(naming)
                    .map_err(|error| format!("the program cannot be started: {error}"))?;
                let name = program.name().to_owned();
                Ok(Self { output: Output::Direct { file, name }, program: Some(program) })
            }
        }
    }

    /// Gives a complete file its place; its name, if it has got one.
    ///
    /// # Errors
    /// As [`Output::keep`].
    pub(super) async fn keep(&mut self) -> io::Result<Option<String>> {
        let mut output = std::mem::replace(&mut self.output, Output::Nowhere);
        let (output, kept) = session::blocking(move || {
            let kept = output.keep();
            (output, kept)
        })
        .await;
        self.output = output;
        kept
    }

    /// Closes the input of the program and waits for its end; a phrase about an end that is not a
    /// success. A receiver that ends does not wait for long.
    pub(super) async fn program_ended(&mut self, hurry: impl Future<Output = ()>) -> Option<String> {
        let mut program = self.program.take()?;
        std::mem::replace(&mut self.output, Output::Nowhere).leave();
        let late = async {
            hurry.await;
            tokio::time::sleep(PROGRAM_ENDS).await;
        };
        tokio::select! {
            fault = program.ended() => fault,
            () = late => Some(format!("{} was ended with the receiver", program.name())),
        }
    }
}
