/* Sessions of TFRC: two ends with datagrams or a file between them, over DCCP or QUIC.
 *
 * Handles are opaque. Those that a function writes to its last argument go to their `..._free`; it
 * writes null there if the answer is below zero. Each thread has a text for its last answer below
 * zero, tfrc_session_error(), which says what to do.
 *
 * Calls wait, for at most `timeout_ms` milliseconds: 0 is a look, TFRC_SESSION_NEVER (or -1) no
 * limit. A call that ends with TFRC_SESSION_STATUS_TIMEOUT or _FULL has done nothing, unless its
 * text here says more.
 *
 * Listeners and sessions may be used by several threads at once, such as one that sends and one
 * that receives; options by one thread at a time. `..._free` comes after the last use in any
 * thread, in any order of listeners and their sessions. No function keeps a pointer that it was
 * given. Null handles and numbers out of range are answered with a status.
 *
 * The first listener or session starts one thread, which sends and receives while the program does
 * something else; reading and writing files takes some more. There are no callbacks and no signal
 * handlers. A process made by fork() has no such thread: it must not use handles from before, nor
 * make new ones if there were some.
 *
 * Texts are UTF-8 and end with a zero byte. Rates are bits of data per second, sizes bytes.
 *
 * Made by cbindgen from bindings/c-session/src: change it there. */

#ifndef TFRC_SESSION_H
#define TFRC_SESSION_H

#include <stddef.h>
#include <stdint.h>

/**
 * A wait without a limit, or a time that is not known.
 */
#define TFRC_SESSION_NEVER UINT64_MAX

/**
 * The answer of a function. Zero and above: it was done. Below zero: it was not done, and
 * `tfrc_session_error` says why. Numbers of `tfrc_status` with the same name are the same.
 */
enum tfrc_session_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Done.
   */
  TFRC_SESSION_STATUS_OK = 0,
  /**
   * Done, and there was nothing: the peer sends no more.
   */
  TFRC_SESSION_STATUS_NOTHING = 1,
  /**
   * A pointer is null that must not be.
   */
  TFRC_SESSION_STATUS_NULL = -1,
  /**
   * A number or a text is out of its range.
   */
  TFRC_SESSION_STATUS_RANGE = -2,
  /**
   * The buffer is too short; the datagram waits for a longer one.
   */
  TFRC_SESSION_STATUS_BUFFER = -3,
  /**
   * The send queue stayed full.
   */
  TFRC_SESSION_STATUS_FULL = -4,
  /**
   * The datagram does not fit into a packet.
   */
  TFRC_SESSION_STATUS_TOO_LONG = -5,
  /**
   * The session or the listener is over or ending, or the peer is gone.
   */
  TFRC_SESSION_STATUS_CLOSED = -6,
  /**
   * The address cannot be bound to, or the name has no address.
   */
  TFRC_SESSION_STATUS_ADDRESS = -7,
  /**
   * The time is over.
   */
  TFRC_SESSION_STATUS_TIMEOUT = -8,
  /**
   * A key cannot be read, is not the one that is expected, or is not let in.
   */
  TFRC_SESSION_STATUS_KEY = -9,
  /**
   * The options ask for what their carrier lacks, or the two ends have different carriers.
   */
  TFRC_SESSION_STATUS_CARRIER = -10,
  /**
   * The peer cannot be reached, or does not take the session.
   */
  TFRC_SESSION_STATUS_REFUSED = -11,
  /**
   * The file cannot be read or written, or is there already.
   */
  TFRC_SESSION_STATUS_FILE = -12,
  /**
   * The file is not whole at the receiver.
   */
  TFRC_SESSION_STATUS_NOT_WHOLE = -13,
  /**
   * One of the two ends was made for another part, such as datagrams in place of a file.
   */
  TFRC_SESSION_STATUS_PART = -14,
  /**
   * The system gives no thread.
   */
  TFRC_SESSION_STATUS_SYSTEM = -15,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_session_status tfrc_session_status;
