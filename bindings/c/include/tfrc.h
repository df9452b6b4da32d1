/* TCP-Friendly Rate Control (RFC 5348) and DCCP (RFC 4340), without I/O.
 *
 * Every handle is opaque, comes from a function `..._new` and goes to its `..._free`. Nothing here
 * reads a clock, opens a socket or starts a thread. Times are nanoseconds from an epoch of the
 * caller's choice and must not go back; rates are bits of data per second; sizes are bytes without
 * headers. A handle is used by one thread at a time; different handles may be used at once. No
 * function keeps a pointer that it was given. A null handle is answered with TFRC_STATUS_NULL, NAN,
 * 0 or TFRC_NEVER.
 *
 * Made by cbindgen from bindings/c/src: change it there. */

#ifndef TFRC_H
#define TFRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A time that does not come, or a duration that is not known.
 */
#define TFRC_NEVER UINT64_MAX

/**
 * The answer of a function. Zero and above: it was done. Below zero: nothing was done.
 */
enum tfrc_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Done.
   */
  TFRC_STATUS_OK = 0,
  /**
   * Done, and there was nothing: no packet, no event, no report.
   */
  TFRC_STATUS_NOTHING = 1,
  /**
   * A report that says nothing new: it names a packet that was never sent, is forgotten, or is
   * older than that of the report before.
   */
  TFRC_STATUS_STALE = 2,
  /**
   * A pointer is null that must not be.
   */
  TFRC_STATUS_NULL = -1,
  /**
   * A number is out of its range; the function's text says which range.
   */
  TFRC_STATUS_RANGE = -2,
  /**
   * The buffer is too short; what was to be written waits for a longer one.
   */
  TFRC_STATUS_BUFFER = -3,
  /**
   * The send queue is full; `TFRC_EVENT_KIND_WRITABLE` says when it has room.
   */
  TFRC_STATUS_FULL = -4,
  /**
   * The datagram does not fit into a packet.
   */
  TFRC_STATUS_TOO_LONG = -5,
  /**
   * The connection is closing or closed, or there is none with this number.
   */
  TFRC_STATUS_CLOSED = -6,
  /**
   * The peer's address is of another IP version, or no free port is left.
   */
  TFRC_STATUS_ADDRESS = -7,
  /**
   * The sender has not stopped, or may not begin again yet.
   */
  TFRC_STATUS_NOT_NOW = -8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_status tfrc_status;
#else
typedef int32_t tfrc_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The reaction to a statement about a packet.
 */
enum tfrc_taken
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * News.
   */
  TFRC_TAKEN_NEW = 0,
  /**
   * Known before, or passed over.
   */
  TFRC_TAKEN_DUPLICATE = 1,
  /**
   * No such packet was sent, or it has been forgotten.
   */
  TFRC_TAKEN_UNKNOWN = 2,
  /**
   * A null handle, or a mark above 3.
   */
  TFRC_TAKEN_INVALID = -1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_taken tfrc_taken;
#else
typedef int32_t tfrc_taken;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The rule that set the allowed rate last.
 */
enum tfrc_rate_reason
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * There is no sender.
   */
  TFRC_RATE_REASON_NONE = 0,
  /**
   * The first round-trip time gave the initial rate (RFC 5348 §4.2).
   */
  TFRC_RATE_REASON_INITIAL = 1,
  /**
   * Slow start: no loss event yet (§4.3).
   */
  TFRC_RATE_REASON_SLOW_START = 2,
  /**
   * The throughput equation (§4.3).
   */
  TFRC_RATE_REASON_EQUATION = 3,
  /**
   * Twice the receive rate, or the like (§4.3).
   */
  TFRC_RATE_REASON_RECEIVE_LIMIT = 4,
  /**
   * The nofeedback timer expired (§4.4).
   */
  TFRC_RATE_REASON_NO_FEEDBACK = 5,
  /**
   * One packet in 64 s (§4.3).
   */
  TFRC_RATE_REASON_FLOOR = 6,
  /**
   * The rate that the network has promised.
   */
  TFRC_RATE_REASON_GUARANTEE = 7,
  /**
   * A circuit breaker or the stop rule has struck.
   */
  TFRC_RATE_REASON_STOPPED = 8,
  /**
   * A rule that this library is older than.
   */
  TFRC_RATE_REASON_OTHER = 9,
  /**
   * The queueing delay is longer than the flow may make it.
   */
  TFRC_RATE_REASON_QUEUE_DELAY = 10,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_rate_reason tfrc_rate_reason;
#else
typedef int32_t tfrc_rate_reason;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Why a sender has stopped.
 */
