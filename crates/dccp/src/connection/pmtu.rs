//! The path MTU (RFC 4340 §14, RFC 6773 §3.7), found and watched as in RFC 8899.
//!
//! It begins with the longest packet configured, and comes down when
//! * the system or a believable ICMP message says so (one below 1200 bytes holds while packets as
//!   long as before are probed), or
//! * a black hole shows: long packets go unacknowledged, and then padded Syncs of their length do,
//!   while short Syncs sent right after them are answered. A path that is dead altogether says
//!   nothing about lengths.
//!
//! From there padded Syncs search upwards, and again every ten minutes. Lengths are those of DCCP
//! packets: without IP and UDP.

use alloc::boxed::Box;

use tfrc_units::{Duration, Instant, SeqNo48};

/// Method of path MTU discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathMtuDiscovery {
    /// None: only reports of the host count.
    Host,
    /// Black holes are detected and lengths searched for by probing.
    Probe,
}

/// Passes on practically every path (BASE_PLPMTU of RFC 8899 §5.1.2); reports below it are not
/// accepted unchecked.
const BASE: usize = 1200;
/// Bytes that IPv4 must carry, less the longest usual headers: used when not even the base passes.
const FLOOR: usize = 548;
/// MAX_PROBES of RFC 8899 §5.1.2.
const MAX_PROBES: u8 = 3;
/// A probe is taken for lost after this or four round-trip times, whichever is longer (PROBE_TIMER:
/// never below a second).
const PROBE_WAIT: Duration = Duration::from_secs(1);
/// While nothing at all is answered, probes come less and less often, up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(64);
/// PMTU_RAISE_TIMER.
const RAISE_WAIT: Duration = Duration::from_secs(600);
/// Long packets without an acknowledgement that raise a suspicion.
const SUSPICIOUS: u8 = 3;
/// The search ends within this many bytes.
const NEAR_ENOUGH: usize = 4;

/// State of the search for the longest packet that the path carries.
#[derive(Debug, Clone)]
pub(super) struct PathMtu {
    discovery: PathMtuDiscovery,
    /// The upper bound, bytes.
    limit: usize,
    current: usize,
    /// The least length, bytes, that does not pass or must not be tried.
    too_long: usize,
    probe: Option<Box<Probe>>,
    /// When to search upwards.
    raise_at: Option<Instant>,
    /// Until then a report below the base does not hold: one was wrong.
    doubted_until: Instant,
    /// Long datagrams since one was last acknowledged, and since when.
    unconfirmed: u8,
    since: Option<Instant>,
    /// The start of the newest run of long packets, and of the one before it.
    run: Option<SeqNo48>,
    earlier_run: Option<(SeqNo48, SeqNo48)>,
}

/// A padded Sync and the short one after it.
#[derive(Debug, Clone)]
struct Probe {
    length: usize,
    purpose: Purpose,
    long: Option<SeqNo48>,
    short: Option<SeqNo48>,
    short_answered: bool,
    failures: u8,
    /// The end of this attempt.
    until: Instant,
    wait: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Tests a report below the base, which holds meanwhile: if packets of the length in use before
    /// it pass, it is wrong.
    Check,
    /// Tests if packets of the length in use still pass.
    Confirm,
    /// Tests if longer packets would pass.
    Raise,
}

/// A Sync that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbePacket {
    /// Padded to this length.
    Long(usize),
    Short,
}

impl PathMtu {
    pub(super) const fn new(discovery: PathMtuDiscovery, limit: usize) -> Self {
        Self {
            discovery,
            limit,
            current: limit,
            too_long: limit.saturating_add(1),
            probe: None,
            raise_at: None,
            doubted_until: Instant::ZERO,
            unconfirmed: 0,
            since: None,
            run: None,
            earlier_run: None,
        }
    }

    /// The longest packet to send.
    pub(super) const fn current(&self) -> usize {
        self.current
    }

    fn base(&self) -> usize {
        BASE.min(self.limit)
    }

    /// Records a packet that was sent.
    pub(super) fn on_sent(&mut self, now: Instant, seq: SeqNo48, length: usize, datagram: bool) {
        if length <= self.base() || !datagram {
            if let Some(start) = self.run.take() {
                self.earlier_run = Some((start, seq));
            }
            return;
        }
        self.run.get_or_insert(seq);
        self.unconfirmed = self.unconfirmed.saturating_add(1);
        self.since.get_or_insert(now);
    }

