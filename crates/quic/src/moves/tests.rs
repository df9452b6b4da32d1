//! Copies, translators and silence, in simulated time.

use super::*;

/// A peer that answers at once, or not at all.
#[derive(Debug, Clone, Default)]
struct Counts(Arc<Mutex<Answers>>);

#[derive(Debug, Default)]
struct Answers {
    responses: u64,
    acknowledgements: u64,
    answers: bool,
    sent: u64,
    /// QUIC has given the address up: it sends nothing.
    gave_up: bool,
}

impl Counts {
    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().expect("whole")
    }

    fn validates(&self) {
        self.lock().responses += 1;
    }

    fn answers(&self) {
        self.lock().answers = true;
    }
}

impl Peer for Counts {
    fn responses(&self) -> u64 {
        self.lock().responses
    }

    fn acknowledgements(&self) -> u64 {
        self.lock().acknowledgements
    }

    fn sent(&self) -> u64 {
        let mut all = self.lock();
        all.sent += u64::from(!all.gave_up);
        all.sent
    }

    fn rtt(&self) -> Duration {
        Duration::from_millis(40)
    }

    fn ask(&self) {
        let mut all = self.lock();
        all.acknowledgements += u64::from(all.answers);
    }
}

const MS: Duration = Duration::from_millis(1);

fn at(port: u16) -> SocketAddr {
    ([192, 0, 2, 1], port).into()
}

/// A session of a client at port 1 that has begun.
struct Trial {
    book: Arc<Book<Counts>>,
    peer: Counts,
    now: Instant,
    watch: Watch<Counts>,
    id: [u8; CONNECTION_ID],
}

impl Trial {
    fn new() -> Self {
        let (book, peer) = (Arc::new(Book::default()), Counts::default());
        let watch = book.watch(at(1), &[3; 20], false);
        let id = book.ids().issue();
        let mut trial = Self { book, peer: peer.clone(), now: Instant::now(), watch, id };
        assert_eq!(trial.packet(9), at(9), "the ID is not known yet");
        assert_eq!(trial.packet(1), at(1));
        trial.watch.begins(peer);
        trial
    }

    /// The source that a packet from this port has for QUIC.
    fn packet(&mut self, port: u16) -> SocketAddr {
        self.of(self.id, port)
    }

    fn of(&self, id: [u8; CONNECTION_ID], port: u16) -> SocketAddr {
        self.book.source(self.now, at(port), &[&[0x41][..], &id, &[0; 20]].concat()).expect("told")
    }
}

#[test]
fn copies_that_are_sooner_than_the_packets_move_nothing() {
    let mut trial = Trial::new();
    trial.peer.answers();
    for n in 0..60_000_u16 {
        assert_eq!(trial.packet(2 + n % 5), at(1), "the copy {n}");
        trial.now += 3 * MS;
        assert_eq!(trial.packet(1), at(1));
        trial.now += 7 * MS;
    }
    let questions = trial.peer.acknowledgements();
    assert!((1..=600).contains(&questions), "at most one a second, not {questions}");
}

#[test]
fn a_client_whose_address_changes_is_followed_once_it_has_answered() {
    let mut trial = Trial::new();
    for port in 2..50 {
        let mut held = 0;
        while trial.packet(port) != at(port) {
            held += 1;
            trial.now += 10 * MS;
        }
        assert_eq!(held, 10);
        trial.peer.validates();
        trial.now += 40 * MS;
        for _ in 0..100 {
            assert_eq!(trial.packet(port), at(port));
            // A copy from the address before.
            assert_eq!(trial.packet(port - 1), at(port));
            trial.now += 8 * MS;
        }
    }
}

#[test]
fn a_move_that_is_not_answered_ends_when_the_old_address_goes_on() {
    let mut trial = Trial::new();
    trial.peer.answers();
    let mut moves = 0;
    // A sender that pauses for 150 ms, in which many copies of old packets come.
    for _ in 0..1000 {
        for _ in 0..15 {
            moves += u32::from(trial.packet(2) == at(2));
            trial.now += 10 * MS;
        }
        assert_eq!(trial.packet(1), at(1));
        assert_eq!(trial.packet(2), at(1));
    }
    assert!((2..200).contains(&moves), "{moves} of 15,000 packets");
}

#[test]
fn an_address_that_never_answers_is_left() {
    let mut trial = Trial::new();
    for _ in 0..15 {
        trial.packet(2);
        trial.now += 10 * MS;
    }
    assert_eq!(trial.packet(2), at(2));
    trial.now += LEAST_ANSWER;
    assert_eq!(trial.packet(2), at(1));
}

/// QUIC takes no answer that comes late, sends nothing, and asks nothing more: it has to see the
/// address as a new one.
#[test]
fn an_address_whose_answer_came_late_is_a_new_one_again() {
    let mut trial = Trial::new();
    while trial.packet(2) != at(2) {
        trial.now += 10 * MS;
    }
    trial.peer.lock().gave_up = true;
    for _ in 0..3 {
        trial.peer.validates();
        let mut silent = 0;
        while trial.packet(2) != at(1) {
            silent += 1;
            trial.now += 40 * MS;
        }
        assert_eq!(silent, 3, "three packets and 100 ms");
        assert_eq!(trial.packet(2), at(2));
        trial.now += 40 * MS;
    }
    trial.peer.lock().gave_up = false;
    trial.peer.validates();
    for _ in 0..100 {
        assert_eq!(trial.packet(2), at(2));
        trial.now += 40 * MS;
    }
    assert_eq!(trial.packet(1), at(2), "the move holds");
}