enum tfrc_trip
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It has not.
   */
  TFRC_TRIP_NONE = 0,
  /**
   * Packets are sent and no feedback comes back (RFC 8083 §4.1).
   */
  TFRC_TRIP_FEEDBACK_TIMEOUT = 1,
  /**
   * Feedback says that nothing arrives (RFC 8083 §4.2).
   */
  TFRC_TRIP_MEDIA_TIMEOUT = 2,
  /**
   * More than ten times what a TCP would send (RFC 8083 §4.3).
   */
  TFRC_TRIP_CONGESTION = 3,
  /**
   * The loss rate is too high for the application's least rate (RFC 3714 §5).
   */
  TFRC_TRIP_DROP_RATE = 4,
  /**
   * A reason that this library is older than.
   */
  TFRC_TRIP_OTHER = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_trip tfrc_trip;
#else
typedef int32_t tfrc_trip;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Kind of an event.
 */
enum tfrc_event_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * A listening endpoint has a new connection. `service` is the code that was asked for.
   */
  TFRC_EVENT_KIND_INCOMING = 0,
  /**
   * A connection that this end began is established: data may be sent.
   */
  TFRC_EVENT_KIND_CONNECTED = 1,
  /**
   * Datagrams wait to be read, where none did before.
   */
  TFRC_EVENT_KIND_READABLE = 2,
  /**
   * The send queue was full and has room again.
   */
  TFRC_EVENT_KIND_WRITABLE = 3,
  /**
   * All that was handed over has been sent or dropped.
   */
  TFRC_EVENT_KIND_FLUSHED = 4,
  /**
   * `packets` datagrams, `bytes` long together, left the send queue unsent: they were late, or
   * the connection ended.
   */
  TFRC_EVENT_KIND_DROPPED = 5,
  /**
   * The allowed rate is now `rate_bps`.
   */
  TFRC_EVENT_KIND_RATE_CHANGED = 6,
  /**
   * The peer wants to close: read what is left, then call `tfrc_endpoint_close`.
   */
  TFRC_EVENT_KIND_CLOSE_RECEIVED = 7,
  /**
   * The connection is over: `closed_by`, `reset_code`. Read what is left, then call
   * `tfrc_endpoint_release`.
   */
  TFRC_EVENT_KIND_CLOSED = 8,
  /**
   * Something that this library is older than; it may be ignored.
   */
  TFRC_EVENT_KIND_OTHER = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_event_kind tfrc_event_kind;
#else
typedef int32_t tfrc_event_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Party that ended a connection.
 */
enum tfrc_closed_by
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It stands.
   */
  TFRC_CLOSED_BY_NONE = 0,
  /**
   * We closed, and the peer agreed.
   */
  TFRC_CLOSED_BY_US = 1,
  /**
   * The peer closed, and we agreed.
   */
  TFRC_CLOSED_BY_PEER = 2,
  /**
   * We broke it off.
   */
  TFRC_CLOSED_BY_OUR_RESET = 3,
  /**
   * The peer broke it off.
   */
  TFRC_CLOSED_BY_PEER_RESET = 4,
  /**
   * The network says that nobody listens there.
   */
  TFRC_CLOSED_BY_UNREACHABLE = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_closed_by tfrc_closed_by;
#else
typedef int32_t tfrc_closed_by;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The ECN codepoint of a packet's IP header (RFC 3168 §5).
 */
enum tfrc_ecn
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Not ECN-capable.
   */
  TFRC_ECN_NOT_ECT = 0,
  /**
   * ECT(1).
   */
  TFRC_ECN_ECT1 = 1,
  /**
   * ECT(0).
   */
  TFRC_ECN_ECT0 = 2,
  /**
   * Congestion was experienced: counts like a loss.
   */
  TFRC_ECN_CE = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_ecn tfrc_ecn;
#else
typedef uint8_t tfrc_ecn;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The TCP to be friendly to.
 */
enum tfrc_friend
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Reno, the TCP of RFC 5348.
   */
  TFRC_FRIEND_RENO = 0,
  /**
   * CUBIC (RFC 9438).
   */
  TFRC_FRIEND_CUBIC = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_friend tfrc_friend;
#else
typedef uint8_t tfrc_friend;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The end that finds the losses.
 */
enum tfrc_losses
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The advisor: a packet is lost when three later ones have arrived, or when you declare it
   * lost. Reports must cover each packet passed.
   */
  TFRC_LOSSES_BY_ORDER = 0,
  /**
   * Your transport, which says of each lost packet that it is lost. A packet of which nothing is
   * said counts neither as arrived nor as lost: for packets that are never acknowledged.
   */
  TFRC_LOSSES_BY_TRANSPORT = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_losses tfrc_losses;
#else
typedef int32_t tfrc_losses;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * All of the algorithm at the sender (RFC 5348 §7), for receivers that report single packets: RTP
 * with transport-wide or RFC 8888 feedback, QUIC, your own.
 */
typedef struct tfrc_advisor tfrc_advisor;

/**
 * Settings of a sender, a receiver or an advisor; RFC 5348 until they are changed. Both ends take
 * the same. They are copied where they are used, and may be freed then.
 */
typedef struct tfrc_config tfrc_config;