    /// A packet is acknowledged.
    pub(super) fn on_acknowledged(&mut self, seq: SeqNo48) {
        let long = self.run.is_some_and(|start| seq.is_at_or_after(start))
            || self.earlier_run.is_some_and(|(start, end)| seq.is_at_or_after(start) && end.is_after(seq));
        if long {
            self.confirmed();
        }
    }

    /// Packets of the length in use arrive.
    fn confirmed(&mut self) {
        (self.unconfirmed, self.since) = (0, None);
        if self.purpose() == Some(Purpose::Confirm) {
            self.probe = None;
        }
    }

    /// A Sync is answered.
    pub(super) fn on_sync_ack(&mut self, now: Instant, ack: SeqNo48) {
        let Some(probe) = &mut self.probe else { return };
        if probe.short == Some(ack) {
            probe.short_answered = true;
        }
        if probe.long != Some(ack) {
            return;
        }
        let length = probe.length;
        if probe.purpose == Purpose::Check {
            self.doubted_until = now + RAISE_WAIT;
        }
        self.probe = None;
        self.confirmed();
        self.current = length;
        self.search(now);
    }

    /// The host knows that the path takes packets of this length at most: an interface's MTU or an
    /// ICMP message. What is not below the current length is ignored; what is below the base holds
    /// while it is checked, and what is below the floor is only checked.
    pub(super) fn on_report(&mut self, now: Instant, length: usize) {
        if length >= self.current {
            return;
        }
        if length >= self.base() {
            self.lower(length);
            self.settle(now);
            return;
        }
        if length < FLOOR || now < self.doubted_until || !self.probes() {
            self.suspect(now);
        } else if self.purpose() == Some(Purpose::Check) {
            self.current = length;
        } else {
            let before = self.current;
            self.lower(length);
            self.begin(now, before, Purpose::Check);
        }
    }

    /// The system says what the route takes. Messages of the network are in that, and can be forged
    /// down to [`FLOOR`], but no further.
    pub(super) fn on_route(&mut self, now: Instant, length: usize) {
        if length < FLOOR && length < self.current {
            self.limit = length;
            self.lower(length);
            self.settle(now);
        } else {
            self.on_report(now, length);
        }
    }

    /// The current length is what the path carries, as far as is known for the next ten minutes.
    fn settle(&mut self, now: Instant) {
        self.too_long = self.current + 1;
        self.raise_at = self.probes().then_some(now + RAISE_WAIT);
    }

    fn purpose(&self) -> Option<Purpose> {
        self.probe.as_ref().map(|probe| probe.purpose)
    }

    /// Our own system does not take packets of this length.
    pub(super) fn on_refused(&mut self, now: Instant, length: usize) {
        let floor = FLOOR.min(self.limit);
        if length <= floor {
            return;
        }
        self.too_long = self.too_long.min(length);
        self.probe = None;
        if length <= self.current {
            self.lower(if length > self.base() { self.base() } else { floor });
        }
        self.search(now);
    }

    fn lower(&mut self, length: usize) {
        self.current = length;
        self.probe = None;
        self.confirmed();
        (self.run, self.earlier_run) = (None, None);
    }

    const fn probes(&self) -> bool {
        matches!(self.discovery, PathMtuDiscovery::Probe)
    }

    fn suspect(&mut self, now: Instant) {
        let asked = matches!(self.purpose(), Some(Purpose::Check | Purpose::Confirm));
        if self.probes() && !asked && self.current > FLOOR {
            self.begin(now, self.current, Purpose::Confirm);
        }
    }

    fn begin(&mut self, now: Instant, length: usize, purpose: Purpose) {
        self.probe = Some(Box::new(Probe {
            length,
            purpose,
            long: None,
            short: None,
            short_answered: false,
            failures: 0,
            until: now,
            wait: PROBE_WAIT,
        }));
    }

