//! scratch
mod path;
use path::{Application, run};
use tfrc::*;
use tfrc_units::Duration;

struct Lcg(u64);

impl Lcg {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn kbps(settings: Settings, drop: f64, seed: u64) -> f64 {
    let config = settings.validate().expect("sound");
    let application = Application { size: 14, every: Duration::from_millis(20) };
    let mut sent = 0;
    let mut random = Lcg(seed);
    for _ in 0..40 {
        let run = run(&config, application, Duration::from_millis(240), 100.0, |_| random.uniform() < drop);
        sent += run.sent_at.iter().filter(|at| at.as_secs_f64() >= 50.0).count();
    }
    sent as f64 / 40.0 * 46.0 * 8.0 / 50.0 / 1000.0
}

#[test]
fn scratch() {
    let sp = |s| Settings { packet_size: PacketSize::TfrcSp(s), ..Settings::for_revision(Revision::Ns2) };
    let old = TfrcSp { header: 32, ..TfrcSp::default() };
    for (name, s) in [("old", sp(old)), ("new", sp(TfrcSp::for_revision(Revision::Ns2))), ("plain", Settings::for_revision(Revision::Ns2))] {
        for drop in [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5] {
            println!("{name} {drop} {:.2}", kbps(s, drop, 1));
        }
    }
}