/**
 * An endpoint: many connections behind one UDP socket, which is yours. Repeat four steps: pass
 * each datagram that came to `tfrc_endpoint_handle_datagram` and the time to
 * `tfrc_endpoint_handle_timeout`; take packets from `tfrc_endpoint_poll_transmit` and send them,
 * until there is none; take events from `tfrc_endpoint_poll_event`, until there is none; sleep
 * until `tfrc_endpoint_poll_timeout` or until something comes.
 */
typedef struct tfrc_endpoint tfrc_endpoint;

/**
 * Settings of an endpoint and of its connections, begun or accepted. They are copied where they
 * are used, and may be freed then.
 */
typedef struct tfrc_endpoint_config tfrc_endpoint_config;

/**
 * The receiving half of RFC 5348. Feed every packet in the order of arrival to
 * `tfrc_receiver_on_packet`, then take reports from `tfrc_receiver_poll_report` until there is
 * none; call `tfrc_receiver_handle_timeout` at `tfrc_receiver_poll_timeout`, and poll then too.
 */
typedef struct tfrc_receiver tfrc_receiver;

/**
 * The sending half of RFC 5348. Ask `tfrc_sender_next_send`, call `tfrc_sender_on_sent`, pass
 * reports to `tfrc_sender_on_report`, and call `tfrc_sender_handle_timeout` at
 * `tfrc_sender_poll_timeout`.
 */
typedef struct tfrc_sender tfrc_sender;

/**
 * A change of the allowed sending rate.
 */
typedef struct tfrc_rate_change {
  /**
   * When, ns.
   */
  uint64_t at;
  /**
   * The rate before, bit/s.
   */
  double from_bps;
  /**
   * The rate now, bit/s.
   */
  double to_bps;
  /**
   * R, ns; `TFRC_NEVER` before the first sample.
   */
  uint64_t rtt;
  /**
   * The rule that set the rate.
   */
  tfrc_rate_reason reason;
} tfrc_rate_change;

/**
 * An IP address and a UDP port.
 */
typedef struct tfrc_address {
  /**
   * The address in network order; of IPv4 the first four bytes.
   */
  uint8_t ip[16];
  /**
   * The scope of a link-local IPv6 address, else 0.
   */
  uint32_t scope;
  /**
   * The port as a number (in the host's order).
   */
  uint16_t port;
  /**
   * 4 or 6.
   */
  uint8_t version;
} tfrc_address;

/**
 * A packet to be sent, whose bytes are in the buffer.
 */
typedef struct tfrc_transmission {
  /**
   * Its length in bytes.
   */
  size_t length;
  /**
   * To whom.
   */
  struct tfrc_address to;
  /**
   * The codepoint to send it with, a `tfrc_ecn`.
   */
  uint8_t ecn;
} tfrc_transmission;

/**
 * Something the application should know. Fields that do not belong to the kind are zero.
 */
typedef struct tfrc_event {
  /**
   * The connection.
   */
  uint64_t connection;
  /**
   * Datagrams.
   */
  uint64_t packets;
  /**
   * Their bytes.
   */
  uint64_t bytes;
  /**
   * Data, bit/s.
   */
  double rate_bps;
  /**
   * The kind.
   */
  tfrc_event_kind kind;
  /**
   * The party that ended it.
   */
  tfrc_closed_by closed_by;
  /**
   * The service code.
   */
  uint32_t service;
  /**
   * The Reset Code with which it ended (RFC 4340 §5.6); 1 if all went well.
   */
  uint8_t reset_code;
} tfrc_event;

/**
 * Counts of a connection since its beginning.
 */
typedef struct tfrc_connection_stats {
  /**
   * Datagrams sent.
   */
  uint64_t sent_packets;
  /**
   * Their bytes.
   */
  uint64_t sent_bytes;
  /**
   * Datagrams received.
   */
  uint64_t received_packets;
  /**
   * Their bytes.
   */
  uint64_t received_bytes;
  /**
   * Datagrams that the peer has sent, received or not, as far as is known.
   */
  uint64_t peer_sent_packets;
  /**
   * Datagrams dropped because they waited longer than the deadline.
   */
  uint64_t late_packets;
  /**
   * Datagrams not sent because the connection ended.
   */
  uint64_t unsent_packets;
  /**
   * Datagrams that came when the application did not read in time.
   */
  uint64_t queue_dropped_packets;
} tfrc_connection_stats;

/**
 * A packet that has arrived.
 */
typedef struct tfrc_arrival {
  /**
   * Its number, from `tfrc_sender_on_sent`.
   */
  uint64_t number;
  /**
   * The sender's round-trip time on the packet, ns; `TFRC_NEVER` if it had none.
   */
  uint64_t rtt;
  /**
   * Bytes of data, without headers.
   */
  uint32_t size;
  /**
   * The codepoint it came with, a `tfrc_ecn`.
   */
  uint8_t ecn;
} tfrc_arrival;

/**
 * The receiver's report (RFC 5348 §3.2.2), to be carried to the sender in packets of your own.
 */
