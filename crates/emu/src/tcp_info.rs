//! `TCP_INFO`: state of a kernel TCP (Linux, `include/uapi/linux/tcp.h`).

use std::io;
use std::os::fd::AsFd;

use tfrc_units::{Duration, Rate};

/// Reads the state of a TCP socket. Fields that this kernel does not have are zero.
///
/// # Errors
/// The system's error.
pub fn of(socket: &impl AsFd) -> io::Result<TcpInfo> {
    crate::system::tcp_info(socket.as_fd())
}

/// State of a kernel TCP connection at one moment, as the kernel lays it out. Kernels before 4.10
/// leave the last fields at zero.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "names and meanings are the kernel's; the methods give those used")]
pub struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub window_scales: u8,
    pub delivery_flags: u8,
    pub rto_us: u32,
    pub ato_us: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent_ms: u32,
    pub last_ack_sent_ms: u32,
    pub last_data_recv_ms: u32,
    pub last_ack_recv_ms: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt_us: u32,
    pub rttvar_us: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt_us: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt_us: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time_us: u64,
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
}

impl TcpInfo {
    /// Smoothed round-trip time (RFC 6298); `None` before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        (self.rtt_us > 0).then(|| micros(self.rtt_us))
    }

    /// Mean deviation of the round-trip time (RFC 6298's RTTVAR).
    #[must_use]
    pub fn rttvar(&self) -> Duration {
        micros(self.rttvar_us)
    }

    /// Retransmission timeout as the kernel sets it, with its lower bound of 200 ms.
    #[must_use]
    pub fn rto(&self) -> Duration {
        micros(self.rto_us)
    }

    /// Congestion window in segments.
    #[must_use]
    pub fn congestion_window(&self) -> u32 {
        self.snd_cwnd
    }

    /// Pacing rate of the sender; `None` where it does not pace.
    #[must_use]
    pub fn pacing_rate(&self) -> Option<Rate> {
        (self.pacing_rate > 0 && self.pacing_rate < u64::MAX)
            .then(|| Rate::from_bytes_per_sec(self.pacing_rate as f64))
    }
}

fn micros(us: u32) -> Duration {
    Duration::from_micros(u64::from(us))
}
