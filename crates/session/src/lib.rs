//! A session: two ends with data between them, over DCCP or QUIC.
//!
//! `tfrc-net` has DCCP over UDP, which anybody on the path can read; `tfrc-quic` has QUIC, private
//! between ends that know each other's keys. This crate is the one door to both: [`Options`] name
//! the carrier and can set nothing that the carrier lacks, [`connect_any`] finds the peer among
//! several addresses, and an [`Endpoint`] has the same methods over either.
//!
//! Around it stand the ways of the data: a [`DatagramSource`] cuts a file, a pipe or a port's
//! datagrams, an [`Inbox`] puts in order what has come, a [`DatagramWriter`] writes it to an
//! [`Output`]. A file that has to arrive whole goes from a [`FileSource`] to a [`FileTaker`] in
//! their place; [`send_file`] and [`receive_file`] are all of it in one call. [`Part`],
//! [`ClosingWord`] and [`Tally`] are the words between two programs `tfrc`. All other bytes on the
//! network are of the two crates below.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "this crate is a host: it reads clocks")]

mod attempts;
mod connection;
mod either;
mod ending;
mod endpoint;
mod file;
mod inbox;
#[cfg(feature = "quic")]
mod known_hosts;
mod options;
mod output;
mod part;
#[cfg(target_os = "linux")]
mod pipe;
mod probe;
mod refusal;
mod source;
mod tally;
mod udp_in;
mod udp_out;
mod writer;

pub use attempts::{AttemptError, ConnectError, connect_any, connect_waiting};
pub use connection::{Connection, DEADLINE_QUEUE};
pub use ending::why;
pub use endpoint::Endpoint;
pub use file::{
    FILE_QUEUE, FileCopy, FileError, FileOutcome, FileSent, FileSource, FileState, FileTaker, pump_file,
    receive_file, send_file,
};
pub use inbox::Inbox;
#[cfg(feature = "quic")]
pub use known_hosts::{KnownHost, KnownHosts, KnownHostsError, Remembered, settings_folder};
#[cfg(feature = "quic")]
pub use options::Quic;
pub use options::{Carrier, Options};
pub use output::{Existing, Identity, Output, OutputError, OutputPlan, PartNames, on_disk};
pub use part::{ClosingWord, FileWay, Part};
pub use refusal::{Refusal, RefusalReason};
pub use source::{DatagramSource, Pace};
pub use tally::{Tally, Trouble};
pub use tfrc_net::options::{Common, DataFrom, Dccp, Listen};
pub use tfrc_net::{
    BindError, Boundaries, Cause, Closed, ClosedBy, EndpointStats, LatePolicy, Profile, Received, Recordings,
    SendError, Status,
};
#[cfg(feature = "quic")]
pub use tfrc_quic::{Fingerprint, FingerprintError, Key, KeyError, Loaded};
pub use udp_in::{UdpInCounts, UdpSource, comes_back, dropped_by_system};
pub use udp_out::{UdpOut, UdpOutCounts};
pub use writer::{DatagramWriter, Handle, Written};