#else
typedef int32_t tfrc_session_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The part of an end in its sessions. The peer has the opposite one. Of datagrams the end that
 * receives may send a few as well, such as answers.
 */
enum tfrc_session_part
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It sends datagrams.
   */
  TFRC_SESSION_PART_SENDS = 0,
  /**
   * It receives datagrams.
   */
  TFRC_SESSION_PART_RECEIVES = 1,
  /**
   * It sends one file in a session; the peer may be `tfrc recv -o FILE`.
   */
  TFRC_SESSION_PART_SENDS_FILE = 2,
  /**
   * It receives one file in a session; the peer may be `tfrc send -f FILE`.
   */
  TFRC_SESSION_PART_RECEIVES_FILE = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_session_part tfrc_session_part;
#else
typedef uint8_t tfrc_session_part;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The rate control of data that this end sends.
 */
enum tfrc_session_profile
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * RFC 5348 alone.
   */
  TFRC_SESSION_PROFILE_RFC5348 = 0,
  /**
   * Fair to the TCPs of today.
   */
  TFRC_SESSION_PROFILE_BALANCED = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_session_profile tfrc_session_profile;
#else
typedef uint8_t tfrc_session_profile;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Policy for a file that exists.
 */
enum tfrc_session_existing
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It stays, and the call is refused.
   */
  TFRC_SESSION_EXISTING_REFUSE = 0,
  /**
   * It is replaced once the new one is whole.
   */
  TFRC_SESSION_EXISTING_OVERWRITE = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum tfrc_session_existing tfrc_session_existing;
#else
typedef uint8_t tfrc_session_existing;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A UDP port that takes sessions.
 */
typedef struct tfrc_session_listener tfrc_session_listener;

/**
 * Options of a listener, or of a session that connects. They are copied where they are used, and
 * may be freed then.
 *
 * Without a key, sessions are over DCCP, and anybody on the path can read and change them. With
 * one they are private, over QUIC, as those of `tfrc --quic`.
 */
typedef struct tfrc_session_options tfrc_session_options;

/**
 * One end of a session. Datagrams keep their boundaries; the network may lose some, and change
 * their order.
 */
typedef struct tfrc_session tfrc_session;

/**
 * A file that has arrived: the hash of the whole agreed.
 */
typedef struct tfrc_session_file_copy {
  /**
   * Its length, bytes.
   */
  uint64_t bytes;
  /**
   * Bytes that went after the first pass, in place of those that the network lost.
   */
  uint64_t repaired_bytes;
} tfrc_session_file_copy;

/**
 * A session at one moment.
 */
typedef struct tfrc_session_stats {
  /**
   * X, the allowed rate of what this end sends, bit/s.
   */
  double allowed_rate_bps;
  /**
   * R, the round-trip time, ns; `TFRC_SESSION_NEVER` before it was measured.
   */
  uint64_t rtt_ns;
  /**
   * p of what this end sends, 0 to 1.
   */
  double loss_event_rate;
  /**
   * p of what this end receives, 0 to 1.
   */
  double received_loss_event_rate;
  /**
   * Datagrams that wait to be sent.
   */
  uint64_t queued_packets;
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
   * Datagrams not sent because the session ended, or the path had become too narrow.
   */
  uint64_t unsent_packets;
  /**
   * Datagrams that came when the program did not read in time.
   */
  uint64_t queue_dropped_packets;
} tfrc_session_stats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Sends a file until the peer has all of it, and ends the session. Null for `copy` is allowed.
 * After TFRC_SESSION_STATUS_TIMEOUT the session is of no more use.
 */
tfrc_session_status tfrc_session_send_file(const struct tfrc_session *session,
                                           const char *path,
                                           uint64_t timeout_ms,
                                           struct tfrc_session_file_copy *copy);

