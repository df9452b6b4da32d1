//! From the options of a session to the settings of QUIC and of TFRC.

use std::sync::Arc;

use noq::congestion::NewRenoConfig;
use noq::{IdleTimeout, TransportConfig, VarInt};
use tfrc::ConfigError;
use tfrc_net::options::Common;
use tfrc_noq::{Readings, TfrcConfig};
use tfrc_units::Duration;

/// The round-trip time assumed at first: a lost first packet is repeated after 300 ms, where
/// RFC 9002 §6.2.2 has a second for ends that know nothing. On a longer path some packets of the
/// handshake go twice.
const FIRST_RTT: std::time::Duration = std::time::Duration::from_millis(100);
/// Bytes of datagrams that wait in QUIC, where no deadline reaches them: two of the longest.
const HANDED: usize = 3000;
/// Datagrams that QUIC keeps for the task that takes them out, bytes.
const ARRIVED: usize = 4 << 20;
/// Bytes of the messages of a control stream on their way.
const CONTROL: u32 = 16 << 10;
/// Silence that ends a session, unless the options say otherwise.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);
/// The longest time without a packet: address translators forget a flow after 30 s.
const ALIVE: std::time::Duration = std::time::Duration::from_secs(10);

/// The settings of the rate control. They were checked if this is without error.
pub(crate) fn tfrc(options: &Common) -> Result<TfrcConfig, ConfigError> {
    TfrcConfig::new(options.settings())
}

/// The settings of QUIC for one connection. The end that receives sends a few messages: noq's own
/// controller does for them, and takes a thousandth of the memory.
pub(crate) fn transport(
    options: &Common,
    readings: &Arc<Readings>,
) -> Result<Arc<TransportConfig>, ConfigError> {
    let mut transport = TransportConfig::default();
    let silence = std::time::Duration::from(options.silence.unwrap_or(SILENCE));
    let idle = IdleTimeout::try_from(silence).unwrap_or_else(|_| VarInt::MAX.into());
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(1))
        .stream_receive_window(VarInt::from_u32(CONTROL))
        .receive_window(VarInt::from_u32(CONTROL))
        .send_window(CONTROL.into())
        .datagram_receive_buffer_size(Some(ARRIVED))
        .datagram_send_buffer_size(HANDED)
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(Some(ALIVE.min(silence / 3)))
        .initial_rtt(FIRST_RTT)
        // It would show an observer the round-trip time.
        .allow_spin(false);
    if options.sends() {
        transport.congestion_controller_factory(Arc::new(tfrc(options)?.read_by(Arc::clone(readings))));
    } else {
        transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()));
    }
    Ok(Arc::new(transport))
}
