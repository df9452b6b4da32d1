//! The privacy of a session (`--quic`), and the keys that give it.

#[cfg(feature = "quic")]
mod keys;

use std::net::SocketAddr;

use tfrc_session::{Carrier, ConnectError, Dccp};

use crate::Failure;
use crate::args::PrivateArgs;
use crate::reporter::Reporter;

#[cfg(feature = "quic")]
pub(crate) use keys::{Keys, forget_host, renew_key, show_key};

/// The protection of a session from others than its ends.
#[derive(Debug)]
pub(crate) enum Privacy {
    /// Nothing: DCCP.
    None,
    /// The keys of both ends: QUIC.
    #[cfg(feature = "quic")]
    Keys(Box<Keys>),
}

/// The failure of a private session with an option that only DCCP has, by its name in [`Dccp`].
pub(crate) fn only_dccp(name: &str) -> Failure {
    let option = format!("--{}", name.replace('_', "-"));
    Failure::usage(
        format!("{option} belongs to DCCP, and --quic sends by QUIC"),
        format!("leave out {option}, or --quic"),
    )
}

/// The failure of a program without QUIC that is asked for it.
#[cfg(not(feature = "quic"))]
pub(crate) fn without_quic() -> Failure {
    Failure::usage(
        "this `tfrc` was built without QUIC: it cannot send or receive privately",
        "build it with `cargo install --locked --path crates/cli --features quic`, or take a released one",
    )
}

/// The deed of this end: the keys that it has to be given follow from it.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "quic"), expect(dead_code, reason = "keys alone depend on it"))]
pub(crate) enum Does<'a> {
    /// It connects to the host of this name, `HOST:PORT`.
    Calls(&'a str),
    /// It listens, and lets the owners of these keys in; everybody if there are none.
    Listens(&'a [String]),
}

impl Privacy {
    /// Reads this end's key, or makes it, and looks for the key of a host that is called.
    ///
    /// # Errors
    /// [`Failure::Usage`] if a key or file is not as it must be, the host is not known, or this
    /// program has no QUIC.
    #[cfg(feature = "quic")]
    pub(crate) fn new(args: &PrivateArgs, does: Does<'_>, reporter: &mut Reporter) -> Result<Self, Failure> {
        if args.quic { Keys::new(args, does, reporter).map(Box::new).map(Self::Keys) } else { Ok(Self::None) }
    }

    #[cfg(not(feature = "quic"))]
    pub(crate) fn new(args: &PrivateArgs, _: Does<'_>, _: &mut Reporter) -> Result<Self, Failure> {
        if args.quic {
            return Err(without_quic());
        }
        Ok(Self::None)
    }

    /// The carrier of a session with this protection; these are the options that DCCP alone has.
    pub(crate) fn carrier(&self, dccp: Dccp) -> Carrier {
        match self {
            Self::None => Carrier::Dccp(dccp),
            #[cfg(feature = "quic")]
            Self::Keys(keys) => Carrier::Quic(keys.carrier()),
        }
    }

    /// The failure of a session that was not made because of a key; `None` for other reasons.
    pub(crate) fn refused(&self, error: &ConnectError) -> Option<Failure> {
        match self {
            Self::None => {
                let _ = error;
                None
            }
            #[cfg(feature = "quic")]
            Self::Keys(keys) => keys.refused(error),
        }
    }

    /// Says once that a session with another host can be read on its way.
    pub(crate) fn warn(&self, peers: &[SocketAddr], reporter: &mut Reporter) {
        if matches!(self, Self::None) && peers.iter().any(|peer| !peer.ip().to_canonical().is_loopback()) {
            let remedy = if cfg!(feature = "quic") { "; --quic is private" } else { "" };
            reporter.note(&format!(
                "not encrypted: whoever is on the path can read and change what is sent{remedy}"
            ));
        }
    }

    /// Says by which key this end is known, and how to call it. `program` is the other end's
    /// command up to the host, `more` what follows the key.
    pub(crate) fn introduce(&self, at: SocketAddr, program: &str, more: &str, reporter: &mut Reporter) {
        match self {
            Self::None => {
                let _ = (at, program, more, reporter);
            }
            #[cfg(feature = "quic")]
            Self::Keys(keys) => keys.introduce(at, program, more, reporter),
        }
    }
}
