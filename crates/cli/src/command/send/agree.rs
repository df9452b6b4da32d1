//! The first act of `send`: addresses, keys, limits, the source of the data and the recordings.
//! Nobody has been called when something of it fails.

use std::net::SocketAddr;
use std::sync::Arc;

use tfrc_session::{Options, Recordings};

use super::{Session, prepare};
use crate::Failure;
use crate::args::SendArgs;
use crate::reporter::Reporter;
use crate::session::{
    DatagramSource, Does, IpVersions, Part, Privacy, UdpInCounts, UdpSource, listen, resolve,
};

/// A session that can begin.
pub(super) struct Agreed {
    /// The addresses of the receiver, or those to listen on.
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) privacy: Privacy,
    /// The cap on the sending rate, bit/s.
    pub(super) cap: Option<f64>,
    pub(super) source: DatagramSource,
    /// Datagrams of `--udp-in` that are not sent.
    pub(super) counts: Option<Arc<UdpInCounts>>,
    pub(super) recordings: Recordings,
    /// The part that this end names.
    pub(super) part: Part,
    pub(super) options: Options,
}

impl Session<'_> {
    /// Checks the options and opens what they name.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an option that cannot be followed, [`Failure::Run`] if the user ends
    /// it.
    pub(super) async fn agree(&mut self) -> Result<Agreed, Failure> {
        let args = self.args;
        let found = self.interrupt.or(addresses(args)).await;
        let addresses = found.ok_or_else(|| self.interrupted())??;
        check(args, &addresses, &mut self.reporter)?;
        let privacy = self.privacy(&addresses)?;
        let cap = prepare::cap(args, &addresses, &mut self.reporter)?;
        // Opened first: a wrong name should fail before anybody is called. A FIFO may have no other
        // end.
        let udp_in = match &args.udp_in {
            Some(at) => Some(prepare::udp_in(at, &addresses).await?),
            None => None,
        };
        let counts = udp_in.as_ref().map(UdpSource::counts);
        if let Some(address) = udp_in.as_ref().and_then(UdpSource::address) {
            self.reporter.note(&format!("taking datagrams at {address}"));
        }
        let source = self.interrupt.or(prepare::source(args, udp_in)).await;
        let source = source.ok_or_else(|| self.interrupted())??;
        let recordings = self.interrupt.or(prepare::recordings(args)).await;
        let recordings = recordings.ok_or_else(|| self.interrupted())??;
        // A sender that drops late data, or stops at a time, has no use for a whole file.
        let has_limit = args.deadline.is_some() || args.time.is_some();
        let part = match source.file_bytes() {
            Some(_) if !has_limit && !args.lossy => Part::SendsFile,
            Some(_) if !has_limit => Part::SendsLossy,
            _ => Part::Sends,
        };
        let options = prepare::options(args, part, cap, &privacy);
        Ok(Agreed { addresses, privacy, cap, source, counts, recordings, part, options })
    }

    fn privacy(&mut self, addresses: &[SocketAddr]) -> Result<Privacy, Failure> {
        let SendArgs { to, allow_key, session, .. } = self.args;
        let Some(to) = to else {
            return Privacy::new(&session.private, Does::Listens(allow_key), &mut self.reporter);
        };
        let privacy = Privacy::new(&session.private, Does::Calls(&to.to_string()), &mut self.reporter)?;
        privacy.warn(addresses, &mut self.reporter);
        Ok(privacy)
    }
}

/// The addresses of the receiver, or those to listen on.
///
/// # Errors
/// [`Failure::Usage`] if there is none.
async fn addresses(args: &SendArgs) -> Result<Vec<SocketAddr>, Failure> {
    let versions = match (args.ipv4, args.ipv6) {
        (true, _) => IpVersions::Four,
        (_, true) => IpVersions::Six,
        _ => IpVersions::Any,
    };
    match &args.to {
        Some(to) => resolve(to, versions).await,
        None => listen::addresses(args.bind.as_ref(), args.port).await,
    }
}

/// Refuses to send to anybody who can reach this host, unless the user says so; says it then.
///
/// # Errors
/// [`Failure::Usage`].
fn check(args: &SendArgs, at: &[SocketAddr], reporter: &mut Reporter) -> Result<(), Failure> {
    if !args.reverse || !args.allow_key.is_empty() {
        return Ok(());
    }
    if let Some(warning) = listen::check_reach("have the data", "receivers", &args.allow, at)? {
        reporter.note(&warning);
    }
    Ok(())
}
