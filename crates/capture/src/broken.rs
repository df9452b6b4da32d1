//! Requirements that packets break.

use std::collections::BTreeMap;

use crate::document::Broken;
use crate::end::{Side, name};

/// A kind of breach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Breach {
    Checksum,
    ZeroUdpChecksum,
    InvalidService,
    Mandatory,
    OptionLength,
    OptionPlace,
    NoElapsedTime,
    NoReceiveRate,
    NoLossIntervals,
    LossEventRateZero,
    DataInPartOpen,
}

impl Breach {
    /// The section, and the breach in words.
    const fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Checksum => ("RFC 4340 §9", "wrong checksum: the packet is dropped"),
            Self::ZeroUdpChecksum => ("RFC 6773 §3.3", "UDP checksum of zero: the packet is dropped"),
            Self::InvalidService => ("RFC 4340 §8.1.2", "service code 4294967295 is invalid"),
            Self::Mandatory => ("RFC 4340 §5.8.2", "Mandatory without an option after it"),
            Self::OptionLength => ("RFC 4340 §5.8", "option with an impossible length"),
            Self::OptionPlace => ("RFC 4340 §5.8", "option on a packet type that may not carry it"),
            Self::NoElapsedTime => ("RFC 4342 §8.2", "report without Elapsed Time"),
            Self::NoReceiveRate => ("RFC 4342 §8.3", "report without Receive Rate"),
            Self::NoLossIntervals => ("RFC 4342 §8.6", "report without Loss Intervals"),
            Self::DataInPartOpen => {
                ("RFC 4340 §8.1.5", "Data, not DataAck, before the server has answered the Ack")
            }
            Self::LossEventRateZero => ("RFC 4342 §8.5", "Loss Event Rate 0: 1/p is at least 1"),
        }
    }
}

/// The breaches of a connection: the first packet and the number of each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Breaches(BTreeMap<(Breach, Side), (u64, u64)>);

impl Breaches {
    pub(crate) fn add(&mut self, breach: Breach, by: Side, packet: u64) {
        self.0.entry((breach, by)).or_insert((packet, 0)).1 += 1;
    }

    pub(crate) fn finish(self) -> Vec<Broken> {
        let all = self.0.into_iter().map(|((breach, by), (packet, times))| {
            let (section, text) = breach.text();
            Broken {
                section: section.to_owned(),
                text: text.to_owned(),
                by: name(by).to_owned(),
                packet,
                times,
            }
        });
        all.collect()
    }
}
