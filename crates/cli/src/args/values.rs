//! Values as people write them, read by the grammar of [`tfrc_units::text`], with an error that
//! says what would be right.
#![allow(clippy::missing_errors_doc, reason = "every error here is a sentence for the reader")]

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tfrc_net::options::{CircuitBreaker, Prefix, PromiseStart, SkippedNumbers};
use tfrc_net::{Friend, Profile, Revision, Variant};
use tfrc_units::Dscp;
use tfrc_units::{Duration, Probability, Rate, text};

/// The UDP port of DCCP in UDP (RFC 6773 §3).
pub(crate) const DEFAULT_PORT: u16 = 6511;

/// A rate above zero.
pub(crate) fn positive_rate(written: &str) -> Result<Rate, String> {
    let rate = text::rate(written).map_err(|e| e.to_string())?;
    if rate.is_zero() {
        return Err("is zero; expected a rate above zero, such as 10M, 10Mbit/s or 64kbit/s".to_owned());
    }
    Ok(rate)
}

/// A time above zero.
pub(crate) fn positive_time(written: &str) -> Result<Duration, String> {
    let time = text::time(written).map_err(|e| e.to_string())?;
    if time.is_zero() {
        return Err("is zero; expected a time above zero, such as 250ms, 20s or 80us".to_owned());
    }
    Ok(time)
}

/// A time limit, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum Limit {
    /// Ends after this time, which is above zero.
    After(Duration),
    /// No limit.
    Off,
}

/// Reads a [`Limit`]: a time above zero, or `off`.
pub(crate) fn time_or_off(written: &str) -> Result<Limit, String> {
    match written {
        "off" => Ok(Limit::Off),
        time => positive_time(time).map(Limit::After).map_err(|error| format!("{error}; or off")),
    }
}

/// Reads an address or a network of addresses.
pub(crate) fn prefix(written: &str) -> Result<Prefix, String> {
    written.parse().map_err(|error| {
        format!("{error}; expected an address or a network, such as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32")
    })
}

/// Peers that are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum AllowedPeers {
    /// All.
    Any,
    /// Those with an address in this network.
    Network(Prefix),
}

/// Reads an [`AllowedPeers`]: an address, a network, or `any`.
pub(crate) fn allowed(written: &str) -> Result<AllowedPeers, String> {
    match written {
        "any" => Ok(AllowedPeers::Any),
        network => prefix(network).map(AllowedPeers::Network).map_err(|error| format!("{error}; or any")),
    }
}

/// A number of bytes above zero.
pub(crate) fn positive_size(written: &str) -> Result<u64, String> {
    match text::size(written).map_err(|e| e.to_string())? {
        0 => Err("is zero; expected a size above zero, such as 1460B, 50kB or 2MB".to_owned()),
        size => Ok(size),
    }
}

/// Application data of one packet: 1 byte to what a UDP datagram can carry.
pub(crate) fn packet_size(written: &str) -> Result<u16, String> {
    // 65 535 less IPv4 and UDP headers and the longest DCCP header (RFC 4340 §5: 255 words).
    const MOST: u16 = 65_535 - 28 - 1020;
    u16::try_from(positive_size(written)?)
        .ok()
        .filter(|size| *size <= MOST)
        .ok_or_else(|| format!("is too large for a datagram; expected 1 to {MOST} bytes, such as 1316B"))
}

/// Packets a second, above zero.
pub(crate) fn packets_per_second(written: &str) -> Result<f64, String> {
    match f64::from_str(written) {
        Ok(pps) if pps > 0.0 && pps <= 1e9 => Ok(pps),
        _ => Err("expected a number of packets a second above zero, such as 50 or 33.3".to_owned()),
    }
}

/// A loss event rate for the throughput equation: above 0, at most 1.
pub(crate) fn loss_event_rate(written: &str) -> Result<Probability, String> {
    let p = text::probability(written).map_err(|e| e.to_string())?;
    if p.is_zero() {
        return Err("is zero, and without loss the equation sets no limit; \
                    expected a loss event rate above 0 and at most 1, such as 0.01 or 1%"
            .to_owned());
    }
    Ok(p)
}