    /// Probes the next length above, or ends the search for now.
    fn search(&mut self, now: Instant) {
        let next = match self.too_long {
            _ if self.current >= self.limit => None,
            end if end > self.limit => Some(self.limit),
            end if end > self.current + NEAR_ENOUGH => Some(self.current + (end - self.current) / 2),
            _ => None,
        };
        self.raise_at = None;
        match next {
            Some(length) if self.probes() => self.begin(now, length, Purpose::Raise),
            _ if self.current < self.limit && self.probes() => self.raise_at = Some(now + RAISE_WAIT),
            _ => {}
        }
    }

    /// Handles an expired timer.
    pub(super) fn handle_timeout(&mut self, now: Instant, rtt: Duration) {
        if let Some(probe) = &mut self.probe {
            if probe.long.is_none() || now < probe.until {
                return;
            }
            (probe.long, probe.short) = (None, None);
            if !core::mem::take(&mut probe.short_answered) {
                probe.wait = (probe.wait * 2).min(LONGEST_WAIT);
                return;
            }
            probe.wait = PROBE_WAIT;
            probe.failures += 1;
            if probe.failures >= MAX_PROBES {
                let (length, purpose) = (probe.length, probe.purpose);
                self.failed(now, length, purpose);
            }
            return;
        }
        if self.check_at(rtt).is_some_and(|at| at <= now) {
            self.suspect(now);
        } else if self.raise_at.is_some_and(|at| at <= now) {
            self.too_long = self.limit.saturating_add(1);
            self.search(now);
        }
    }

    /// Packets of this length do not pass.
    fn failed(&mut self, now: Instant, length: usize, purpose: Purpose) {
        self.too_long = length;
        self.probe = None;
        match purpose {
            Purpose::Check => self.settle(now),
            Purpose::Raise => self.search(now),
            Purpose::Confirm if length > self.base() => {
                self.lower(self.base());
                self.begin(now, self.current, Purpose::Confirm);
            }
            Purpose::Confirm => {
                self.lower(FLOOR.min(self.limit));
                self.search(now);
            }
        }
    }

    /// When it must be checked whether long packets still pass.
    fn check_at(&self, rtt: Duration) -> Option<Instant> {
        let suspicious = self.probes() && self.unconfirmed >= SUSPICIOUS && self.current > self.base();
        self.since.filter(|_| suspicious).map(|since| since + (rtt * 8).max(PROBE_WAIT))
    }

    /// When [`PathMtu::handle_timeout`] wants to be called.
    pub(super) fn poll_timeout(&self, rtt: Duration) -> Option<Instant> {
        match &self.probe {
            Some(probe) => probe.long.map(|_| probe.until),
            None => self.check_at(rtt).into_iter().chain(self.raise_at).min(),
        }
    }

    /// The Sync that is due.
    pub(super) fn poll_probe(&self) -> Option<ProbePacket> {
        let probe = self.probe.as_ref()?;
        match (probe.long, probe.short) {
            (None, _) => Some(ProbePacket::Long(probe.length)),
            (Some(_), None) => Some(ProbePacket::Short),
            _ => None,
        }
    }

