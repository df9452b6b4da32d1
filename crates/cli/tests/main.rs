//! The integration tests of this crate, as one program: a file of this folder is a module here.

mod book;
mod cli;
mod e2e;
mod interrupt;
mod picture;