typedef struct tfrc_report {
  /**
   * The highest number received.
   */
  uint64_t newest_number;
  /**
   * How long ago that packet arrived, ns.
   */
  uint64_t elapsed;
  /**
   * X_recv, bit/s; zero in the first report.
   */
  double receive_rate_bps;
  /**
   * p, 0 to 1.
   */
  double loss_event_rate;
  /**
   * Loss events found since the beginning.
   */
  uint64_t loss_events;
  /**
   * Data packets up to `newest_number`.
   */
  uint64_t packets;
  /**
   * Those of them that came with a mark or have not come.
   */
  uint64_t lost;
} tfrc_report;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * An advisor. `report_interval`, ns, is the longest usual time between two reports while packets
 * arrive; 0 if every packet or two are reported at once. Null for `config` means RFC 5348's
 * settings.
 */
struct tfrc_advisor *tfrc_advisor_new(const struct tfrc_config *config, uint64_t report_interval);

/**
 * Frees an advisor; null is allowed.
 */
void tfrc_advisor_free(struct tfrc_advisor *advisor);

/**
 * Leaves finding the losses to your transport (`TFRC_LOSSES_BY_TRANSPORT`), or not, by a
 * `tfrc_losses`; `TFRC_STATUS_RANGE` for another number. To be called before the
 * first packet; later it is without effect.
 */
tfrc_status tfrc_advisor_set_losses(struct tfrc_advisor *advisor, int32_t losses);

/**
 * A round-trip time known from elsewhere, ns, such as that of a handshake (RFC 5348 §4.2).
 */
tfrc_status tfrc_advisor_on_rtt_sample(struct tfrc_advisor *advisor, uint64_t now, uint64_t rtt);

/**
 * When the next packet may go; as `tfrc_sender_next_send`.
 */
uint64_t tfrc_advisor_next_send(const struct tfrc_advisor *advisor, uint64_t now);

/**
 * A packet with `size` bytes of data went at `sent_at`: now, or earlier if your transport reports
 * a departure only along with the packet's fate. Pass packets in the order of sending. `id` is
 * your number for it, above all before; numbers may be left out.
 */
tfrc_status tfrc_advisor_on_sent(struct tfrc_advisor *advisor,
                                 uint64_t sent_at,
                                 uint64_t id,
                                 uint32_t size);

/**
 * A report says that the packet has arrived, with the mark `ecn` (a `tfrc_ecn`). `arrived_at` is
 * by the receiver's clock, ns, of any epoch; `TFRC_NEVER` if the report does not say. Takes
 * effect at `tfrc_advisor_on_report`.
 */
tfrc_taken tfrc_advisor_on_acked(struct tfrc_advisor *advisor,
                                 uint64_t id,
                                 uint64_t arrived_at,
                                 uint8_t ecn_bits);

/**
 * A report says that all packets from `first` to `last` have arrived with the mark `ecn` (a
 * `tfrc_ecn`), when is not known. Returns how many of them are news; 0 for null or a mark above 3.
 */
uint64_t tfrc_advisor_on_acked_range(struct tfrc_advisor *advisor,
                                     uint64_t first,
                                     uint64_t last,
                                     uint8_t ecn_bits);

/**
 * No report has covered the packets from `first` to `last`, though a later one has come: as far as
 * nothing is known of them they count neither as arrived nor as lost.
 */
tfrc_status tfrc_advisor_on_unreported(struct tfrc_advisor *advisor, uint64_t first, uint64_t last);

/**
 * A report covers the packets from `first` to `last`: those that it does not acknowledge are
 * missing. Needed where `tfrc_advisor_on_unreported` was called for some of them because a later
 * report had overtaken this one.
 */
tfrc_status tfrc_advisor_on_covered(struct tfrc_advisor *advisor, uint64_t first, uint64_t last);

/**
 * The packets that were declared lost and that left at `since`, ns, or later have all arrived:
 * their losses are taken back. Returns how many there are; 0 for null.
 */
uint64_t tfrc_advisor_on_losses_undone(struct tfrc_advisor *advisor, uint64_t since);

/**
 * The transport has given the packet up for lost: with `TFRC_LOSSES_BY_ORDER` along with all older
 * ones not heard of, so pass only certain losses; with `TFRC_LOSSES_BY_TRANSPORT` alone.
 */
tfrc_taken tfrc_advisor_on_lost(struct tfrc_advisor *advisor, uint64_t id);

/**
 * The report has been passed completely. `hold`, ns, is how long its newest packet had been there
 * when the report was sent; `TFRC_NEVER` if it does not say.
 */
tfrc_status tfrc_advisor_on_report(struct tfrc_advisor *advisor, uint64_t now, uint64_t hold);

/**
 * The report has been passed completely, as by `tfrc_advisor_on_report`, by a transport that knows
 * the round-trip time `rtt`, ns, smoothed or that of the newest packet.
 */
tfrc_status tfrc_advisor_on_report_with_rtt(struct tfrc_advisor *advisor,
                                            uint64_t now,
                                            uint64_t rtt);

/**
 * Lets time pass: the nofeedback timer may expire. Early, late and repeated calls do no harm.
 */
