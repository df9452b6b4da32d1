//! Events of QUIC in a qlog, as far as rate control needs them (draft-ietf-quic-qlog-quic-events).

use serde::Deserialize;

/// Ranges of an acknowledgement that are kept.
const RANGES: usize = 256;

/// The head of a file.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Head {
    pub(super) qlog_version: Option<String>,
    /// Its place in later drafts.
    pub(super) file_schema: Option<String>,
    pub(super) title: Option<String>,
    /// The one trace of a sequence.
    pub(super) trace: Option<Trace>,
}

impl Head {
    pub(super) const fn is_qlog(&self) -> bool {
        self.qlog_version.is_some() || self.file_schema.is_some()
    }
}

/// Fields that all events of a trace share.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Trace {
    #[serde(default)]
    pub(super) vantage_point: Option<VantagePoint>,
    #[serde(default)]
    pub(super) common_fields: Option<CommonFields>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct VantagePoint {
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct CommonFields {
    #[serde(default)]
    pub(super) group_id: Option<Name>,
    #[serde(default)]
    pub(super) time_format: Option<String>,
}

/// A name that may be a number.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Name {
    Text(String),
    Number(f64),
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        match name {
            Name::Text(text) => text,
            Name::Number(number) => number.to_string(),
        }
    }
}

/// An event.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Event {
    /// Milliseconds, since a time that the file names, or since the event before.
    pub(super) time: f64,
    pub(super) name: String,
    #[serde(default)]
    pub(super) group_id: Option<Name>,
    #[serde(default)]
    pub(super) data: Data,
}

/// Fields of all events of interest.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Data {
    pub(super) header: Option<Header>,
    pub(super) raw: Option<Raw>,
    pub(super) frames: Option<Acks>,
    /// Reason for which a packet counts as lost.
    pub(super) trigger: Option<String>,
    /// Mark of a packet that came.
    pub(super) ecn: Option<String>,
    pub(super) smoothed_rtt: Option<f64>,
    pub(super) latest_rtt: Option<f64>,
    pub(super) min_rtt: Option<f64>,
    /// Bytes.
    pub(super) congestion_window: Option<f64>,
    pub(super) bytes_in_flight: Option<f64>,
}

impl Data {
    /// Bytes of the packet; zero if the file does not say.
    pub(super) fn length(&self) -> u64 {
        let length = self.raw.as_ref().and_then(|raw| raw.length);
        whole(length.or_else(|| self.header.as_ref().and_then(|header| header.length)).unwrap_or(0.0))
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Header {
    pub(super) packet_type: Option<String>,
    pub(super) packet_number: Option<f64>,
    pub(super) length: Option<f64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Raw {
    pub(super) length: Option<f64>,
}

/// A frame, as it stands in the file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Frame {
    frame_type: Option<String>,
    acked_ranges: Option<Vec<Vec<f64>>>,
    ect0: Option<f64>,
    ect1: Option<f64>,
    ce: Option<f64>,
}

/// Acknowledgements in the frames of a packet.
#[derive(Debug, Clone, Default)]
pub(super) struct Acks {
    /// Frames of any kind, and those among them that ask for no acknowledgement.
    pub(super) frames: u64,
    pub(super) silent: u64,
    /// First and last numbers.
    pub(super) ranges: Vec<(u64, u64)>,
    /// Packets that came with ECT(0), ECT(1) and CE.
    pub(super) ecn: Option<[u64; 3]>,
}

impl Acks {
    pub(super) fn add(&mut self, frame: Frame) {
        self.frames += 1;
        let kind = frame.frame_type.as_deref().unwrap_or_default();
        self.silent += u64::from(matches!(kind, "ack" | "connection_close"));
        for range in frame.acked_ranges.unwrap_or_default() {
            let (Some(first), Some(last)) = (range.first(), range.last()) else { continue };
            if self.ranges.len() < RANGES {
                self.ranges.push((whole(*first), whole(*last)));
            }
        }
        if frame.ect0.is_some() || frame.ect1.is_some() || frame.ce.is_some() {
            self.ecn = Some([frame.ect0, frame.ect1, frame.ce].map(|count| count.map_or(0, whole)));
        }
    }

    /// True if the packet only acknowledges, and so is not in flight (RFC 9002 §2).
    pub(super) const fn is_silent(&self) -> bool {
        self.frames > 0 && self.frames == self.silent
    }
}

/// A count; what is none counts as zero.
pub(super) fn whole(number: f64) -> u64 {
    tfrc_units::u64_from_f64(number)
}

/// Kind of event by its name, which has had several categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Sent,
    Received,
    Lost,
    Metrics,
    Other,
}

/// Bytes of a name that are kept.
const NAME: usize = 80;

fn shorten(name: Option<&mut String>) {
    if let Some(name) = name
        && name.len() > NAME
    {
        *name = name.chars().take(NAME / 4).collect();
    }
}

impl Event {
    /// Cuts long names off: the file may be a hostile one.
    pub(super) fn shorten(&mut self) {
        shorten(Some(&mut self.name));
        if let Some(Name::Text(name)) = &mut self.group_id {
            shorten(Some(name));
        }
        let Data { header, trigger, ecn, .. } = &mut self.data;
        let kind = header.as_mut().and_then(|header| header.packet_type.as_mut());
        [trigger.as_mut(), ecn.as_mut(), kind].into_iter().for_each(shorten);
    }

    pub(super) fn kind(&self) -> Kind {
        match self.name.rsplit(':').next().unwrap_or_default() {
            "packet_sent" => Kind::Sent,
            "packet_received" => Kind::Received,
            "packet_lost" => Kind::Lost,
            "metrics_updated" | "recovery_metrics_updated" => Kind::Metrics,
            _ => Kind::Other,
        }
    }
}