/**
 * Receives the peer's file, and ends the session: `path` is there once the hash of the whole
 * agrees and all of it is on the disk. `existing` is a `tfrc_session_existing`; null for `copy` is
 * allowed. What an unfinished session has brought is left in `path` with `.part` behind it. After
 * TFRC_SESSION_STATUS_TIMEOUT the session is of no more use.
 */
tfrc_session_status tfrc_session_receive_file(const struct tfrc_session *session,
                                              const char *path,
                                              uint8_t existing,
                                              uint64_t timeout_ms,
                                              struct tfrc_session_file_copy *copy);

/**
 * Opens a UDP port at `address`, `HOST:PORT`; port 0 lets the system choose. Null for `options`
 * takes one session over DCCP at a time, and receives datagrams.
 */
tfrc_session_status tfrc_session_listen(const struct tfrc_session_options *options,
                                        const char *address,
                                        struct tfrc_session_listener **listener);

/**
 * The address that is listened on, `HOST:PORT`; null for null. It lives as long as the listener.
 */
const char *tfrc_session_listener_address(const struct tfrc_session_listener *listener);

/**
 * Takes the next session. After TFRC_SESSION_STATUS_TIMEOUT the text of the error names the peer
 * that was refused last, if there was one.
 */
tfrc_session_status tfrc_session_accept(const struct tfrc_session_listener *listener,
                                        uint64_t timeout_ms,
                                        struct tfrc_session **session);

/**
 * Takes no more sessions, and waits for peers that have not heard the end of theirs: some seconds,
 * at most `timeout_ms`. A receiver calls it before the process ends, so that no sender is left
 * without an answer.
 */
tfrc_session_status tfrc_session_listener_close(const struct tfrc_session_listener *listener,
                                                uint64_t timeout_ms);

/**
 * Frees a listener; null is allowed. Its port is open until its last session is freed.
 */
void tfrc_session_listener_free(struct tfrc_session_listener *listener);

/**
 * Options of a session over DCCP in which the end that connects sends datagrams.
 */
struct tfrc_session_options *tfrc_session_options_new(void);

/**
 * Frees options; null is allowed.
 */
void tfrc_session_options_free(struct tfrc_session_options *options);

/**
 * Makes sessions private, over QUIC, with the key in this file. If the file is not there it is
 * made, for its owner alone. Null for `path` makes a key that no file has, a new one in each call.
 */
tfrc_session_status tfrc_session_options_set_key(struct tfrc_session_options *options,
                                                 const char *path);

/**
 * The fingerprint of this end's key, `SHA256:` and 43 letters, which the peer needs to know; null
 * before `tfrc_session_options_set_key`. It lives until that is called again, or the options are
 * freed.
 */
const char *tfrc_session_options_key(const struct tfrc_session_options *options);

/**
 * Adds the fingerprint of a peer's key. A listener lets in the owners of these keys, and everybody
 * if there are none; a private session that connects needs the key of the end that it calls.
 */
tfrc_session_status tfrc_session_options_add_peer_key(struct tfrc_session_options *options,
                                                      const char *fingerprint);

/**
 * The part of this end, a `tfrc_session_part`. Without this the end that connects sends datagrams,
 * and the one that listens receives them.
 */
tfrc_session_status tfrc_session_options_set_part(struct tfrc_session_options *options,
                                                  uint8_t part);

/**
 * Connections that a listener has at once, at least 1; 1 by default. Others are told that it is
 * busy. A connection takes its place from its handshake until its session is freed.
 */
tfrc_session_status tfrc_session_options_set_connections(struct tfrc_session_options *options,
                                                         size_t connections);

/**
 * The rate control of what this end sends, a `tfrc_session_profile`: balanced by default.
 */
tfrc_session_status tfrc_session_options_set_profile(struct tfrc_session_options *options,
                                                     uint8_t profile);

/**
 * The application's own limit, bit/s, above zero; `INFINITY`, the default, for none.
 */
tfrc_session_status tfrc_session_options_set_cap_bps(struct tfrc_session_options *options,
                                                     double bps);

