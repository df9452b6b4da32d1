//! The result as a document: what `tfrc capture --json` prints. Rates are in bit/s, times in
//! seconds, numbers of packets in the file from 1.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// Meaning of a recording for rate control.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Capture")]
pub struct Recording {
    /// Format of the file: `pcap`, `pcapng`, or `qlog` with its version and form.
    pub format: String,
    /// Kinds of link header in it.
    pub links: Vec<String>,
    /// Packets in the file; in a qlog, sent and received.
    pub packets: u64,
    /// Packets of which the capture kept only the beginning (snap length).
    pub cut_packets: u64,
    /// Time from the first packet to the last, seconds.
    pub duration_s: f64,
    /// Time of the first packet, seconds since the Unix epoch; zero for a qlog.
    pub begins_s: f64,
    /// Why reading ended before the end of the file: a packet cut off, or damage.
    pub fault: Option<String>,
    /// Packets that are not of DCCP, and events of a qlog that were not used, by kind.
    pub other: BTreeMap<String, u64>,
    /// Packets of connections beyond the limit of those that are analysed.
    pub left_out: u64,
    /// The DCCP connections, in the order of their first packets.
    pub connections: Vec<ConnectionSeen>,
    /// Flows of RTP, in the order of their first packets; at most 32.
    pub rtp: Vec<RtpFlow>,
    /// Connections of QUIC in a qlog, in the order of their first events; at most 32.
    pub quic: Vec<QuicConnection>,
}

/// A connection of QUIC as one end recorded it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureQuicConnection")]
pub struct QuicConnection {
    /// Name of the events (`group_id`), mostly a connection ID; may be empty.
    pub name: String,
    /// End that wrote the record: `client`, `server`, or `unknown`.
    pub side: String,
    /// How the end was found.
    pub side_found_by: String,
    /// Packets that it sent.
    pub sent: u64,
    /// Bytes in them, as far as lengths are in the file.
    pub sent_bytes: u64,
    /// Time from the first packet sent to the last, seconds.
    pub duration_s: f64,
    /// Mean rate over that time, bit/s.
    pub rate_bps: Option<f64>,
    /// Packets that came.
    pub received: u64,
    /// Numbers missing among those that came: packets lost on their way here, and numbers that the
    /// peer left out.
    pub missing: u64,
    /// Packets that came with the mark CE.
    pub received_marked: Option<u64>,
    /// Median of the smoothed round-trip time, seconds.
    pub smoothed_s: Option<f64>,
    /// Median of the latest sample, seconds.
    pub latest_s: Option<f64>,
    /// The least round-trip time, seconds.
    pub least_s: Option<f64>,
    /// Packets that were declared lost.
    pub lost: u64,
    /// Packets declared lost by the reason given.
    pub lost_by: BTreeMap<String, u64>,
    /// Packets declared lost that an acknowledgement named later.
    pub spurious: u64,
    /// Packets that the peer says came with the mark CE; `None` where the file has no counts.
    pub marked: Option<u64>,
    /// Loss events by RFC 5348 §5.2 with R.
    pub events: u64,
    /// The first loss events: the packet's number, and when it was declared lost.
    pub first_events: Vec<LossEvent>,
    /// 1/p by RFC 5348 at the end, packets; `None` without a loss event.
    pub inverse_p: Option<f64>,
    /// Median congestion window, bytes.
    pub window_bytes: Option<f64>,
    /// Sent and allowed rates, each round trip.
    pub rates: Rates,
    /// Queueing delay: latest round trips less the least.
    pub queueing: Option<Queueing>,
    /// Parts that the file lacks, or that are not as the drafts have them.
    pub notes: Vec<String>,
}

