//! How a session ended, in words for people: each cause and Reset Code has its sentence here.

use tfrc_units::Duration;

use crate::{Cause, Closed};

/// The sentence for an end that was not agreed on.
#[must_use]
pub fn why(closed: &Closed) -> String {
    match closed.cause {
        Cause::Agreed => "the peer ended the session".to_owned(),
        Cause::Application => "this end broke the connection off".to_owned(),
        Cause::CcidRefused(ccid) => {
            format!("the peer does not speak the congestion control that this end asks for: CCID {ccid}")
        }
        Cause::CloseUnanswered(waited) => {
            format!("the peer did not answer the close for {}", seconds(waited))
        }
        Cause::HandshakeIncomplete(waited) => format!("the peer did not answer for {}", seconds(waited)),
        Cause::NoData(waited) => format!("the sender sent nothing for {}; see --idle", seconds(waited)),
        Cause::OutOfStep(lasted) => {
            format!("the two ends disagreed about sequence numbers for {}", seconds(lasted))
        }
        Cause::PeerAbsent => "nobody listens there: the network reports the port unreachable".to_owned(),
        Cause::PeerReset => reset(closed.code.wire(), closed.text.as_deref()),
        Cause::Protocol => format!("the peer broke a rule of the protocol: {}", rule(closed.code.wire())),
        Cause::Rule(rule) => format!("the peer broke a rule of the protocol: {rule}"),
        Cause::Replaced => {
            "the peer had fallen silent, and a new connection from its address took its place".to_owned()
        }
        Cause::Silence(lasted) => format!("the peer was silent for {}", seconds(lasted)),
        _ => "the connection broke off".to_owned(),
    }
}

/// The sentence for a Reset of the peer, by its code (RFC 4340 §5.6, RFC 6773 §3.8, RFC 9897), with
/// the peer's own text.
fn reset(code: u8, text: Option<&str>) -> String {
    let sentence = match code {
        1 => "the peer ended the session without being asked",
        2 => "the peer gave the session up",
        3 => "the peer knows nothing of this session: it was restarted, or a translator changed the address",
        4 => "the peer received a packet that it did not expect",
        5 | 6 => "the peer cannot process an option of this end",
        7 => "the peer takes no connections: it refuses them",
        8 => "the peer serves another service code; see --service",
        9 => "the peer is busy with another connection",
        10 => "the peer does not recognise its own handshake: it took too long, or the address changed",
        11 => "the peer charges this end with ignoring congestion",
        12 => "the peer has another connection from this address and port",
        13 => "the peer broke off a connection of several paths, which this end does not speak",
        128.. => "the peer reset the connection for a reason of its congestion control",
        _ => "the peer broke the connection off and gave no reason",
    };
    text.map_or_else(|| sentence.to_owned(), |text| format!("{sentence} (it says \"{}\")", escaped(text)))
}

/// The rule of RFC 4340 that a peer broke, by the code of our Reset.
fn rule(code: u8) -> &'static str {
    match code {
        4 => "a packet of a type that does not belong here",
        5 => "an option that makes no sense",
        6 => "an option that this end must process and cannot",
        8 => "another service code",
        10 => "a wrong cookie",
        11 => "it acknowledges what was never sent",
        _ => "a packet that does not belong here",
    }
}

/// The peer's text with nothing in it that moves a terminal. The `dccp` crate has escaped it where
/// it entered already; this guards against a change there.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // It ends the quotation.
            '"' => out.push('\''),
            // Letters and signs of any language; no control, format or invisible characters.
            c if c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric() => out.push(c),
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// A time as people say it: whole seconds from 10 s on.
fn seconds(time: Duration) -> String {
    let time = time.as_secs_f64();
    if time >= 9.95 { format!("{time:.0} s") } else { format!("{time:.1} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reset_code_has_a_sentence_of_its_own_kind() {
        for code in 0..=255 {
            let sentence = reset(code, None);
            assert!(sentence.starts_with("the peer "), "{code}: {sentence}");
            assert!(!sentence.contains("Error") && sentence.is_ascii(), "{code}: {sentence}");
            assert!(sentence.contains(' ') && !sentence.ends_with('.'), "{code}: {sentence}");
            assert!(!rule(code).is_empty());
        }
        assert!(reset(9, None).contains("busy") && reset(8, None).contains("--service"));
        assert!(reset(13, None).contains("several paths"));
    }

    #[test]
    fn texts_of_the_peer_do_not_move_a_terminal() {
        let evil = "\u{1b}]0;x\u{7}\u{1b}[2J\r\nerror: disk erased \u{202e}\u{9b}31m \"ok\" grün";
        let said = reset(2, Some(evil));
        assert!(said.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{said:?}");
        assert!(said.contains("'ok' grün") && said.contains("\\u{1b}[2J"), "{said}");
    }

    #[test]
    fn times_read_well() {
        assert_eq!(seconds(Duration::from_secs(60)), "60 s");
        assert_eq!(seconds(Duration::from_millis(3000)), "3.0 s");
    }
}