/// A file, or `-` for a standard stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum FileOrStream {
    /// A file by its path.
    File(PathBuf),
    /// Standard input or standard output.
    Standard,
}

/// Reads a [`FileOrStream`].
pub(crate) fn place(written: &str) -> Result<FileOrStream, String> {
    match written {
        "" => Err("is empty; expected a file's name, or - for the standard stream".to_owned()),
        "-" => Ok(FileOrStream::Standard),
        name => Ok(FileOrStream::File(PathBuf::from(name))),
    }
}

/// A place for lines about a run: a descriptor that the program was started with, or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum RatePlace {
    /// A descriptor by its number, from 3: the standard streams have other words.
    Descriptor(u32),
    /// A file or FIFO by its path.
    File(PathBuf),
}

/// Reads a [`RatePlace`]: a number, or the name of a file.
pub(crate) fn rate_place(written: &str) -> Result<RatePlace, String> {
    let of_digits = !written.is_empty() && written.chars().all(|c| c.is_ascii_digit());
    match written.parse() {
        Ok(0..=2) => {
            Err("is a standard stream, which has other words; expected 3 or above, or a file".to_owned())
        }
        Ok(number) if of_digits => Ok(RatePlace::Descriptor(number)),
        _ if written.is_empty() => {
            Err("is empty; expected a descriptor's number or a file's name".to_owned())
        }
        _ => Ok(RatePlace::File(PathBuf::from(written))),
    }
}

/// A host and the UDP port on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Target {
    /// Name or address, without brackets.
    pub host: String,
    /// UDP port.
    pub port: u16,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// An address or a name of this host to listen on, and the port if it is given with it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct ListenAt {
    /// Name or address, without brackets.
    pub host: String,
    /// The port; 0 lets the system choose.
    pub port: Option<u16>,
}

/// Reads a [`ListenAt`]: `ADDRESS`, `ADDRESS:PORT` or `[ADDRESS]:PORT`.
pub(crate) fn listen_at(written: &str) -> Result<ListenAt, String> {
    let hint =
        || "expected an address of this host, such as 127.0.0.1, localhost:7000 or [::1]:7000".to_owned();
    let (host, port) = host_and_port(written).ok_or_else(hint)?;
    let port = port.map(|port| port.parse().map_err(|_| hint())).transpose()?;
    Ok(ListenAt { host: host.to_owned(), port })
}

/// Reads the address of a service of this host: `PORT` alone is on the loopback interface.
pub(crate) fn local_service(written: &str) -> Result<ListenAt, String> {
    let hint = || "expected PORT or ADDRESS:PORT, such as 9464 or 192.0.2.1:9464".to_owned();
    if let Ok(port) = written.parse() {
        return Ok(ListenAt { host: "127.0.0.1".to_owned(), port: Some(port) });
    }
    listen_at(written).ok().filter(|at| at.port.is_some()).ok_or_else(hint)
}

/// Reads a [`Target`]: `host`, `host:port`, `[v6]`, `[v6]:port` or a bare IPv6 address.
pub(crate) fn target(written: &str) -> Result<Target, String> {
    let hint =
        || "expected HOST or HOST:PORT, such as 192.0.2.1:6511, example.org or [2001:db8::1]:6511".to_owned();
    let (host, port) = host_and_port(written).ok_or_else(hint)?;
    let port = match port {
        None => DEFAULT_PORT,
        Some(text) => text.parse().ok().filter(|p| *p != 0).ok_or_else(hint)?,
    };
    Ok(Target { host: host.to_owned(), port })
}