/// RTP of one direction between two UDP ports.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureRtpFlow")]
pub struct RtpFlow {
    /// Address and UDP port of the sender of the media.
    pub from: String,
    /// Address and UDP port of the receiver.
    pub to: String,
    /// Its first packet, by its number in the file.
    pub first_packet: u64,
    /// RTP packets that passed the tap.
    pub packets: u64,
    /// Bytes of UDP in them.
    pub bytes: u64,
    /// Time from the first to the last, seconds.
    pub duration_s: f64,
    /// Mean rate over that time, bit/s.
    pub rate_bps: Option<f64>,
    /// Its streams; at most 8.
    pub streams: Vec<RtpStream>,
    /// Kind of the feedback: `transport-wide feedback` or `RFC 8888`; `None` without any that can
    /// be read.
    pub feedback: Option<String>,
    /// Reports of that kind.
    pub reports: u64,
    /// RTCP datagrams against the flow that cannot be read: encrypted (SRTCP) or damaged.
    pub unreadable_rtcp: u64,
    /// Packets of which a report said whether they came.
    pub reported: u64,
    /// Those that did not come: losses after the tap. `None` without feedback.
    pub lost: Option<u64>,
    /// Median time from a packet to the report on it, seconds: R from the tap, and the time for
    /// which the receiver held the report.
    pub answered_s: Option<f64>,
    /// Queueing delay from the tap to the receiver, one way.
    pub queueing: Option<Queueing>,
    /// Rows of half a second or more; of many, at equal distances.
    pub series: Vec<RtpRow>,
}

/// A stream of an RTP flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureRtpStream")]
pub struct RtpStream {
    /// SSRC, eight hexadecimal digits.
    pub ssrc: String,
    /// Payload type of its last packet.
    pub payload_type: u8,
    /// Packets.
    pub packets: u64,
    /// Sequence numbers that are missing at the tap.
    pub missing_before_tap: u64,
    /// Packets that came after one with a higher number, or twice.
    pub late: u64,
}

/// A stretch of an RTP flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureRtpRow")]
pub struct RtpRow {
    /// Its end, seconds.
    pub time_s: f64,
    /// Rate that passed the tap, bit/s of UDP.
    pub sent_bps: f64,
    /// Rate of packets that reports of this time acknowledge, bit/s.
    pub received_bps: Option<f64>,
    /// Sequence numbers that are missing at the tap.
    pub missing_before_tap: u64,
    /// Packets that reports of this time say have not come.
    pub lost: Option<u64>,
    /// The most queueing delay, seconds.
    pub queueing_s: Option<f64>,
    /// Time from the newest packet of the last report to that report, seconds.
    pub answered_s: Option<f64>,
}

/// A DCCP connection.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureConnection")]
pub struct ConnectionSeen {
    /// Address and DCCP port of the client; without a handshake, of the end with the higher port.
    pub client: String,
    /// Address and DCCP port of the server.
    pub server: String,
    /// Carrier of the packets: `ip` (protocol 33) or `udp` (RFC 6773).
    pub carrier: Carrier,
    /// UDP ports of client and server, inside UDP.
    pub udp_ports: Option<[u16; 2]>,
    /// Service code (RFC 4340 §8.1.2), where the Request was seen.
    pub service: Option<String>,
    /// Packets of the connection.
    pub packets: u64,
    /// Its first packet, by its number in the file.
    pub first_packet: u64,
    /// Place of the tap.
    pub tap: Tap,
    /// How the place was found.
    pub tap_found_by: String,
    /// Round-trip times.
    pub rtt: RoundTrips,
    /// The negotiation of features, line by line.
    pub dialogue: Vec<Said>,
    /// Changes that got no answer.
    pub unanswered: Vec<String>,
    /// The end of the connection: by whom, with which Reset Code.
    pub end: Option<String>,
    /// Sync packets, which ask whether both ends are in step (RFC 4340 §7.5.4).
    pub syncs: u64,
    /// Packets whose numbers are out of step, which are not part of the analysis.
    pub out_of_step: u64,
    /// Requirements that were broken.
    pub broken: Vec<Broken>,
    /// The data from client to server, and from server to client.
    pub directions: Vec<Direction>,
}

/// Carrier of DCCP packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CaptureCarrier")]
pub enum Carrier {
    /// IP, protocol 33.
    Ip,
    /// UDP (RFC 6773).
    Udp,
}

/// Place of the tap on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CaptureTap")]
pub enum Tap {
    /// At the client.
    Client,
    /// At the server.
    Server,
    /// Between the two.
    Middle,
    /// Not known.
    Unknown,
}

