//! Connections that hardly come to be.

use crate::network::{Place, session_over};

/// Three seeds: each loses other packets of the handshake, of the transfer and of the end.
#[test]
fn a_connection_comes_to_be_and_ends_over_a_path_that_loses_three_in_ten_both_ways() {
    for seed in [1, 2, 3] {
        let place = Place::new();
        let path = place.write(
            "bad.toml",
            format!(
                "duration = \"60s\"\nseed = {seed}\nnodes = [\"near\", \"far\"]\n\n[[link]]\nfrom = \"near\"\nto = \"far\"\n\
                 rate = \"10Mbit/s\"\ndelay = \"5ms\"\nloss = \"30%\"\nreverse = {{ loss = \"30%\" }}\n"
            ),
        );
        let (session, there, back) = session_over(path.as_ref(), &[], &["-n", "26320"]);
        assert_eq!(session.sent(), 20, "seed={seed}");
        assert!(there.dropped > 0 && back.arrived > 0, "seed={seed}: {there:?} {back:?}");
        assert!(session.lost() <= there.dropped, "seed={seed}: {session:?} {there:?}");
    }
}
