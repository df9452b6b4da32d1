//! Checks that the fuzz targets run on their bytes. The same functions run over the corpora in
//! `tests/corpus.rs`.

#![forbid(unsafe_code)]
#![allow(clippy::missing_panics_doc, reason = "a panic is what a fuzz target is for")]

pub mod cache;
pub mod capture;
pub mod connection;
pub mod core;
pub mod features;
pub mod feedback;
pub mod journal;
pub mod options;
pub mod packet;
pub mod quic;
pub mod scenario;

/// A target by its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets; the directories of `corpus` are named so.
pub const TARGETS: [Target; 11] = [
    ("cache", cache::check),
    ("capture", capture::check),
    ("connection", connection::check),
    ("core", core::check),
    ("features", features::check),
    ("feedback", feedback::check),
    ("journal", journal::check),
    ("options", options::check),
    ("packet", packet::check),
    ("quic", quic::check),
    ("scenario", scenario::check),
];