/// Round-trip times by each method, seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureRoundTrips")]
pub struct RoundTrips {
    /// R, the value used for loss events and rates.
    pub r_s: Option<f64>,
    /// Method that gave R.
    pub r_by: Option<String>,
    /// Handshake: Request, Response and the first acknowledgement of the client.
    pub handshake_s: Option<f64>,
    /// Median by Timestamp and Timestamp Echo, the elapsed time taken off.
    pub echo_s: Option<f64>,
    /// Median time from a packet to its acknowledgement, Elapsed Time taken off.
    pub acknowledgement_s: Option<f64>,
    /// The least of them.
    pub acknowledgement_least_s: Option<f64>,
    /// Round-trip time that CCVal of the data from the client shows (RFC 4342 §8.1), and from the
    /// server.
    pub ccval_s: [Option<f64>; 2],
}

/// One line of the negotiation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureNegotiation")]
pub struct Said {
    /// Number of the first packet with it.
    pub packet: u64,
    /// `client` or `server`.
    pub from: String,
    /// Content in words.
    pub text: String,
    /// Packets with it.
    pub times: u64,
}

/// A requirement that was broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureBroken")]
pub struct Broken {
    /// The section that requires it.
    pub section: String,
    /// Content in words.
    pub text: String,
    /// `client` or `server`.
    pub by: String,
    /// Number of the first packet that broke it.
    pub packet: u64,
    /// Packets that broke it.
    pub times: u64,
}

/// Data in one direction: a half-connection.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureDirection")]
pub struct Direction {
    /// `client` or `server`: the sender of the data.
    pub from: String,
    /// Congestion control of the data, as agreed, or by its reports.
    pub ccid: Option<u8>,
    /// Packets in this direction, with and without data.
    pub packets: u64,
    /// Packets with data.
    pub data_packets: u64,
    /// Bytes of data.
    pub data_bytes: u64,
    /// Time from the first data packet to the last, seconds.
    pub duration_s: f64,
    /// Mean rate of the data over that time, bit/s.
    pub rate_bps: Option<f64>,
    /// Losses before the tap, or of the list given; `None` where the tap is at the sender.
    pub losses: Option<LossesSeen>,
    /// Reports of the receiver.
    pub reports: Reports,
    /// Sent and allowed rates.
    pub rates: Rates,
    /// Queueing delay, where the tap sees both times of packets.
    pub queueing: Option<Queueing>,
    /// Options in this direction.
    pub options: Vec<OptionSeen>,
}

/// Queueing delay of one direction: delays less the least one so far, seconds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureQueueing")]
pub struct Queueing {
    /// `round trips`: both ways, from a data packet to its acknowledgement, at the sender;
    /// `timestamps`: one way, from the sender's Timestamp to the arrival, at the receiver;
    /// `feedback`: one way, from the tap to the receiver, of RTP.
    pub by: String,
    /// Delays that were measured.
    pub samples: u64,
    /// Their median.
    pub median_s: Option<f64>,
    /// The most.
    pub most_s: Option<f64>,
}

/// Losses of one direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureLosses")]
pub struct LossesSeen {
    /// Runs of missing numbers that no late packet has filled.
    pub gaps: u64,
    /// Data packets that did not come.
    pub data: u64,
    /// Missing packets without data, by the NDP Count of the packet after the gap (RFC 4340 §7.7).
    pub acknowledgements: u64,
    /// True if the sender sends NDP Counts: without them each missing packet counts as data.
    pub ndp_counts: bool,
    /// Data packets that came with an ECN mark.
    pub marked: u64,
    /// Packets that came after one with a higher number.
    pub late: u64,
    /// Packets that came twice.
    pub duplicates: u64,
    /// Loss events by RFC 5348 §5.2 with R.
    pub events: u64,
    /// The first gaps.
    pub first_gaps: Vec<Gap>,
    /// The first loss events.
    pub first_events: Vec<LossEvent>,
}

/// A gap in the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureGap")]
pub struct Gap {
    /// The first missing number, counted from the first packet of the direction.
    pub at: u64,
    /// Missing numbers.
    pub length: u64,
    /// Number of those without data.
    pub acknowledgements: u64,
}