tfrc_status tfrc_advisor_handle_timeout(struct tfrc_advisor *advisor, uint64_t now);

/**
 * When `tfrc_advisor_handle_timeout` wants to be called next; `TFRC_NEVER` if nothing is due.
 */
uint64_t tfrc_advisor_poll_timeout(const struct tfrc_advisor *advisor);

/**
 * X, the allowed sending rate of data, bit/s; zero after a stop.
 */
double tfrc_advisor_allowed_rate_bps(const struct tfrc_advisor *advisor);

/**
 * The rate that a media encoder should aim at, data, bit/s: the allowed rate, at least the floor
 * and at most the cap; zero after a stop.
 */
double tfrc_advisor_target_rate_bps(const struct tfrc_advisor *advisor);

/**
 * Replaces the application's limit on the sending rate: bit/s, above zero; `INFINITY` for none.
 */
tfrc_status tfrc_advisor_set_cap_bps(struct tfrc_advisor *advisor, double bps);

/**
 * Sets the least rate that the application can work with, bit/s. Only the target rate follows it:
 * packets still leave at the allowed rate.
 */
tfrc_status tfrc_advisor_set_floor_bps(struct tfrc_advisor *advisor, double bps);

/**
 * The rule that set the allowed rate last; `TFRC_RATE_REASON_NONE` for null.
 */
tfrc_rate_reason tfrc_advisor_rate_reason(const struct tfrc_advisor *advisor);

/**
 * The time up to `now`, ns, for which the flow has competed with others that keep the queue longer
 * than its bound (`tfrc_config_set_max_queue_delay`), which does not limit it then; 0 without a
 * bound.
 */
uint64_t tfrc_advisor_competed(const struct tfrc_advisor *advisor, uint64_t now);

/**
 * Takes the oldest change of the allowed rate not yet polled, of at most four, into `event`;
 * `TFRC_STATUS_NOTHING` if there is none.
 */
tfrc_status tfrc_advisor_poll_event(struct tfrc_advisor *advisor, struct tfrc_rate_change *event);

/**
 * The reason for which the advisor has stopped; `TFRC_TRIP_NONE` if it has not.
 */
tfrc_trip tfrc_advisor_stopped(const struct tfrc_advisor *advisor);

/**
 * Begins again after a stop, in slow start. `TFRC_STATUS_NOT_NOW` if there was none, or if it must
 * last longer.
 */
tfrc_status tfrc_advisor_resume(struct tfrc_advisor *advisor, uint64_t now);

/**
 * R, ns; `TFRC_NEVER` before the first report.
 */
uint64_t tfrc_advisor_rtt(const struct tfrc_advisor *advisor);

/**
 * p as of the latest report, 0 to 1.
 */
double tfrc_advisor_loss_event_rate(const struct tfrc_advisor *advisor);

/**
 * Loss events found so far.
 */
uint64_t tfrc_advisor_loss_events(const struct tfrc_advisor *advisor);

/**
 * Packets that fell out of the record of 65,536 before a report had reached as far as them.
 */
uint64_t tfrc_advisor_forgotten(const struct tfrc_advisor *advisor);

/**
 * Settings of RFC 5348.
 */
struct tfrc_config *tfrc_config_new(void);

/**
 * Frees settings; null is allowed.
 */
void tfrc_config_free(struct tfrc_config *config);

/**
 * s, the size of packets until some have been sent, bytes, at least 1; then it is their mean
 * (RFC 5348 §4.1). 1460 by default.
 */
tfrc_status tfrc_config_set_segment(struct tfrc_config *config, uint32_t bytes);

/**
 * TFRC-SP (RFC 4828): packets that are small because the application makes them so get the bytes
 * per second of a TCP with large ones.
 */
tfrc_status tfrc_config_set_small_packets(struct tfrc_config *config);

/**
 * The profile `balanced`, for paths with the TCPs of today, in place of RFC 5348 alone; its friend
 * is CUBIC. Both ends take it.
 */
tfrc_status tfrc_config_set_balanced(struct tfrc_config *config);

/**
 * The TCP to be friendly to, a `tfrc_friend`: Reno by default, CUBIC after
 * `tfrc_config_set_balanced`. Both ends take the same.
 */
tfrc_status tfrc_config_set_friend(struct tfrc_config *config, uint8_t friend_);

/**
 * The application's own limit, bit/s, above zero; `INFINITY` for none.
 */
tfrc_status tfrc_config_set_cap_bps(struct tfrc_config *config, double bps);

/**
 * g, bit/s, above zero: a rate that the network has promised, below which the flow does
 * not fall (gTFRC). Not for the open Internet.
 */
tfrc_status tfrc_config_set_guarantee_bps(struct tfrc_config *config, double bps);

/**
 * The longest queueing delay that the flow may make, ns, at least 1 ms; `TFRC_NEVER` for no bound,
 * the default. It only ever lowers the allowed rate.
 */
tfrc_status tfrc_config_set_max_queue_delay(struct tfrc_config *config, uint64_t ns);

