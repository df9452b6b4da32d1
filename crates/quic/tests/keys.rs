//! Keys: files, fingerprints, and who is let in.

use std::fs;

use tfrc_quic::{ConnectError, Fingerprint, Key, KeyError, RefusalReason};

use crate::support::{connect, key, listen, receiver, sender};

#[cfg(unix)]
#[test]
fn a_key_is_made_once_and_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("tfrc/key");
    let made = Key::load_or_make(&path).expect("made");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert!(made.is_new && mode(&path) == 0o600 && mode(&place.path().join("tfrc")) == 0o700);
    let again = Key::load_or_make(&path).expect("read");
    assert!(!again.is_new && again.key.fingerprint() == made.key.fingerprint());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("ours");
    assert!(matches!(Key::load_or_make(&path), Err(KeyError::Open { mode: 0o640, .. })));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");
    let text = fs::read_to_string(&path).expect("text");
    for other in [String::new(), text.replace("PRIVATE", "PUBLIC"), text.replacen("MF", "MG", 1)] {
        fs::write(&path, other).expect("ours");
        assert!(matches!(Key::load_or_make(&path), Err(KeyError::Content { .. })));
    }
    // As editors and other programs leave it.
    for same in [
        text.replace('\n', "\r\n"),
        text.trim_end().to_owned(),
        format!("\u{feff}{text}"),
        format!("# of this host\n{text}\n# the end\n"),
    ] {
        fs::write(&path, same).expect("ours");
        let read = Key::load_or_make(&path).expect("read");
        assert!(!read.is_new && read.key.fingerprint() == made.key.fingerprint());
    }
    let renewed = Key::renew(&path).expect("written");
    assert!(renewed.fingerprint() != made.key.fingerprint() && mode(&path) == 0o600);
    let read = Key::load(&path).expect("read").expect("there");
    assert_eq!(read.key.fingerprint(), renewed.fingerprint());
}

#[test]
fn fingerprints_are_read_as_they_are_written() {
    let fingerprint = key().fingerprint();
    let text = fingerprint.to_string();
    assert_eq!((text.len(), text.parse()), (50, Ok(fingerprint)));
    assert_ne!(key().fingerprint(), fingerprint);
    for other in
        ["", "SHA256:", "MD5:abcd", &text[..49], &format!("{text}A"), &text.replace("SHA256", "sha256")]
    {
        assert!(other.parse::<Fingerprint>().is_err(), "{other}");
    }
}

#[tokio::test]
async fn another_key_is_refused() {
    let (there, expected) = (key(), key().fingerprint());
    let endpoint = listen(&receiver(1), &there, &[]);
    let refused = connect(endpoint.local_addr(), &sender(), &key(), expected).await;
    let error = refused.map(|_| ()).expect_err("the key is another");
    assert_eq!(error, ConnectError::OtherKey(there.fingerprint()));
    // The server can serve others.
    let connected = connect(endpoint.local_addr(), &sender(), &key(), there.fingerprint()).await;
    assert!(connected.is_ok());
}

#[tokio::test]
async fn a_stranger_is_not_let_in() {
    let (there, friend, stranger) = (key(), key(), key());
    let endpoint = listen(&receiver(1), &there, &[key().fingerprint(), friend.fingerprint()]);
    let at = endpoint.local_addr();
    let refused = connect(at, &sender(), &stranger, there.fingerprint()).await;
    assert_eq!(refused.err(), Some(ConnectError::NotAllowed(stranger.fingerprint())));
    let refusals = endpoint.take_refusals();
    let reasons: Vec<RefusalReason> = refusals.iter().map(|refusal| refusal.reason).collect();
    assert_eq!(reasons, [RefusalReason::Key(stranger.fingerprint())]);
    assert!(connect(at, &sender(), &friend, there.fingerprint()).await.is_ok());
    assert_eq!(endpoint.stats().strangers.refused, 1);
}

#[tokio::test]
async fn one_at_a_time() {
    let there = key();
    let endpoint = listen(&receiver(1), &there, &[]);
    let at = endpoint.local_addr();
    let (_one, first) = connect(at, &sender(), &key(), there.fingerprint()).await.expect("free");
    let second = connect(at, &sender(), &key(), there.fingerprint()).await;
    assert_eq!(second.err(), Some(ConnectError::Busy));
    // Its place is free when the application has dropped its handle.
    drop(first);
    drop(endpoint.accept().await);
    assert!(connect(at, &sender(), &key(), there.fingerprint()).await.is_ok());
}
