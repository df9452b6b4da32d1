//! The results of runs as people and programs see them.
#![doc = include_str!("../README.md")]
#![allow(clippy::disallowed_methods, reason = "figures are drawn for people: the digits of `std` will do")]
#![forbid(unsafe_code)]

#[cfg(feature = "pages")]
pub mod capture;
mod csv;
pub mod document;
pub mod human;
pub mod packets;
#[cfg(feature = "pages")]
pub mod pages;
pub mod plot;
pub mod record;
pub mod series;