/**
 * t_gran, ns: the granularity of the program's timers (RFC 5348 §8.3). A packet may go up to half
 * of it early. Zero by default.
 */
tfrc_status tfrc_config_set_timer_granularity(struct tfrc_config *config, uint64_t ns);

/**
 * The least time of the nofeedback timer, ns; zero by default. For paths that pause, such as radio
 * links: the rate is kept through silences of this time, and as long is needed to see that a path
 * is gone.
 */
tfrc_status tfrc_config_set_no_feedback_floor(struct tfrc_config *config, uint64_t ns);

/**
 * The grain of the clock that `now` comes from, ns, 0 for a clock that shows every time;
 * `TFRC_NEVER`, the default, if it is to be measured. R is at least one grain.
 */
tfrc_status tfrc_config_set_clock_grain(struct tfrc_config *config, uint64_t ns);

/**
 * Says in a sentence why the last change was refused; null if it was not. The text lives until the
 * next change.
 */
const char *tfrc_config_problem(const struct tfrc_config *config);

/**
 * An endpoint. Null for `config` makes one that only begins connections. `seed` points to 32
 * secret bytes from the system's random numbers, fresh for each process; null for it gives null.
 */
struct tfrc_endpoint *tfrc_endpoint_new(const struct tfrc_endpoint_config *config,
                                        const uint8_t *seed);

/**
 * Frees an endpoint without a word to its peers; null is allowed.
 */
void tfrc_endpoint_free(struct tfrc_endpoint *endpoint);

/**
 * Begins a connection to the peer's DCCP port `port`, and writes its number to `connection`.
 */
tfrc_status tfrc_endpoint_connect(struct tfrc_endpoint *endpoint,
                                  uint64_t now,
                                  const struct tfrc_address *to,
                                  uint16_t port,
                                  uint64_t *connection);

/**
 * A UDP datagram has come. What is not a packet of a connection is counted or answered as the RFC
 * says; nothing a peer sends does harm. `ecn_bits` is a `tfrc_ecn`.
 */
tfrc_status tfrc_endpoint_handle_datagram(struct tfrc_endpoint *endpoint,
                                          uint64_t now,
                                          const struct tfrc_address *from,
                                          uint8_t ecn_bits,
                                          const uint8_t *datagram,
                                          size_t length);

/**
 * Lets time pass. Early, late and repeated calls do no harm.
 */
tfrc_status tfrc_endpoint_handle_timeout(struct tfrc_endpoint *endpoint, uint64_t now);

/**
 * When `tfrc_endpoint_handle_timeout` wants to be called next; `TFRC_NEVER` if nothing is due.
 */
uint64_t tfrc_endpoint_poll_timeout(struct tfrc_endpoint *endpoint);

/**
 * The next packet to send, written to `buffer`, of which 2048 bytes are always enough;
 * `TFRC_STATUS_NOTHING` if there is none, `TFRC_STATUS_BUFFER` if it needs more than `capacity`:
 * it waits then, and `length` says how much.
 */
tfrc_status tfrc_endpoint_poll_transmit(struct tfrc_endpoint *endpoint,
                                        uint64_t now,
                                        uint8_t *buffer,
                                        size_t capacity,
                                        struct tfrc_transmission *transmission);

/**
 * The oldest event not yet polled; `TFRC_STATUS_NOTHING` if there is none.
 */
tfrc_status tfrc_endpoint_poll_event(struct tfrc_endpoint *endpoint, struct tfrc_event *event);

/**
 * Hands over a datagram, which is copied. `TFRC_STATUS_FULL`, `TFRC_STATUS_TOO_LONG` or
 * `TFRC_STATUS_CLOSED` if it is not taken.
 */
tfrc_status tfrc_endpoint_send(struct tfrc_endpoint *endpoint,
                               uint64_t now,
                               uint64_t connection,
                               const uint8_t *datagram,
                               size_t length);

/**
 * The oldest datagram that waits to be read, written to `buffer`; its length goes to `length`.
 * `TFRC_STATUS_NOTHING` if there is none, `TFRC_STATUS_BUFFER` if it is longer than `capacity`: it
 * waits then.
 */
tfrc_status tfrc_endpoint_recv(struct tfrc_endpoint *endpoint,
                               uint64_t connection,
                               uint8_t *buffer,
                               size_t capacity,
                               size_t *length);

/**
 * Closes a connection: what was handed over is still sent. Agrees if the peer wants to close.
 */
tfrc_status tfrc_endpoint_close(struct tfrc_endpoint *endpoint, uint64_t now, uint64_t connection);

/**
 * Forgets a connection; one that is not over is broken off first. Its number is not used again.
 */
tfrc_status tfrc_endpoint_release(struct tfrc_endpoint *endpoint,
                                  uint64_t now,
                                  uint64_t connection);

/**
 * X of a connection, data, bit/s; NAN if there is no such connection.
 */
double tfrc_connection_allowed_rate_bps(const struct tfrc_endpoint *endpoint, uint64_t connection);

