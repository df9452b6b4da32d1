//! The chart and its keys of a program that was built without them (feature `live`): there is never
//! one, and a run shows itself in lines.

use std::io;

use super::{Command, Model};

/// A terminal with a chart. There is none.
#[derive(Debug)]
pub enum Screen {}

impl Screen {
    /// Returns false.
    #[must_use]
    pub const fn is_possible() -> bool {
        false
    }

    /// # Errors
    /// Always.
    pub fn open() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// # Errors
    /// None.
    pub const fn draw(&mut self, _model: &Model) -> io::Result<()> {
        match *self {}
    }
}

/// Keys of the user. There are none.
#[derive(Debug)]
pub enum Keys {}

impl Keys {
    /// # Errors
    /// Always.
    pub fn read() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The next command that has been given already.
    pub const fn given(&mut self) -> Option<Command> {
        match *self {}
    }

    /// The next command.
    pub async fn next(&mut self) -> Command {
        match *self {}
    }
}

/// Returns false.
#[must_use]
pub const fn is_shown() -> bool {
    false
}

/// Does nothing.
pub const fn restore() {}