/// A loss event.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureLossEvent")]
pub struct LossEvent {
    /// The packet that began it, counted from the first packet of the direction.
    pub at: u64,
    /// Time at which later packets showed it, seconds.
    pub found_s: f64,
}

/// Reports of a receiver.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureReports")]
pub struct Reports {
    /// Number of reports.
    pub count: u64,
    /// Median time between them, seconds.
    pub spacing_s: Option<f64>,
    /// Rule that the reported loss event rate follows.
    pub rule: Option<String>,
    /// Share of the reports that agree with it, 0 to 1.
    pub agreeing: Option<f64>,
    /// Reports in their order; of many, at equal distances.
    pub series: Vec<ReportSeen>,
}

/// A report.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureReport")]
pub struct ReportSeen {
    /// Number of the packet in the file.
    pub packet: u64,
    /// Time, seconds.
    pub time_s: f64,
    /// The packet that it acknowledges, counted from the first packet of the direction.
    pub acknowledges: u64,
    /// 1/p reported, in packets; `None` for no loss event.
    pub inverse_p: Option<f64>,
    /// 1/p by RFC 5348 §5.4 from the arrivals, without history discounting; the first interval is
    /// that of X_recv when the first loss was found.
    pub inverse_p_rfc5348: Option<f64>,
    /// 1/p with the discounting of RFC 5348 §5.5; the first interval is that of the highest X_recv
    /// (§6.3.1).
    pub inverse_p_discounted: Option<f64>,
    /// 1/p by RFC 5348 §5.4 with the first interval that was reported.
    pub inverse_p_same_first: Option<f64>,
    /// 1/p by the rule of Linux 6.1.
    pub inverse_p_linux: Option<f64>,
    /// X_recv reported, bit/s.
    pub receive_rate_bps: Option<f64>,
    /// Data that passed the tap since the last report, as a rate, bit/s.
    pub passed_bps: Option<f64>,
}

/// Sent and allowed rates.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureRates")]
pub struct Rates {
    /// Median of sent ÷ allowed.
    pub share_median: Option<f64>,
    /// The most.
    pub share_most: Option<f64>,
    /// Stretches of a round-trip time or more in which more than allowed was sent.
    pub above: u64,
    /// All stretches.
    pub stretches: u64,
    /// Stretches by the term that limited the rate.
    pub limits: BTreeMap<String, u64>,
    /// Median of sent ÷ allowed by the profile `balanced`.
    pub balanced_share_median: Option<f64>,
    /// Stretches by the term that would have limited it with `balanced`.
    pub balanced_limits: BTreeMap<String, u64>,
    /// The stretches in their order; of many, at equal distances.
    pub series: Vec<Stretch>,
}

/// A time between two reports, at least a round-trip time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureStretch")]
pub struct Stretch {
    /// Its end, seconds.
    pub time_s: f64,
    /// Rate of the data that passed the tap, bit/s.
    pub sent_bps: f64,
    /// X that RFC 5348 §4.3 allowed by the reports, bit/s.
    pub allowed_bps: f64,
    /// Result of the throughput equation with the reported p, bit/s; `None` without losses.
    pub equation_bps: Option<f64>,
    /// Result of the equation with p by RFC 5348 from the arrivals, bit/s.
    pub equation_by_arrivals_bps: Option<f64>,
    /// Twice X_recv as reported, bit/s.
    pub twice_receive_rate_bps: Option<f64>,
    /// X that the profile `balanced` would have allowed by the same reports, bit/s.
    pub balanced_bps: f64,
    /// R that was used, seconds.
    pub r_s: f64,
    /// Queueing delay at its end, seconds.
    pub queueing_s: Option<f64>,
    /// Congestion window of QUIC at its end, bytes.
    pub window_bytes: Option<u64>,
    /// Packets of QUIC declared lost in it.
    pub lost: Option<u64>,
    /// The term that limited the rate.
    pub limit: String,
    /// The term that would have limited it with `balanced`.
    pub balanced_limit: String,
}

/// An option that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "CaptureOption")]
pub struct OptionSeen {
    /// Its number.
    pub number: u8,
    /// Its name.
    pub name: String,
    /// Packets with it.
    pub times: u64,
    /// The last one, with its unit.
    pub last: String,
}