/**
 * Replaces the limit on the sending rate of a connection: bit/s, above zero; `INFINITY` for none.
 */
tfrc_status tfrc_connection_set_cap_bps(struct tfrc_endpoint *endpoint,
                                        uint64_t connection,
                                        double bps);

/**
 * R of a connection, ns; `TFRC_NEVER` before there is a sample.
 */
uint64_t tfrc_connection_rtt(const struct tfrc_endpoint *endpoint, uint64_t connection);

/**
 * p of a connection's data, 0 to 1; NAN if there is no such connection.
 */
double tfrc_connection_loss_event_rate(const struct tfrc_endpoint *endpoint, uint64_t connection);

/**
 * The time up to `now`, ns, for which what a connection sends has competed with others that keep
 * the queue longer than its bound (`tfrc_config_set_max_queue_delay`), which does not limit it
 * then; 0 without a bound, and if there is no such connection.
 */
uint64_t tfrc_connection_competed(const struct tfrc_endpoint *endpoint,
                                  uint64_t now,
                                  uint64_t connection);

/**
 * Counts of a connection.
 */
tfrc_status tfrc_connection_get_stats(const struct tfrc_endpoint *endpoint,
                                      uint64_t connection,
                                      struct tfrc_connection_stats *stats);

/**
 * Settings of an endpoint that accepts no connection.
 */
struct tfrc_endpoint_config *tfrc_endpoint_config_new(void);

/**
 * Frees settings; null is allowed.
 */
void tfrc_endpoint_config_free(struct tfrc_endpoint_config *config);

/**
 * Accepts connections at this DCCP port, at most `connections` at once, at least 1, and at most
 * `per_source` of one source (an IPv4 address or a /64 of IPv6); 0 for no such limit.
 */
tfrc_status tfrc_endpoint_config_set_listen(struct tfrc_endpoint_config *config,
                                            uint16_t port,
                                            size_t connections,
                                            size_t per_source);

/**
 * The service code (RFC 4340 §8.1.2); both ends must name the same. Not 2^32 - 1. 0 by default.
 */
tfrc_status tfrc_endpoint_config_set_service(struct tfrc_endpoint_config *config, uint32_t service);

/**
 * The rate control; null for RFC 5348's settings.
 */
tfrc_status tfrc_endpoint_config_set_rate_control(struct tfrc_endpoint_config *config,
                                                  const struct tfrc_config *rate_control);

/**
 * CCID 4 (TFRC-SP, RFC 5622) in both directions, if the peer agrees; else CCID 3.
 */
tfrc_status tfrc_endpoint_config_set_small_packets(struct tfrc_endpoint_config *config);

/**
 * Datagrams that have waited longer than `deadline` ns when their turn comes are dropped, and a
 * full queue drops its oldest: for live media. By default they wait. A key picture may have more
 * datagrams than the 64 of the usual queue: see `tfrc_endpoint_config_set_queues`.
 */
tfrc_status tfrc_endpoint_config_set_deadline(struct tfrc_endpoint_config *config,
                                              uint64_t deadline);

/**
 * Datagrams that may wait to be sent and to be read, each at least 1; 64 and 1024 by default.
 */
tfrc_status tfrc_endpoint_config_set_queues(struct tfrc_endpoint_config *config,
                                            size_t to_send,
                                            size_t to_read);

/**
 * X, bit/s: the rate of a TCP with segments of `segment` bytes, a round-trip time of
 * `rtt` ns and the loss event rate `p`, 0 to 1 (RFC 5348 §3.1). Infinite at p = 0; NAN for a
 * segment that is not above zero or a p that is not a probability.
 */
double tfrc_equation_rate_bps(double segment, uint64_t rtt, double p);

/**
 * The loss event rate at which `tfrc_equation_rate_bps` gives `bps`; NAN if none in (0,
 * 1] does.
 */
double tfrc_equation_loss_event_rate(double segment, uint64_t rtt, double bps);

/**
 * A receiver that has seen nothing yet. Null for `config` means RFC 5348's settings.
 */
struct tfrc_receiver *tfrc_receiver_new(const struct tfrc_config *config);

/**
 * Frees a receiver; null is allowed.
 */
void tfrc_receiver_free(struct tfrc_receiver *receiver);

/**
 * A packet has arrived. `TFRC_STATUS_RANGE` if its mark is above 3.
 */
tfrc_status tfrc_receiver_on_packet(struct tfrc_receiver *receiver,
                                    uint64_t now,
                                    const struct tfrc_arrival *arrival);

/**
 * Lets time pass: the feedback timer may expire. Early, late and repeated calls do no harm.
 */
tfrc_status tfrc_receiver_handle_timeout(struct tfrc_receiver *receiver, uint64_t now);

/**
 * When `tfrc_receiver_handle_timeout` wants to be called next; `TFRC_NEVER` if nothing is due.
 */
uint64_t tfrc_receiver_poll_timeout(const struct tfrc_receiver *receiver);

/**
 * The report that is due now, written to `report`; `TFRC_STATUS_NOTHING` if none is.
 */