    /// Notes that the due Sync was sent.
    pub(super) fn on_probe_sent(&mut self, now: Instant, seq: SeqNo48, packet: ProbePacket, rtt: Duration) {
        let Some(probe) = &mut self.probe else { return };
        match packet {
            ProbePacket::Long(_) => {
                probe.long = Some(seq);
                probe.until = now + probe.wait.max(rtt * 4);
            }
            ProbePacket::Short => probe.short = Some(seq),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// A path that carries packets up to `passes`, or nothing, for `seconds`; the datagrams are as
    /// long as allowed.
    struct SizedPath {
        mtu: PathMtu,
        now: Instant,
        seq: u64,
        probes: u32,
    }

    impl SizedPath {
        fn new(limit: usize) -> Self {
            let mtu = PathMtu::new(PathMtuDiscovery::Probe, limit);
            Self { mtu, now: Instant::ZERO, seq: 0, probes: 0 }
        }

        fn next(&mut self) -> SeqNo48 {
            self.seq += 1;
            SeqNo48::new(self.seq)
        }

        /// Sends a packet each 100 ms, acknowledged at once if it passes.
        fn run(&mut self, seconds: u64, passes: usize) -> usize {
            for _ in 0..seconds * 10 {
                self.now += RTT;
                self.mtu.handle_timeout(self.now, RTT);
                while let Some(packet) = self.mtu.poll_probe() {
                    let seq = self.next();
                    self.mtu.on_probe_sent(self.now, seq, packet, RTT);
                    self.mtu.on_sent(self.now, seq, 50, false);
                    self.probes += 1;
                    let length = if let ProbePacket::Long(length) = packet { length } else { 50 };
                    if length <= passes {
                        self.mtu.on_sync_ack(self.now, seq);
                    }
                }
                let (seq, length) = (self.next(), self.mtu.current());
                self.mtu.on_sent(self.now, seq, length, true);
                if length <= passes {
                    self.mtu.on_acknowledged(seq);
                }
            }
            self.mtu.current()
        }
    }

    #[test]
    fn a_path_that_carries_everything_is_not_probed() {
        let mut path = SizedPath::new(1472);
        assert_eq!(path.run(2000, 1472), 1472);
        assert_eq!(path.probes, 0);
    }

    /// RFC 8899 §5.2, 5.3: paths of 1400 and 1280 bytes behind IPv4 and UDP, and of 1000.
    #[test]
    fn a_black_hole_is_found_and_its_length_too() {
        for passes in [1372, 1252, 972] {
            let mut path = SizedPath::new(1472);
            let found = path.run(120, passes);
            assert!((passes - NEAR_ENOUGH + 1..=passes).contains(&found), "{found} of {passes}");
            let before = path.probes;
            assert_eq!(path.run(300, passes), found);
            assert_eq!(path.probes, before, "it keeps still");
            assert_eq!(path.run(700, 1472), 1472, "the path is wider again");
        }
    }

    #[test]
    fn an_outage_says_nothing_about_lengths() {
        let mut path = SizedPath::new(1472);
        path.run(10, 1472);
        assert_eq!(path.run(120, 0), 1472);
        assert!((4..40).contains(&path.probes), "{} probes", path.probes);
        assert_eq!(path.run(60, 1472), 1472);
    }

    #[test]
    fn reports_are_believed_within_reason() {
        let mut path = SizedPath::new(1472);
        path.run(1, 1472);
        for lie in [0, 68, 547, 1472, 9000] {
            path.mtu.on_report(path.now, lie);
            assert_eq!(path.mtu.current(), 1472, "{lie}");
        }
        assert_eq!(path.run(60, 1472), 1472, "the lie was looked into");
        assert!((1..=2).contains(&path.probes), "{} probes", path.probes);
        path.mtu.on_report(path.now, 1199);
        path.mtu.on_report(path.now, 548);
        assert_eq!(path.mtu.current(), 548, "it holds while it is looked into");
        assert_eq!(path.run(1, 1472), 1472, "at once, as the probe is answered");
        path.mtu.on_report(path.now, 548);
        assert_eq!(path.mtu.current(), 1472, "not twice in ten minutes");
        path.run(601, 1472);
        path.mtu.on_report(path.now, 1372);
        assert_eq!(path.run(500, 1372), 1372);
        assert_eq!(path.run(200, 1472), 1472, "ten minutes later it is tried again");
    }

    /// RFC 4340 §14.1: a true report below the base costs no further datagram, and is accepted when
    /// longer packets have failed.
    #[test]
    fn a_true_report_below_the_base_holds() {
        let mut path = SizedPath::new(1472);
        path.run(1, 1472);
        path.mtu.on_report(path.now, 872);
        assert_eq!(path.run(300, 872), 872);
        assert!((4..=8).contains(&path.probes), "{} probes", path.probes);
        assert_eq!(path.run(500, 1472), 1472, "ten minutes later it is tried again");
    }

    #[test]
    fn what_the_system_refuses_is_not_sent_again() {
        let mut path = SizedPath::new(1472);
        path.mtu.on_refused(path.now, 1472);
        assert_eq!(path.mtu.current(), 1200);
        let found = path.run(60, 1372);
        assert!((1369..=1372).contains(&found), "{found}");
    }

    #[test]
    fn without_discovery_only_reports_count() {
        let mut path = SizedPath::new(1472);
        path.mtu.discovery = PathMtuDiscovery::Host;
        assert_eq!(path.run(100, 1252), 1472);
        path.mtu.on_report(path.now, 1252);
        assert_eq!((path.run(2000, 1252), path.probes), (1252, 0));
    }
}