/// Reads the fingerprint of a key, as far as it can be seen without cryptography.
pub(crate) fn fingerprint(written: &str) -> Result<String, String> {
    let letters = written.strip_prefix("SHA256:").unwrap_or_default();
    let is_one =
        letters.len() == 43 && letters.bytes().all(|c| c.is_ascii_alphanumeric() || b"+/".contains(&c));
    let hint = || "expected SHA256: and 43 letters, as `tfrc recv --quic` prints it".to_owned();
    is_one.then(|| written.to_owned()).ok_or_else(hint)
}

/// Reads the address of another program's UDP port: a [`Target`] with its port.
pub(crate) fn udp_target(written: &str) -> Result<Target, String> {
    let hint = || "expected HOST:PORT, such as 127.0.0.1:5001 or [::1]:5001".to_owned();
    let (host, port) = host_and_port(written).ok_or_else(hint)?;
    let port = port.and_then(|port| port.parse().ok()).filter(|port| *port != 0).ok_or_else(hint)?;
    Ok(Target { host: host.to_owned(), port })
}

/// Takes a host and the text of its port apart; `None` if it is not written so.
fn host_and_port(written: &str) -> Option<(&str, Option<&str>)> {
    let (host, port) = if let Some(rest) = written.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
    } else if written.matches(':').count() > 1 {
        (written, None)
    } else {
        written.split_once(':').map_or((written, None), |(host, port)| (host, Some(port)))
    };
    (!host.is_empty() && !host.contains(char::is_whitespace)).then_some((host, port))
}

/// A DCCP service code (RFC 4340 §8.1.2): `SC:text`, `SC=decimal`, `SC=xhex`, or the text or
/// decimal number alone.
pub(crate) fn service_code(written: &str) -> Result<u32, String> {
    let hint = || {
        "expected a service code, such as SC:fdpz (up to four ASCII characters), SC=1717858426 or 42"
            .to_owned()
    };
    if let Some(number) = written.strip_prefix("SC=") {
        let parsed = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return parsed.map_err(|_| hint());
    }
    let (text, bare) = written.strip_prefix("SC:").map_or((written, true), |text| (text, false));
    if bare && let Ok(number) = text.parse() {
        return Ok(number);
    }
    if text.is_empty() || text.len() > 4 || !text.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(hint());
    }
    // Shorter texts are filled with spaces on the right.
    Ok(text.bytes().chain(std::iter::repeat(b' ')).take(4).fold(0, |code, b| (code << 8) | u32::from(b)))
}

/// Reads a [`Dscp`] by name or number.
pub(crate) fn dscp(written: &str) -> Result<Dscp, String> {
    written.parse().map_err(|error: tfrc_units::NotADscp| error.to_string())
}

/// The threshold of a guarantee, above 1.
pub(crate) fn threshold(written: &str) -> Result<f64, String> {
    match f64::from_str(written) {
        Ok(y) if y > 1.0 && y.is_finite() => Ok(y),
        _ => {
            Err("expected a number above 1, such as 2: the flow gives way below half of the guarantee"
                .to_owned())
        }
    }
}

/// Reads one of a few names. Completions, help and mistakes show all of them.
pub(crate) fn one_of<T, const N: usize>(named: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(named.map(|(name, _)| name)).try_map(move |written| {
        let found = named.iter().find(|(name, _)| *name == written);
        found.map(|(_, value)| *value).ok_or("is not one of the names")
    })
}

/// Names of [`Variant`].
pub(crate) const VARIANTS: [(&str, Variant); 2] = [("tfrc", Variant::Tfrc), ("tfrc-sp", Variant::TfrcSp)];

/// Names of [`PromiseStart`].
pub(crate) const PROMISE_STARTS: [(&str, PromiseStart); 2] =
    [("first-rtt", PromiseStart::FirstRtt), ("first-loss-report", PromiseStart::FirstLossReport)];

/// Names of [`CircuitBreaker`].
pub(crate) const BREAKERS: [(&str, CircuitBreaker); 3] = [
    ("with-guarantee", CircuitBreaker::WithGuarantee),
    ("always", CircuitBreaker::Always),
    ("off", CircuitBreaker::Off),
];