tfrc_status tfrc_receiver_poll_report(struct tfrc_receiver *receiver,
                                      uint64_t now,
                                      struct tfrc_report *report);

/**
 * p, the loss event rate measured, 0 to 1 (RFC 5348 §5).
 */
double tfrc_receiver_loss_event_rate(const struct tfrc_receiver *receiver);

/**
 * The round-trip time that the receiver uses, ns: the sender's latest, or the assumed one before
 * the first. Zero for null.
 */
uint64_t tfrc_receiver_rtt(const struct tfrc_receiver *receiver);

/**
 * A sender that has sent nothing yet. Null for `config` means RFC 5348's settings.
 */
struct tfrc_sender *tfrc_sender_new(const struct tfrc_config *config);

/**
 * Frees a sender; null is allowed.
 */
void tfrc_sender_free(struct tfrc_sender *sender);

/**
 * When the next packet may go: `now` or before means at once, `TFRC_NEVER` that the sender has
 * stopped. It may come sooner if the rate rises: ask again after every input.
 */
uint64_t tfrc_sender_next_send(const struct tfrc_sender *sender, uint64_t now);

/**
 * A packet of `size` bytes of data goes now. Returns its number, which the packet must carry;
 * numbers count up from 0. `TFRC_NEVER` for null.
 */
uint64_t tfrc_sender_on_sent(struct tfrc_sender *sender, uint64_t now, uint32_t size);

/**
 * A report of the receiver has come. `TFRC_STATUS_STALE` if it says nothing new;
 * `TFRC_STATUS_RANGE` if its rates are none: nothing is done with it then.
 */
tfrc_status tfrc_sender_on_report(struct tfrc_sender *sender,
                                  uint64_t now,
                                  const struct tfrc_report *report);

/**
 * A round-trip time known from elsewhere, ns, such as that of a handshake (RFC 5348 §4.2).
 */
tfrc_status tfrc_sender_on_rtt_sample(struct tfrc_sender *sender, uint64_t now, uint64_t rtt);

/**
 * Lets time pass: the nofeedback timer may expire. Early, late and repeated calls do no harm.
 */
tfrc_status tfrc_sender_handle_timeout(struct tfrc_sender *sender, uint64_t now);

/**
 * When `tfrc_sender_handle_timeout` wants to be called next; `TFRC_NEVER` before the first packet.
 */
uint64_t tfrc_sender_poll_timeout(const struct tfrc_sender *sender);

/**
 * X, the allowed sending rate of data, bit/s; zero after a stop.
 */
double tfrc_sender_allowed_rate_bps(const struct tfrc_sender *sender);

/**
 * The rate that a media encoder should aim at, data, bit/s: the allowed rate, at least the floor
 * and at most the cap; zero after a stop.
 */
double tfrc_sender_target_rate_bps(const struct tfrc_sender *sender);

/**
 * Replaces the application's limit on the sending rate: bit/s, above zero; `INFINITY` for none.
 */
tfrc_status tfrc_sender_set_cap_bps(struct tfrc_sender *sender, double bps);

/**
 * Sets the least rate that the application can work with, bit/s. Only the target rate follows it:
 * packets still leave at the allowed rate.
 */
tfrc_status tfrc_sender_set_floor_bps(struct tfrc_sender *sender, double bps);

/**
 * The rule that set the allowed rate last; `TFRC_RATE_REASON_NONE` for null.
 */
tfrc_rate_reason tfrc_sender_rate_reason(const struct tfrc_sender *sender);

/**
 * The time up to `now`, ns, for which the flow has competed with others that keep the queue longer
 * than its bound (`tfrc_config_set_max_queue_delay`), which does not limit it then; 0 without a
 * bound.
 */
uint64_t tfrc_sender_competed(const struct tfrc_sender *sender, uint64_t now);

/**
 * Takes the oldest change of the allowed rate not yet polled, of at most four, into `event`;
 * `TFRC_STATUS_NOTHING` if there is none.
 */
tfrc_status tfrc_sender_poll_event(struct tfrc_sender *sender, struct tfrc_rate_change *event);

/**
 * R, ns; `TFRC_NEVER` before the first report. Packets carry it to the receiver.
 */
uint64_t tfrc_sender_rtt(const struct tfrc_sender *sender);

/**
 * p as the receiver has reported it, 0 to 1.
 */
double tfrc_sender_loss_event_rate(const struct tfrc_sender *sender);

/**
 * The reason for which the sender has stopped; `TFRC_TRIP_NONE` if it has not.
 */
tfrc_trip tfrc_sender_stopped(const struct tfrc_sender *sender);

/**
 * Begins again after a stop, in slow start. `TFRC_STATUS_NOT_NOW` if there was none, or if it must
 * last longer.
 */
tfrc_status tfrc_sender_resume(struct tfrc_sender *sender, uint64_t now);

/**
 * Describes a status in a sentence. The text lives as long as the program.
 */
const char *tfrc_status_text(int32_t status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TFRC_H */
