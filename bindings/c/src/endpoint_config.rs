//! Settings of a DCCP endpoint.

use tfrc_dccp::endpoint::{Listen, PerSource};
use tfrc_dccp::feature::CcidPreference;
use tfrc_dccp::wire::ServiceCode;
use tfrc_dccp::{ConnectionConfig, LatePolicy};
use tfrc_units::Duration;

use crate::config::{Config, sound};
use crate::status::Status;
use tfrc_border::{change, give, take_back};

/// Settings of an endpoint and of its connections, begun or accepted. They are copied where they
/// are used, and may be freed then.
#[derive(Debug, Clone, Default)]
pub struct EndpointConfig(pub(crate) tfrc_dccp::EndpointConfig);

/// Settings of an endpoint that accepts no connection.
#[unsafe(no_mangle)]
pub extern "C" fn tfrc_endpoint_config_new() -> *mut EndpointConfig {
    give(EndpointConfig::default())
}

/// Frees settings; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_config_free(config: *mut EndpointConfig) {
    // SAFETY: it came from tfrc_endpoint_config_new, says the header.
    unsafe { take_back(config) }
}

/// Accepts connections at this DCCP port, at most `connections` at once, at least 1, and at most
/// `per_source` of one source (an IPv4 address or a /64 of IPv6); 0 for no such limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_config_set_listen(
    config: *mut EndpointConfig,
    port: u16,
    connections: usize,
    per_source: usize,
) -> Status {
    // SAFETY: a handle of this library, says the header.
    let Some(EndpointConfig(config)) = (unsafe { change(config) }) else { return Status::Null };
    if connections == 0 {
        return Status::Range;
    }
    config.port = port;
    config.listen = Listen::Many(connections);
    config.per_source = if per_source == 0 { PerSource::Unlimited } else { PerSource::AtMost(per_source) };
    Status::Ok
}

/// The service code (RFC 4340 §8.1.2); both ends must name the same. Not 2^32 - 1. 0 by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_config_set_service(
    config: *mut EndpointConfig,
    service: u32,
) -> Status {
    let service = ServiceCode::new(service);
    if service == ServiceCode::INVALID {
        return Status::Range;
    }
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |connection| connection.service = service) }
}

/// The rate control; null for RFC 5348's settings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_config_set_rate_control(
    config: *mut EndpointConfig,
    rate_control: *const Config,
) -> Status {
    // SAFETY: null or handles of this library, says the header.
    unsafe {
        let rate_control = sound(rate_control);
        set(config, |connection| connection.tfrc = rate_control)
    }
}

/// CCID 4 (TFRC-SP, RFC 5622) in both directions, if the peer agrees; else CCID 3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_config_set_small_packets(config: *mut EndpointConfig) -> Status {
    // SAFETY: a handle of this library, says the header.
    unsafe {
        set(config, |connection| {
            connection.wishes.sending = CcidPreference::FourThenThree;
            connection.wishes.receiving = CcidPreference::FourThenThree;
        })
    }
}

/// Datagrams that have waited longer than `deadline` ns when their turn comes are dropped, and a
/// full queue drops its oldest: for live media. By default they wait. A key picture may have more
/// datagrams than the 64 of the usual queue: see `tfrc_endpoint_config_set_queues`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_config_set_deadline(
    config: *mut EndpointConfig,
    deadline: u64,
) -> Status {
    let late = LatePolicy::DropAfter(Duration::from_nanos(deadline));
    // SAFETY: a handle of this library, says the header.
    unsafe { set(config, |connection| connection.late = late) }
}

/// Datagrams that may wait to be sent and to be read, each at least 1; 64 and 1024 by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tfrc_endpoint_config_set_queues(
    config: *mut EndpointConfig,
    to_send: usize,
    to_read: usize,
) -> Status {
    if to_send == 0 || to_read == 0 {
        return Status::Range;
    }
    // SAFETY: a handle of this library, says the header.
    unsafe {
        set(config, |connection| {
            (connection.send_queue, connection.receive_queue) = (to_send, to_read);
        })
    }
}

/// # Safety
/// As [`change`].
unsafe fn set(config: *mut EndpointConfig, apply: impl FnOnce(&mut ConnectionConfig)) -> Status {
    // SAFETY: passed on to the caller.
    let Some(EndpointConfig(config)) = (unsafe { change(config) }) else { return Status::Null };
    apply(&mut config.connection);
    Status::Ok
}