/// A client with a packet each second: silence between them is no sign.
#[test]
fn a_slow_client_is_followed() {
    let mut trial = Trial::new();
    let begin = trial.now;
    while trial.packet(2) != at(2) {
        trial.now += 1000 * MS;
    }
    assert_eq!(trial.now - begin, 2000 * MS);
    trial.peer.validates();
    for _ in 0..20 {
        trial.now += 1000 * MS;
        assert_eq!(trial.packet(2), at(2));
    }
}

/// Packets with the old address as their source, which the peer has left: it does not answer there.
#[test]
fn an_old_address_that_only_seems_alive_holds_no_session() {
    let mut trial = Trial::new();
    let begin = trial.now;
    while trial.packet(2) != at(2) {
        assert_eq!(trial.packet(1), at(1));
        trial.now += 10 * MS;
    }
    assert!(trial.now - begin >= CONTENDED + LEAST_ANSWER);
    assert_eq!(trial.packet(1), at(2), "it was asked");
    trial.peer.validates();
    assert_eq!(trial.packet(1), at(2));
    trial.now += MOST_ANSWER;
    assert_eq!(trial.packet(2), at(2));
}

/// As before, and a packet that seems to come from the old address answers each move at once.
#[test]
fn a_forged_packet_for_each_move_holds_no_session() {
    let mut trial = Trial::new();
    let begin = trial.now;
    loop {
        if trial.packet(2) == at(2) && trial.packet(1) == at(2) {
            break;
        }
        trial.now += 10 * MS;
        assert!(trial.now - begin < 10 * 1000 * MS, "held");
    }
    trial.peer.validates();
    for _ in 0..100 {
        assert_eq!((trial.packet(1), trial.packet(2)), (at(2), at(2)));
        trial.now += 10 * MS;
    }
}

/// Packets with IDs that somebody made up seem to come from the client, during its handshake.
#[test]
fn ids_that_others_make_up_take_no_place() {
    let (book, now) = (Arc::new(Book::<Counts>::default()), Instant::now());
    let watch = book.watch(at(1), &[3; 20], false);
    let mut trial = Trial { id: book.ids().issue(), peer: Counts::default(), book, now, watch };
    for n in 0..100 {
        assert_eq!(trial.of([n; CONNECTION_ID], 1), at(1));
    }
    assert_eq!(trial.packet(1), at(1));
    trial.watch.begins(trial.peer.clone());
    for _ in 0..5 {
        assert_eq!((trial.packet(2), trial.packet(1)), (at(1), at(1)), "a copy, and the packet");
        trial.now += 10 * MS;
    }
}

#[test]
fn nothing_is_kept_of_sessions_that_are_over() {
    let trial = Trial::new();
    let book = Arc::clone(&trial.book);
    let second = book.watch(at(1), &[3; 20], false);
    drop(trial);
    assert_eq!(book.entries().flows.len(), 1);
    drop(second);
    let entries = book.entries();
    assert_eq!((entries.flows.len(), entries.by_home.len(), entries.by_id.len()), (0, 0, 0));
}

#[test]
fn a_client_has_few_connection_ids() {
    let (book, now) = (Arc::new(Book::<Counts>::default()), Instant::now());
    let _watch = book.watch(at(1), &[3; 20], false);
    for n in 0..100 {
        book.source(now, at(1), &[n; 30]);
    }
    assert_eq!(book.entries().by_id.len(), 1, "none of them is ours");
    for _ in 0..100 {
        book.source(now, at(1), &[&[0x41][..], &book.ids().issue(), &[0; 20]].concat());
    }
    assert_eq!(book.entries().by_id.len(), IDS);
    let long = [&[0xc1, 0, 0, 0, 1, 21][..], &[3; 30]].concat();
    for odd in [&[][..], &[0x41; 8], &[0xc1, 0, 0, 0, 1], &[0xc1, 0, 0, 0, 1, 8, 2], &long] {
        assert_eq!(book.source(now, at(2), odd), Some(at(2)));
    }
}

/// An Initial packet without a token.
fn first() -> Vec<u8> {
    [&[0xc1, 0, 0, 0, 1, 20][..], &[3; 20], &[0, 0], &[9; 1000]].concat()
}

/// A first packet for the connection ID of a handshake that another address has begun.
#[tokio::test]
async fn a_handshake_from_two_addresses_is_contested_unless_one_is_proved() {
    for is_proved in [false, true] {
        let (book, now) = (Arc::new(Book::<Counts>::default()), Instant::now());
        let watch = book.watch(at(1), &[3; 20], is_proved);
        assert_eq!(book.source(now, at(1), &first()), Some(at(1)));
        assert_eq!(book.source(now, at(2), &first()), Some(at(1)));
        let contested = tokio::time::timeout(MS, watch.contested()).await.ok();
        let came = first().len() as u64;
        assert_eq!(contested, (!is_proved).then_some(Rival { address: at(2), came }));
    }
}

/// First packets that come from several addresses before a handshake has begun.
#[tokio::test]
async fn addresses_have_their_turns() {
    let (book, now) = (Arc::new(Book::<Counts>::default()), Instant::now());
    let told = |port| book.source(now, at(port), &first()).is_some();
    assert!(told(1) && told(1), "the only one");
    assert!(!told(2), "QUIC has that of another address");
    assert!(!told(1) && !told(3) && told(2), "it is the turn of 2");
    assert!(!told(1) && !told(2) && told(1));
    assert!(!told(2));
    let watch = book.watch(at(1), &[3; 20], false);
    assert_eq!(watch.contested().await.address, at(2));
    for n in 0..1000_u16 {
        let other = [&[0xc1, 0, 0, 0, 1, 2][..], &n.to_be_bytes(), &[0, 0, 9]].concat();
        assert!(book.source(now, at(5), &other).is_some());
    }
    assert_eq!(book.entries().firsts.len(), FIRSTS);
}
