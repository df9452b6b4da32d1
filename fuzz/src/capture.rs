//! Capture files and qlogs: no bytes break the readers or the analysis, whose figures are numbers.

use tfrc_capture::document::{QuicConnection, Rates};
use tfrc_capture::{Options, Recording, native, read, text};

/// Reads the bytes as a capture; those that do not begin as one follow the head of a pcap file of
/// raw IP packets.
pub fn check(data: &[u8]) {
    let options = Options { lost: Some([2, 5].into()), ..Options::default() };
    let recording = read(data, &options).or_else(|_| {
        const HEAD: [u8; 24] =
            [0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 101, 0, 0, 0];
        read([&HEAD, data].concat().as_slice(), &options)
    });
    let Ok(recording) = recording else { return };
    assert!(!text::text(&recording).is_empty());
    figures(&recording);
    let _ = native(data, &options, |_, packet| {
        assert!(packet.len() >= 20, "an IP packet has a header");
        Ok(())
    });
}

fn figures(recording: &Recording) {
    let of_connections: u64 = recording.connections.iter().map(|connection| connection.packets).sum();
    let others: u64 = recording.other.values().sum();
    let is_qlog = recording.format.starts_with("qlog");
    assert!(is_qlog || of_connections + recording.left_out + others <= recording.packets);
    for connection in &recording.quic {
        let QuicConnection { sent, received, spurious, lost, .. } = connection;
        assert!(sent + received <= recording.packets && spurious <= lost, "{connection:?}");
        let seconds = [connection.smoothed_s, connection.latest_s, connection.least_s];
        assert!(seconds.iter().flatten().all(|s| s.is_finite() && *s >= 0.0), "{connection:?}");
        assert!(connection.inverse_p.is_none_or(|n| n.is_finite() && n >= 1.0), "{connection:?}");
        stretches(&connection.rates);
    }
    for flow in &recording.rtp {
        assert!(flow.lost.is_none_or(|lost| lost <= flow.reported), "{flow:?}");
        for row in &flow.series {
            let delays = [row.queueing_s, row.answered_s];
            assert!(row.sent_bps.is_finite() && delays.iter().flatten().all(|s| s.is_finite() && *s >= 0.0));
        }
    }
    for direction in recording.connections.iter().flat_map(|connection| &connection.directions) {
        for report in &direction.reports.series {
            let all = [
                report.inverse_p,
                report.inverse_p_rfc5348,
                report.inverse_p_discounted,
                report.inverse_p_linux,
            ];
            assert!(
                all.into_iter().flatten().all(|packets| packets.is_finite() && packets >= 1.0),
                "{report:?}"
            );
        }
        stretches(&direction.rates);
    }
}

fn stretches(rates: &Rates) {
    for stretch in &rates.series {
        assert!(stretch.allowed_bps.is_finite() && stretch.sent_bps.is_finite(), "{stretch:?}");
    }
}
