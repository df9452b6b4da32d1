//! The points of all experiments: each is read, and an emulated side asks for what the kernel has.

use tfrc_lab::batch::Shard;
use tfrc_reproduce::{Prepared, Wanted, World, library};

/// Emulated runs of all experiments in the full form; identical ones count once: 486 of the matrix,
/// 35 of sigcomm2000 without Figure 6 but for 3 that Figures 9 and 10 share, 18 of Figure 6, 21 of
/// rhee-xu, 18 of grieco-mascolo, 6 of rfc4828, 6 of gtfrc; 3 of each of the 60, 77, 8, 6
/// and 40 rows of kernel, and of the 96 rows of modern/fairness-kernel; 10 of each of the 6 rows of
/// modern/fairness-minute.
const RUNS: usize = 486 + 35 + 3 + 18 + 21 + 18 + 6 + 6 + 3 * (60 + 77 + 8 + 6 + 40 + 96) + 10 * 6;

#[test]
fn every_emulated_side_is_read() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let experiments = library::load(&root, &["all".to_owned()]).expect("right");
    let sides = experiments.iter().filter(|one| one.has_emulated_side()).count();
    assert_eq!(sides, 21, "the experiments with an emulated side");
    let total = |quick| {
        let wanted = Wanted { quick, jobs: 1, world: World::Emu, shard: Shard::WHOLE };
        Prepared::new(&experiments, wanted).expect("each scenario fits the kernel").total()
    };
    assert_eq!(total(false), RUNS);
    assert!(total(true) < 60, "the quick form has {} runs", total(true));
}

/// Values of keys and profiles make scenarios that are right, in the full and in the quick form.
#[test]
fn every_simulated_point_is_read() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let experiments = library::load(&root, &["all".to_owned()]).expect("right");
    for quick in [false, true] {
        let wanted = Wanted { quick, jobs: 1, world: World::Sim, shard: Shard::WHOLE };
        let prepared = Prepared::new(&experiments, wanted).map_err(|wrong| format!("{wrong:?}"));
        assert!(prepared.expect("each scenario is right").total() > experiments.len());
    }
}
