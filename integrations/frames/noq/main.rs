//! Frames of an encoder as QUIC datagrams, at the rate that TFRC allows. `noq_frames` alone runs
//! both ends for 5 s; `integrations/next_to_cubic.py` runs it next to a TCP of the kernel.

mod frames;

/// noq, as far as it differs.
mod stack {
    pub(crate) use noq::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
    pub(crate) use tfrc_noq::TfrcConfig;

    /// X, as bits of UDP payload in a second.
    pub(crate) fn allowed_rate(connection: &Connection) -> f64 {
        let stats = connection.path_stats(noq::PathId::ZERO);
        stats.and_then(|stats| stats.bandwidth_estimate).unwrap_or(0) as f64
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    frames::run().await
}