/**
 * The longest queueing delay that the flow may make, at least 1 ms: it sends less than X then.
 * `TFRC_SESSION_NEVER`, the default, for no bound.
 */
tfrc_session_status tfrc_session_options_set_max_queue_delay(struct tfrc_session_options *options,
                                                             uint64_t delay_ms);

/**
 * Datagrams that have waited longer than this when their turn comes are dropped, and a full queue,
 * of 1024 then, drops its oldest: for live media. `TFRC_SESSION_NEVER`, the default: they wait.
 */
tfrc_session_status tfrc_session_options_set_deadline(struct tfrc_session_options *options,
                                                      uint64_t deadline_ms);

/**
 * Silence after which the peer counts as gone, at least 1 ms; `TFRC_SESSION_NEVER` for the usual
 * 60 s.
 */
tfrc_session_status tfrc_session_options_set_silence(struct tfrc_session_options *options,
                                                     uint64_t silence_ms);

/**
 * Connects to the listener at `address`, `HOST:PORT`: to the first of its addresses that answers.
 * Null for `options` sends datagrams over DCCP.
 */
tfrc_session_status tfrc_session_connect(const struct tfrc_session_options *options,
                                         const char *address,
                                         uint64_t timeout_ms,
                                         struct tfrc_session **session);

/**
 * Hands over a datagram, which goes when the rate allows: waits while many wait already. After
 * TFRC_SESSION_STATUS_FULL it was not taken.
 */
tfrc_session_status tfrc_session_send(const struct tfrc_session *session,
                                      const uint8_t *datagram,
                                      size_t length,
                                      uint64_t timeout_ms);

/**
 * Writes the next datagram that has come to the buffer, and its length to `length`.
 * TFRC_SESSION_STATUS_NOTHING and a length of 0: the peer sends no more, or is gone, and
 * `tfrc_session_close` says which. TFRC_SESSION_STATUS_BUFFER: the length that the buffer needs.
 */
tfrc_session_status tfrc_session_receive(const struct tfrc_session *session,
                                         uint8_t *buffer,
                                         size_t capacity,
                                         uint64_t timeout_ms,
                                         size_t *length);

/**
 * The longest datagram that fits into a packet now, bytes; 0 for null.
 */
size_t tfrc_session_max_datagram(const struct tfrc_session *session);

/**
 * Writes the session's rates and counts to `stats`.
 */
tfrc_session_status tfrc_session_get_stats(const struct tfrc_session *session,
                                           struct tfrc_session_stats *stats);

/**
 * The peer's address when the session began, `HOST:PORT`; null for null. It lives as long as the
 * session.
 */
const char *tfrc_session_peer(const struct tfrc_session *session);

/**
 * The fingerprint of the peer's key, which the peer has proved to have; null over DCCP, which has
 * none. It lives as long as the session.
 */
const char *tfrc_session_peer_key(const struct tfrc_session *session);

/**
 * Ends the session once everything has been sent, or agrees to the end that the peer has asked
 * for, with a text of at most 200 bytes for the peer; null for none. An end that has connected and
 * agrees stays for some seconds for a peer that does not hear it. After
 * TFRC_SESSION_STATUS_TIMEOUT it may be called again.
 */
tfrc_session_status tfrc_session_close(const struct tfrc_session *session,
                                       const char *text,
                                       uint64_t timeout_ms);

/**
 * The text with which the peer has ended the session; null before `tfrc_session_close` was done.
 * It lives as long as the session.
 */
const char *tfrc_session_peer_text(const struct tfrc_session *session);

/**
 * Frees a session, and breaks it off if it was not closed; null is allowed.
 */
void tfrc_session_free(struct tfrc_session *session);

/**
 * The reason of the last answer below zero in this thread, in a sentence; empty if there was none.
 * It lives until the next answer below zero in this thread.
 */
const char *tfrc_session_error(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TFRC_SESSION_H */
