use serde::{Deserialize, Serialize};
use tfrc::{LossEventTiming, MinInterval, PacketSize, RateCap, Revision, SegmentSize, Settings, TfrcSp};
use tfrc_dccp::feature::Wishes;
use tfrc_dccp::wire::ServiceCode;
use tfrc_dccp::{ConnectionConfig, EndpointConfig, Listen};
use tfrc_units::{Duration, Rate};

use crate::Variant;

/// What an endpoint is asked to be. Plain numbers, so that a journal can hold them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// The DCCP service code (RFC 4340 §8.1.2); both ends must name the same.
    pub service: u32,
    /// The rate control to ask for. An endpoint that accepts connections serves both and prefers this one.
    #[serde(default)]
    pub variant: Variant,
    /// The text that rate control follows: a sender's in rates and p, a receiver's in measuring. Loss events go by times of arrival in
    /// all of them: DCCP carries neither the sender's clock nor its rounds, which ns-2 goes by.
    #[serde(default, with = "crate::revision")]
    pub revision: Revision,
    /// Bytes of data expected in a packet, until the mean of those sent is known: the s of the initial rate.
    pub segment_bytes: u32,
    /// The application's own limit on the sending rate, in bits of data per second.
    pub cap_bps: Option<f64>,
    /// The longest UDP payload sent, in bytes.
    pub max_udp_payload: usize,
    /// Who may connect.
    pub accept: Accept,
    /// Datagrams that wait to be sent, at most, per connection.
    pub send_queue: usize,
    /// Received datagrams that wait to be read, at most, per connection; the oldest are dropped beyond that.
    pub receive_queue: usize,
}

/// Which connections an endpoint takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Accept {
    /// None: it only connects.
    Nobody,
    /// One at a time; a second one is told that we are too busy.
    One,
    /// Up to this many at a time.
    Many(u32),
}

/// The DCCP port inside of UDP. One service per UDP port needs no more than one; it has the number of UDP's own (RFC 6773 §3.8).
const DCCP_PORT: u16 = 6511;

/// Timers of user programs are late by up to some milliseconds, so a nofeedback timer below this would fire for nothing.
const NO_FEEDBACK_FLOOR: Duration = Duration::from_millis(20);

/// How late timers here may be without the rules of ns-2 taking it for a want of data.
const NS2_TIMERS: Duration = Duration::from_millis(5);

/// Between packets of TFRC-SP. For the same reason a slot that was missed may be made up for: at most three packets in 30 ms
/// (RFC 5622 §5).
const MIN_INTERVAL: Duration = Duration::from_millis(10);

impl Default for Options {
    fn default() -> Self {
        Self {
            service: 0,
            variant: Variant::Tfrc,
            revision: Revision::Rfc5348,
            segment_bytes: 1316,
            cap_bps: None,
            max_udp_payload: 1472,
            accept: Accept::Nobody,
            send_queue: 64,
            receive_queue: 4096,
        }
    }
}

impl Options {
    /// What the protocol machine is made of.
    ///
    /// # Errors
    /// A sentence about the option that is out of range.
    pub(crate) fn endpoint_config(&self) -> Result<EndpointConfig, tfrc::ConfigError> {
        let settings = Settings {
            segment: SegmentSize::Mean { initial: self.segment_bytes },
            cap: self.cap_bps.map_or(RateCap::Unlimited, |bps| RateCap::AtMost(Rate::from_bits_per_sec(bps))),
            no_feedback_floor: NO_FEEDBACK_FLOOR,
            // For connections by TFRC-SP; the others do without.
            packet_size: PacketSize::TfrcSp(TfrcSp {
                min_interval: MinInterval::ThreePackets(MIN_INTERVAL),
                ..TfrcSp::for_revision(self.revision)
            }),
            // DCCP carries neither the sender's clock nor its rounds.
            loss_event_timing: LossEventTiming::ArrivalTime,
            // ns-2's timers are exact: to it a late packet is a sign of a want of data.
            timer_granularity: match self.revision {
                Revision::Ns2 => NS2_TIMERS,
                _ => Settings::for_revision(self.revision).timer_granularity,
            },
            ..Settings::for_revision(self.revision)
        };
        let ccids = self.variant.preference(self.accept);
        let connection = ConnectionConfig {
            wishes: Wishes { sending: ccids, receiving: ccids, ..Wishes::default() },
            service: ServiceCode::new(self.service),
            tfrc: settings.validate()?,
            max_packet: self.max_udp_payload,
            receive_queue: self.receive_queue,
            ..ConnectionConfig::default()
        };
        let listen = match self.accept {
            Accept::Nobody => Listen::Refuse,
            Accept::One => Listen::One,
            Accept::Many(limit) => Listen::Many { limit: usize::try_from(limit).unwrap_or(usize::MAX) },
        };
        Ok(EndpointConfig { connection, listen, port: DCCP_PORT, ..EndpointConfig::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_older_journals_are_those_of_plain_tfrc() {
        let mut written = serde_json::to_value(Options::default()).expect("numbers");
        for later in ["variant", "revision"] {
            assert!(written.as_object_mut().is_some_and(|options| options.remove(later).is_some()));
        }
        assert_eq!(serde_json::from_value::<Options>(written).ok(), Some(Options::default()));
    }

    #[test]
    fn a_journal_names_the_revision() {
        for revision in Revision::ALL {
            let options = Options { revision, ..Options::default() };
            let written = serde_json::to_string(&options).expect("numbers and names");
            assert!(written.contains(revision.name()));
            assert_eq!(serde_json::from_str::<Options>(&written).ok(), Some(options.clone()));
            assert!(options.endpoint_config().is_ok(), "{}", revision.name());
        }
        let strange = serde_json::to_string(&Options::default()).expect("names").replace("rfc5348", "rfc1");
        assert!(serde_json::from_str::<Options>(&strange).is_err_and(|e| e.to_string().contains("rfc1")));
    }
}
