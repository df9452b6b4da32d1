//! Measured rate and loss event rate over the fixed point, by seed.
use tfrc_lab::scenario::Scenario;
use tfrc_sim::Seed;
fn main() {
    let secs: f64 = std::env::args().nth(1).map_or(4000.0, |s| s.parse().unwrap());
    for (p, l) in [(0.01, 11.995), (0.05, 4.349), (0.10, 2.271)] {
        let text = format!("duration = \"{}s\"\nwarmup = \"100s\"\nnodes = [\"a\", \"b\"]\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Gbit/s\"\ndelay = \"50ms\"\nloss = {p}\n[[flow]]\nkind = \"tfrc\"\nfrom = \"a\"\nto = \"b\"\n", secs + 100.0);
        let mut scenario = Scenario::parse("x", &text).unwrap();
        let p_e = p / (1.0 + p * l);
        let mut sum = (0.0, 0.0, 0.0);
        for seed in 1..=10 {
            scenario.seed = Seed(seed);
            let o = tfrc_lab::run(&scenario);
            let f = &o.flows[0];
            let r = (f.send_rate_bps / 8.0 / 1460.0 * 0.1 / l, f.loss_event_rate / p_e, f.packet_loss_rate / p);
            sum = (sum.0 + r.0 / 10.0, sum.1 + r.1 / 10.0, sum.2 + r.2 / 10.0);
            println!("p={p} seed={seed} rate {:.4} events {:.4} loss {:.4} rtt {:?} cov {:?}", r.0, r.1, r.2, f.rtt_s, f.cov);
        }
        println!("p={p} MEAN rate {:.4} events {:.4} loss {:.4}", sum.0, sum.1, sum.2);
    }
    for s in ["bottleneck", "halving"] {
        let scenario = Scenario::load(format!("scenarios/{s}.toml").as_ref()).unwrap();
        println!("{:#?}", tfrc_lab::run(&scenario));
    }
}
