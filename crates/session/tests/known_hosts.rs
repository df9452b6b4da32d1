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

/// A file as editors of other systems leave it, with comments behind the entries.
#[test]
fn known_hosts_of_other_editors_are_read_and_stay_as_they_are() {
    let place = tempfile::tempdir().expect("a folder");
    let hosts = KnownHosts::at(place.path().join("known_hosts"));
    let [one, other] = [0; 2].map(|_| Key::temporary().expect("random numbers").fingerprint());
    let text = format!("\u{feff}# mine\r\nThere:1 {one} # the old one\r\nhere:2 {one}\r\n");
    fs::write(hosts.path(), text).expect("ours");
    assert_eq!(hosts.find("there:1").expect("read").map(|found| found.line), Some(2));
    assert!(matches!(hosts.remember("there:1", other), Ok(Remembered::Replaced(_))));
    assert!(matches!(hosts.remember("here:2", other), Ok(Remembered::Replaced(_))));
    let text = fs::read_to_string(hosts.path()).expect("text");
    assert_eq!(text, format!("# mine\r\nthere:1 {other} # the old one\r\nhere:2 {other}\r\n"));
    assert_eq!(hosts.forget("THERE:1").expect("written").map(|found| found.line), Some(2));
    assert_eq!(hosts.forget("there:1").expect("read"), None);
    assert_eq!(fs::read_to_string(hosts.path()).expect("text"), format!("# mine\r\nhere:2 {other}\r\n"));
}

/// As many at once as come: none loses another one's line.
#[test]
fn ten_at_once_keep_ten_lines() {
    let place = tempfile::tempdir().expect("a folder");
    let hosts = KnownHosts::at(place.path().join("a/known_hosts"));
    let fingerprint = Key::temporary().expect("random numbers").fingerprint();
    for round in 0..10 {
        std::thread::scope(|scope| {
            for n in 0..10 {
                let hosts = &hosts;
                scope.spawn(move || {
                    hosts.remember(&format!("host{n}:{round}"), fingerprint).expect("written")
                });
            }
        });
        let text = fs::read_to_string(hosts.path()).expect("text");
        assert_eq!(text.lines().count(), 10 * (round + 1));
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_what_others_may_change_is_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = tempfile::tempdir().expect("a folder");
    let (real, link) = (place.path().join("dotfiles"), place.path().join("known_hosts"));
    symlink("dotfiles", &link).expect("a link");
    let hosts = KnownHosts::at(link.clone());
    let fingerprint = Key::temporary().expect("random numbers").fingerprint();
    assert_eq!(hosts.remember("there:1", fingerprint).expect("written"), Remembered::Added);
    assert_eq!(hosts.remember("here:1", fingerprint).expect("written"), Remembered::Added);
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert_eq!(fs::read_to_string(&real).expect("text").lines().count(), 2);
    assert!(!hosts.is_of_another().expect("read"));
    fs::set_permissions(&real, fs::Permissions::from_mode(0o666)).expect("ours");
    for refused in [hosts.find("there:1").map(|_| ()), hosts.remember("new:1", fingerprint).map(|_| ())] {
        assert!(refused.expect_err("open").to_string().contains("chmod go-w"));
    }
}
