//! Data, counts, and the end of a session.

use tfrc_dccp::wire::ResetCode;
use tfrc_net::{Cause, ClosedBy, LatePolicy, SendError, UNCONFIRMED};
use tfrc_quic::Connection;
use tfrc_units::Duration;

use crate::support::{Pair, connect, key, listen, reverse};

/// Everything until the end, in the order of arrival.
async fn rest(connection: &Connection) -> Vec<(u64, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(datagram) = connection.recv().await {
        all.push((datagram.data_index, datagram.bytes));
    }
    all
}

async fn send(connection: &Connection, datagrams: u32) {
    for n in 0..datagrams {
        connection.send(n.to_be_bytes().repeat(50)).await.expect("open");
    }
}

#[tokio::test]
async fn data_arrives_and_both_ends_know_the_counts() {
    let Pair { sender, receiver, .. } = Pair::new().await;
    assert_eq!(sender.peer_greeting().as_deref(), Some("receives"));
    assert_eq!(receiver.peer_greeting().as_deref(), Some("sends"));
    sender.set_closing_text("unfinished");
    let sending = async {
        send(&sender, 500).await;
        sender.close().await
    };
    let receiving = async {
        let all = rest(&receiver).await;
        assert_eq!(receiver.peer_closing_text().as_deref(), Some("unfinished"));
        (all, receiver.accept_close("received 500").await)
    };
    let (closed, (mut all, accepted)) = tokio::join!(sending, receiving);
    let (closed, accepted) = (closed.expect("ended"), accepted.expect("ended"));
    assert_eq!((closed.by, closed.cause, closed.code), (ClosedBy::Us, Cause::Agreed, ResetCode::Closed));
    assert_eq!(closed.text.as_deref(), Some("received 500"));
    assert_eq!((accepted.by, accepted.cause), (ClosedBy::Peer, Cause::Agreed));
    assert_eq!(accepted.peer_sent_data_packets, 500);
    let (sent, got) = (sender.status(), receiver.status());
    assert_eq!((sent.stats.sent_data_packets, sent.stats.sent_data_bytes), (500, 100_000));
    assert_eq!(got.stats.received_data_packets, u64::try_from(all.len()).expect("small"));
    assert_eq!((got.peer_sent_packets, got.receiving.is_some(), got.sending), (500, true, None));
    assert!(sent.rtt.is_some() && sent.allowed_rate > tfrc_units::Rate::ZERO);
    // Loopback may drop, and says how much.
    all.sort();
    all.windows(2).for_each(|two| assert!(two[0].0 < two[1].0, "no number twice"));
    for (number, bytes) in all {
        assert_eq!(bytes, u32::try_from(number).expect("small").to_be_bytes().repeat(50));
    }
    assert_eq!(sender.send(vec![1]).await, Err(SendError::Closed));
}

#[tokio::test]
async fn a_sender_that_listens_has_the_rate() {
    let [sends, receives] = reverse();
    let there = key();
    let listening = listen(&sends, &there, &[]);
    let at = listening.local_addr();
    let (_calling, receiver) =
        connect(at, &receives, &key(), there.fingerprint()).await.expect("the key is right");
    let sender = listening.accept().await.expect("open");
    let sending = async {
        send(&sender, 100).await;
        sender.close().await
    };
    let receiving = async {
        let all = rest(&receiver).await;
        receiver.accept_close("").await;
        all.len()
    };
    let (closed, arrived) = tokio::join!(sending, receiving);
    assert_eq!(closed.map(|closed| (closed.by, closed.text)), Some((ClosedBy::Us, None)));
    assert!((1..=100).contains(&arrived));
    let status = sender.status();
    assert!(status.rtt.is_some() && status.stats.received_feedback > 0 && status.sending.is_some());
}

#[tokio::test]
async fn a_receiver_may_end_it() {
    let Pair { sender, receiver, .. } = Pair::new().await;
    send(&sender, 10).await;
    let asking = receiver.request_close("disk full");
    let sending = async {
        assert!(sender.recv().await.is_none());
        assert_eq!(sender.send(vec![0]).await, Err(SendError::Closed));
        sender.accept_close("").await
    };
    let (asked, closed) = tokio::join!(asking, sending);
    assert_eq!(asked.map(|closed| (closed.by, closed.cause)), Some((ClosedBy::Us, Cause::Agreed)));
    let closed = closed.expect("ended");
    assert_eq!((closed.by, closed.text.as_deref()), (ClosedBy::Peer, Some("disk full")));
    // What was on its way counts as sent at both ends.
    assert_eq!(receiver.status().peer_sent_packets, sender.status().stats.sent_data_packets);
}

/// Time moves while both ends wait.
#[tokio::test(start_paused = true)]
async fn an_application_that_does_not_answer_confirms_nothing() {
    let Pair { sender, receiver, .. } = Pair::new().await;
    send(&sender, 10).await;
    let closed = sender.close().await.expect("answered");
    assert_eq!((closed.by, closed.text.as_deref()), (ClosedBy::Us, Some(UNCONFIRMED)));
    // It can still read, and answers in vain.
    assert_eq!(rest(&receiver).await.len(), 10);
    assert!(receiver.accept_close("received 10").await.is_some_and(|closed| closed.cause == Cause::Agreed));
}

#[tokio::test]
async fn a_peer_that_goes_is_noticed() {
    let Pair { sender, receiver, .. } = Pair::new().await;
    drop(sender);
    assert!(receiver.recv().await.is_none());
    let closed = receiver.accept_close("").await.expect("over");
    assert_eq!(
        (closed.by, closed.code, closed.cause),
        (ClosedBy::PeerReset, ResetCode::Aborted, Cause::PeerReset)
    );
}

#[tokio::test]
async fn late_data_is_dropped_and_counted() {
    let Pair { sender, receiver, .. } = Pair::new().await;
    sender.set_late_policy(LatePolicy::DropAfter(Duration::ZERO));
    let sending = async {
        // A full queue does not hold the application up.
        send(&sender, 5000).await;
        sender.close().await
    };
    let receiving = async {
        let all = rest(&receiver).await;
        receiver.accept_close("").await;
        all.len()
    };
    let (_, arrived) = tokio::join!(sending, receiving);
    let status = sender.status();
    assert_eq!(status.stats.sent_data_packets + status.late_dropped, 5000);
    assert!(
        status.late_dropped > 0 && u64::try_from(arrived).expect("small") <= status.stats.sent_data_packets
    );
}

#[tokio::test]
async fn an_end_at_once_discards_what_waits() {
    let slow = tfrc_net::options::Common { cap_bps: Some(80_000.0), ..crate::support::sender() };
    let Pair { sender, receiver, .. } = Pair::with(&crate::support::receiver(1), &slow).await;
    send(&sender, 50).await;
    let receiving = async {
        rest(&receiver).await;
        receiver.accept_close("").await
    };
    let (closed, accepted) = tokio::join!(sender.close_now(), receiving);
    assert_eq!(closed.map(|closed| closed.cause), Some(Cause::Agreed));
    let status = sender.status();
    assert_eq!(status.stats.sent_data_packets + status.unsent_packets, 50);
    assert_eq!(accepted.map(|closed| closed.peer_sent_data_packets), Some(status.stats.sent_data_packets));
}

#[tokio::test]
async fn a_datagram_of_more_than_a_packet_is_refused() {
    let Pair { sender, .. } = Pair::new().await;
    let limit = sender.max_datagram();
    assert!((1100..1500).contains(&limit), "{limit}");
    let length = 1500;
    assert!(matches!(sender.send(vec![0; length]).await, Err(SendError::TooLong { .. })));
}
