//! The file of known hosts.

use std::fs;

use tfrc_session::{Key, KnownHosts, KnownHostsError, Remembered};

#[test]
fn known_hosts_are_kept_line_by_line() {
    let place = tempfile::tempdir().expect("a folder");
    let hosts = KnownHosts::at(place.path().join("a/known_hosts"));
    let [one, other] = [0; 2].map(|_| Key::temporary().expect("random numbers").fingerprint());
    assert_eq!(hosts.find("there:6511").expect("no file is fine"), None);
    assert_eq!(hosts.remember("There:6511", one).expect("written"), Remembered::Added);
    assert_eq!(hosts.remember("here:1", other).expect("written"), Remembered::Added);
    assert_eq!(hosts.remember("there:6511", one).expect("read"), Remembered::Before);
    let found = hosts.find("there:6511").expect("read").expect("known");
    assert_eq!((found.line, found.fingerprint), (1, one));
    assert!(matches!(hosts.remember("there:6511", other), Ok(Remembered::Replaced(old)) if old == found));
    let text = fs::read_to_string(hosts.path()).expect("text");
    assert_eq!(text, format!("there:6511 {other}\nhere:1 {other}\n"));
    fs::write(hosts.path(), format!("# mine\n\n{text}rubbish\n")).expect("ours");
    assert_eq!(hosts.find("here:1").expect("before the rubbish").map(|found| found.line), Some(4));
    assert!(matches!(hosts.find("new:1"), Err(KnownHostsError::Line { line: 5, .. })));
}
