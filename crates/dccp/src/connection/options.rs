//! Step 8: a packet's options take effect (RFC 4340 §5.8, 8.5).

use alloc::vec::Vec;

use tfrc_units::{Duration, Instant, SeqNo48, saturating};

use super::text::visible;
use super::{Connection, State};
use crate::ccid::FeedbackOptions;
use crate::feature::{Failure, Feature, Location};
use crate::wire::{
    self, FeatureOption, Item, Opt, PacketType, Refusal, Reset, ResetCode, RttEstimate, option_kind,
};

/// Values from the options of a packet that have not taken effect yet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gathered<'a> {
    /// NDP Count; zero if there is none.
    pub(super) non_data_before: u64,
    pub(super) rtt: Option<RttEstimate>,
    pub(super) feedback: FeedbackOptions<'a>,
    /// The time for which the packet had waited at this host.
    pub(super) waited: Duration,
}

impl Connection {
    /// Processes the options of a valid packet.
    ///
    /// # Errors
    /// The Reset that must be sent instead of going on.
    pub(super) fn process_options<'a>(
        &mut self,
        now: Instant,
        kind: PacketType,
        seq: SeqNo48,
        ack: Option<SeqNo48>,
        space: &'a [u8],
    ) -> Result<Gathered<'a>, Reset> {
        let order = self.features.order(seq, ack);
        let mut gathered = Gathered::default();
        let mut negotiates = false;
        let gives_cookies = self.gives_cookies(kind, seq);
        if gives_cookies {
            self.init_cookies.clear();
        }
        for item in wire::options(kind, space) {
            let item = item.map_err(|_| Reset::about_option(ResetCode::OptionError, 1, &[]))?;
            let option = match item.option {
                Ok(option) if self.belongs(item.raw.kind) => option,
                // RFC 4340 §15.
                Ok(_) => {
                    self.refuse(&item, Refusal::Unknown)?;
                    continue;
                }
                Err(refusal) => {
                    self.refuse(&item, refusal)?;
                    continue;
                }
            };
            match option {
                Opt::Feature(feature) => {
                    negotiates = true;
                    self.features
                        .on_option(order, &feature, item.mandatory)
                        .map_err(|failure| blame(failure, &item, &feature))?;
                }
                Opt::NdpCount(count) => gathered.non_data_before = count,
                Opt::RttEstimate(estimate) => gathered.rtt = Some(estimate),
                Opt::Timestamp(value) => self.echo = Some((value, now)),
                Opt::TimestampEcho { value, elapsed } => {
                    gathered.feedback.echo = Some((value, elapsed.unwrap_or_default()));
                }
                Opt::ElapsedTime(elapsed) => gathered.feedback.elapsed = Some(elapsed),
                Opt::ReceiveRate(rate) => gathered.feedback.receive_rate = Some(rate),
                Opt::LossEventRate(rate) => gathered.feedback.loss_event_rate = Some(rate),
                // RFC 4342 §8.6.1.
                // A second option continues the first; nine intervals fit into one.
                Opt::LossIntervals(intervals) => {
                    gathered.feedback.intervals.get_or_insert(intervals);
                }
                Opt::DroppedPackets(counts) => {
                    gathered.feedback.drop_counts.get_or_insert(counts);
                }
                Opt::DataDropped(dropped) => gathered.feedback.add_dropped(dropped),
                Opt::SlowReceiver => gathered.feedback.slow_receiver = true,
                Opt::InitCookie(cookie) if gives_cookies => self.init_cookies.push(Vec::from(cookie)),
                Opt::Note(text) => self.keep_note(kind, text),
                // Data Checksums are not checked here (RFC 4340 §9.3.1 leaves that open), so none
                // can be insisted on.
                Opt::DataChecksum(_) if item.mandatory => {
                    return Err(Reset::about_option(ResetCode::MandatoryError, item.raw.kind, item.raw.data));
                }
                Opt::DataChecksum(_) | Opt::AckVector(_) | Opt::InitCookie(_) => {}
            }
        }
        if negotiates {
            self.features.after_packet(seq);
            self.follow_ccid(now);
            self.follow_ecn();
        }
        Ok(gathered)
    }

    /// Returns true if an option means something on this connection: a CCID-specific one is that of
    /// the CCID of the half-connection that its number names (RFC 4340 §10.3).
    fn belongs(&self, kind: u8) -> bool {
        let location = match kind {
            ..128 => return true,
            // From a data sender: the peer's data.
            128..192 => Location::Remote,
            // From a data receiver: ours.
            192.. => Location::Local,
        };
        self.ccid(location).is_some_and(|ccid| ccid.knows(kind))
    }

    /// An option that is not processed: harmless unless it was mandatory, or is an RTT Estimate
    /// that we have asked for.
    fn refuse(&self, item: &Item<'_>, refusal: Refusal) -> Result<(), Reset> {
        let (kind, data) = (item.raw.kind, item.raw.data);
        // RFC 4340 §5.8.2.
        if item.mandatory {
            return Err(Reset::about_option(ResetCode::MandatoryError, kind, data));
        }
        let reports = self.features.is_on(Feature::SendRttEstimate, Location::Remote);
        if kind == option_kind::RTT_ESTIMATE && refusal == Refusal::Invalid && reports {
            // RFC 6323 §3.3: the option's first three bytes are named.
            let length = saturating::<u8>(data.len() + 2);
            let first = data.first().copied().unwrap_or(0);
            return Err(Reset { code: ResetCode::OptionError, data: [kind, length, first] });
        }
        Ok(())
    }

    /// A note of the peer's application means something in its first packet and in its Close.
    fn keep_note(&mut self, kind: PacketType, text: &[u8]) {
        let notes = self.notes.get_or_insert_default();
        match kind {
            PacketType::Request | PacketType::Response => notes.greeting = visible(text),
            PacketType::Close => notes.closing = visible(text),
            _ => {}
        }
    }

    /// Returns true if the cookies of this packet are those that a client sends back, in the same
    /// order: those of the Response that its packets acknowledge (RFC 4340 §8.1.4), which is the
    /// newest.
    fn gives_cookies(&self, kind: PacketType, seq: SeqNo48) -> bool {
        kind == PacketType::Response
            && matches!(self.state, State::Request | State::PartOpen)
            && self.seq.gsr() == Some(seq)
    }
}

fn blame(failure: Failure, item: &Item<'_>, feature: &FeatureOption<'_>) -> Reset {
    let code = match failure {
        Failure::Option => ResetCode::OptionError,
        Failure::Mandatory => ResetCode::MandatoryError,
    };
    let first = feature.values.first().copied().unwrap_or(0);
    Reset { code, data: [item.raw.kind, feature.feature, first] }
}
