//! The results of runs as people and programs see them.
#![doc = include_str!("../README.md")]
#![allow(clippy::disallowed_methods, reason = "figures are drawn for people: the digits of `std` will do")]
#![forbid(unsafe_code)]

#[cfg(feature = "pages")]
pub mod capture;
#[cfg(feature = "records")]
mod csv;
#[cfg(feature = "records")]
pub mod document;
#[cfg(feature = "records")]
pub mod human;
#[cfg(feature = "records")]
pub mod packets;
#[cfg(feature = "pages")]
pub mod pages;
pub mod plot;
#[cfg(feature = "records")]
pub mod record;
#[cfg(feature = "records")]
pub mod series;