/// Names of [`SkippedNumbers`].
pub(crate) const OPTIMISTIC_ACKS: [(&str, SkippedNumbers); 2] =
    [("find-out", SkippedNumbers::Usual), ("trust", SkippedNumbers::Never)];

/// Names of [`Profile`].
pub(crate) const PROFILES: [(&str, Profile); 2] =
    [("rfc5348", Profile::Rfc5348), ("balanced", Profile::Balanced)];

/// Names of [`Friend`].
pub(crate) const FRIENDS: [(&str, Friend); 2] = [("reno", Friend::Reno), ("cubic", Friend::Cubic)];

/// Reads a [`Revision`] by its name.
pub(crate) fn revision(written: &str) -> Result<Revision, String> {
    match Revision::from_name(written) {
        Some(revision @ (Revision::Rfc5348 | Revision::Rfc3448)) => Ok(revision),
        Some(_) => Err(format!("studies of {written} are run in the simulator: see tfrc sim")),
        None => Err("expected rfc5348 or rfc3448".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: &str, port: u16) -> Result<Target, String> {
        Ok(Target { host: host.to_owned(), port })
    }

    #[test]
    fn udp_targets_have_a_port() {
        let at = |host: &str, port| Ok(Target { host: host.to_owned(), port });
        assert_eq!(udp_target("127.0.0.1:5001"), at("127.0.0.1", 5001));
        assert_eq!(udp_target("[::1]:5001"), at("::1", 5001));
        for bad in ["", "5001", "host", "host:0", "host:70000", ":5001", "::1", "udp://host:5001"] {
            assert!(udp_target(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn targets() {
        assert_eq!(target("example.org"), at("example.org", 6511));
        assert_eq!(target("192.0.2.1:7000"), at("192.0.2.1", 7000));
        assert_eq!(target("::1"), at("::1", 6511));
        assert_eq!(target("[::1]"), at("::1", 6511));
        assert_eq!(target("[::1]:7000"), at("::1", 7000));
        for bad in
            ["", ":7000", "host:", "host:0", "host:70000", "host:x", "[::1", "[::1]7000", "a b", "[]:1"]
        {
            assert!(target(bad).is_err(), "{bad}");
        }
        for written in ["example.org:6511", "[::1]:7000"] {
            assert_eq!(target(written).map(|t| t.to_string()), Ok(written.to_owned()));
        }
    }

    #[test]
    fn places_of_rates() {
        assert_eq!(rate_place("3"), Ok(RatePlace::Descriptor(3)));
        for name in ["rate", "./3", "+3", "3x", "99999999999"] {
            assert_eq!(rate_place(name), Ok(RatePlace::File(PathBuf::from(name))));
        }
        assert!(["", "0", "1", "2"].iter().all(|bad| rate_place(bad).is_err()));
    }

    #[test]
    fn places_to_listen() {
        let at = |host: &str, port| Ok(ListenAt { host: host.to_owned(), port });
        assert_eq!(listen_at("localhost"), at("localhost", None));
        assert_eq!(listen_at("127.0.0.1:0"), at("127.0.0.1", Some(0)));
        assert_eq!(listen_at("::1"), at("::1", None));
        assert_eq!(listen_at("[::1]:7000"), at("::1", Some(7000)));
        assert_eq!(local_service("9464"), at("127.0.0.1", Some(9464)));
        assert_eq!(local_service("192.0.2.1:9464"), at("192.0.2.1", Some(9464)));
        for bad in ["", ":7000", "a:x", "a:70000", "a b"] {
            assert!(listen_at(bad).is_err() && local_service(bad).is_err(), "{bad}");
        }
        assert!(local_service("192.0.2.1").is_err());
    }

    #[test]
    fn service_codes() {
        assert_eq!(service_code("SC:fdpz"), Ok(1_717_858_426));
        assert_eq!(service_code("fdpz"), Ok(1_717_858_426));
        assert_eq!(service_code("SC=1717858426"), Ok(1_717_858_426));
        assert_eq!(service_code("SC=x6664707a"), Ok(1_717_858_426));
        assert_eq!(service_code("42"), Ok(42));
        assert_eq!(service_code("SC:42"), Ok(0x3432_2020));
        for bad in ["", "SC:", "SC=", "SC=x", "SC:abcde", "4294967296", "é", "SC:a\u{7}"] {
            assert!(service_code(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn named_values() {
        let command = clap::Command::new("x");
        let parse = |written: &str| {
            let parser = one_of(VARIANTS);
            parser.parse_ref(&command, None, written.as_ref()).map_err(|error| error.to_string())
        };
        assert_eq!((parse("tfrc"), parse("tfrc-sp")), (Ok(Variant::Tfrc), Ok(Variant::TfrcSp)));
        assert!(parse("sp").is_err_and(|e| e.contains("tfrc-sp")), "a mistake shows the names");
        for (name, variant) in VARIANTS {
            assert_eq!(variant.to_string(), name);
        }
    }

    #[test]
    fn what_comes_with_a_guarantee() {
        assert_eq!(dscp("af11").map(Dscp::number), Ok(10));
        assert!(dscp("af14").is_err_and(|e| e.contains("expected af11")));
        assert_eq!(threshold("1.5"), Ok(1.5));
        for bad in ["1", "nan", "inf", "two"] {
            assert!(threshold(bad).is_err_and(|e| e.contains("above 1")), "{bad}");
        }
    }

    #[test]
    fn limits_and_networks() {
        assert_eq!(time_or_off("off"), Ok(Limit::Off));
        assert_eq!(time_or_off("30s"), Ok(Limit::After(Duration::from_secs(30))));
        assert!(time_or_off("0s").is_err_and(|e| e.contains("or off")));
        for good in ["192.0.2.7", "192.0.2.0/24", "2001:db8::/32", "::1"] {
            assert!(prefix(good).is_ok(), "{good}");
        }
        assert_eq!(allowed("any"), Ok(AllowedPeers::Any));
        assert!(matches!(allowed("192.0.2.0/24"), Ok(AllowedPeers::Network(_))));
        assert!(allowed("host").is_err_and(|e| e.ends_with("or any")));
        for bad in ["", "host", "192.0.2.0/33", "2001:db8::/129", "1.2.3.4/x"] {
            assert!(prefix(bad).is_err_and(|e| e.contains("expected an address")), "{bad}");
        }
    }

    #[test]
    fn revisions() {
        assert_eq!(
            (revision("rfc3448"), revision("rfc5348")),
            (Ok(Revision::Rfc3448), Ok(Revision::Rfc5348))
        );
        assert!(
            revision("rfc9999").is_err_and(|e| ["rfc5348", "rfc3448"].iter().all(|name| e.contains(name)))
        );
        assert!(revision("ns2").is_err_and(|e| e.contains("in the simulator")));
    }

    #[test]
    fn zero_is_refused_with_what_would_be_right() {
        for error in [
            positive_rate("0").map(|_| ()),
            positive_time("0ms").map(|_| ()),
            positive_size("0").map(|_| ()),
            loss_event_rate("0%").map(|_| ()),
            packets_per_second("0").map(|_| ()),
        ] {
            assert!(error.is_err_and(|e| e.contains("expected")));
        }
        assert_eq!(packet_size("1316B"), Ok(1316));
        assert_eq!(packet_size("64487B"), Ok(64_487));
        assert!(packet_size("64488B").is_err());
        assert!(packet_size("0").is_err());
        assert_eq!(packets_per_second("33.3"), Ok(33.3));
        for bad in ["nan", "inf", "-1", "1e10", "ten"] {
            assert!(packets_per_second(bad).is_err(), "{bad}");
        }
    }
}
