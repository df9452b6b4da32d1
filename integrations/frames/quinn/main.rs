//! Frames of an encoder as QUIC datagrams, at the rate that TFRC allows. `quinn_frames` alone runs
//! both ends for 5 s; `integrations/next_to_cubic.py` runs it next to a TCP of the kernel.

mod frames;

/// quinn, as far as it differs.
mod stack {
    pub(crate) use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
    pub(crate) use tfrc_quinn::TfrcConfig;

    /// X, as bits of UDP payload in a second: quinn 0.11 hands the window out, and no rate.
    pub(crate) fn allowed_rate(connection: &Connection) -> f64 {
        let path = connection.stats().path;
        path.cwnd as f64 * 8.0 / path.rtt.as_secs_f64().max(1e-3)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    frames::run().await
}
