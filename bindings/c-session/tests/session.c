/* Two ends in one process, over both carriers, and what is refused. Ends with 1 at the first wrong
 * answer. Run under the address sanitizer. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrc_session.h>

#define EXPECT(truth)                                                                        \
  do {                                                                                       \
    if (!(truth)) {                                                                          \
      fprintf(stderr, "%s:%d: not true: %s (%s)\n", __FILE__, __LINE__, #truth, tfrc_session_error()); \
      exit(1);                                                                               \
    }                                                                                        \
  } while (0)
#define OK(call) EXPECT((call) == TFRC_SESSION_STATUS_OK)
/* The status, and a word of its text. */
#define REFUSED(call, status, word) \
  EXPECT((call) == TFRC_SESSION_STATUS_##status && strstr(tfrc_session_error(), word) != NULL)

#define PATIENCE 30000
#define DATAGRAMS 50

static void nulls(void) {
  tfrc_session_options *options = tfrc_session_options_new();
  tfrc_session_listener *listener;
  tfrc_session *session;
  uint8_t byte = 0;
  size_t length;
  tfrc_session_stats stats;
  EXPECT(*tfrc_session_error() == 0);
  REFUSED(tfrc_session_options_set_key(NULL, NULL), NULL, "options is a null pointer");
  REFUSED(tfrc_session_options_add_peer_key(NULL, "SHA256:x"), NULL, "options");
  REFUSED(tfrc_session_options_add_peer_key(options, NULL), NULL, "fingerprint");
  REFUSED(tfrc_session_options_set_part(NULL, 0), NULL, "options");
  REFUSED(tfrc_session_options_set_connections(NULL, 1), NULL, "options");
  REFUSED(tfrc_session_options_set_profile(NULL, 0), NULL, "options");
  REFUSED(tfrc_session_options_set_cap_bps(NULL, 1e6), NULL, "options");
  REFUSED(tfrc_session_options_set_max_queue_delay(NULL, 80), NULL, "options");
  REFUSED(tfrc_session_options_set_deadline(NULL, 80), NULL, "options");
  REFUSED(tfrc_session_options_set_silence(NULL, 80), NULL, "options");
  REFUSED(tfrc_session_listen(NULL, NULL, &listener), NULL, "address");
  REFUSED(tfrc_session_listen(NULL, "127.0.0.1:0", NULL), NULL, "listener");
  REFUSED(tfrc_session_accept(NULL, 0, &session), NULL, "listener");
  EXPECT(session == NULL);
  REFUSED(tfrc_session_listener_close(NULL, 0), NULL, "listener");
  REFUSED(tfrc_session_connect(NULL, NULL, 0, &session), NULL, "address");
  REFUSED(tfrc_session_connect(NULL, "127.0.0.1:1", 0, NULL), NULL, "session");
  REFUSED(tfrc_session_send(NULL, &byte, 1, 0), NULL, "session");
  REFUSED(tfrc_session_receive(NULL, &byte, 1, 0, &length), NULL, "session");
  REFUSED(tfrc_session_receive(NULL, &byte, 1, 0, NULL), NULL, "length");
  REFUSED(tfrc_session_get_stats(NULL, &stats), NULL, "session");
  REFUSED(tfrc_session_close(NULL, NULL, 0), NULL, "session");
  REFUSED(tfrc_session_send_file(NULL, "x", 0, NULL), NULL, "session");
  REFUSED(tfrc_session_receive_file(NULL, "x", 0, 0, NULL), NULL, "session");
  EXPECT(tfrc_session_options_key(NULL) == NULL && tfrc_session_options_key(options) == NULL);
  EXPECT(tfrc_session_listener_address(NULL) == NULL && tfrc_session_max_datagram(NULL) == 0);
  EXPECT(tfrc_session_peer(NULL) == NULL && tfrc_session_peer_key(NULL) == NULL);
  EXPECT(tfrc_session_peer_text(NULL) == NULL);
  tfrc_session_options_free(options);
  tfrc_session_options_free(NULL);
  tfrc_session_listener_free(NULL);
  tfrc_session_free(NULL);
}

static void ranges(void) {
  tfrc_session_options *options = tfrc_session_options_new();
  tfrc_session_listener *listener;
  tfrc_session *session;
  REFUSED(tfrc_session_options_set_part(options, 4), RANGE, "no part 4");
  REFUSED(tfrc_session_options_set_connections(options, 0), RANGE, "0 connections");
  REFUSED(tfrc_session_options_set_profile(options, 2), RANGE, "no profile 2");
  REFUSED(tfrc_session_options_set_cap_bps(options, 0), RANGE, "above zero");
  REFUSED(tfrc_session_options_set_cap_bps(options, NAN), RANGE, "above zero");
  REFUSED(tfrc_session_options_set_max_queue_delay(options, 0), RANGE, "0 ms");
  REFUSED(tfrc_session_options_set_deadline(options, 0), RANGE, "0 ms");
  REFUSED(tfrc_session_options_set_silence(options, 0), RANGE, "0 ms");
  REFUSED(tfrc_session_options_add_peer_key(options, "SHA256:x"), RANGE, "43 letters");
  REFUSED(tfrc_session_options_add_peer_key(options, "\xff"), RANGE, "UTF-8");
  REFUSED(tfrc_session_options_set_key(options, "/dev/null/key"), KEY, "/dev/null/key");
  OK(tfrc_session_options_set_cap_bps(options, INFINITY));
  OK(tfrc_session_options_set_silence(options, TFRC_SESSION_NEVER));
  REFUSED(tfrc_session_listen(options, "no port", &listener), ADDRESS, "no port");
  REFUSED(tfrc_session_connect(options, "127.0.0.1:9", PATIENCE, &session), REFUSED, "nobody listens there");
  /* The peer's key without one of this end: DCCP has none. */
  OK(tfrc_session_options_add_peer_key(options, "SHA256:bpPWWWP2Hd1hW67PSZlnIU+oVuiSZQKchq407ZfRvvc"));
  REFUSED(tfrc_session_listen(options, "127.0.0.1:0", &listener), CARRIER, "DCCP has no keys");
  EXPECT(listener == NULL);
  tfrc_session_options_free(options);
  options = tfrc_session_options_new();
  OK(tfrc_session_options_set_key(options, NULL));
  REFUSED(tfrc_session_connect(options, "127.0.0.1:9", 0, &session), KEY, "add_peer_key");
  tfrc_session_options_free(options);
}

/* The end that receives. */
static void *receives(void *argument) {
  tfrc_session *session = argument;
  uint8_t buffer[100];
  size_t length;
  for (int n = 0; n < DATAGRAMS; n++) {
    if (n == 3) {
      REFUSED(tfrc_session_receive(session, buffer, 99, PATIENCE, &length), BUFFER, "of 100 bytes for a buffer of 99");
      EXPECT(length == 100);
    }
    OK(tfrc_session_receive(session, buffer, sizeof buffer, PATIENCE, &length));
    EXPECT(length == 100 && buffer[0] == n && buffer[99] == n);
  }
  EXPECT(tfrc_session_receive(session, buffer, sizeof buffer, PATIENCE, &length) == TFRC_SESSION_STATUS_NOTHING);
  OK(tfrc_session_close(session, "thanks", PATIENCE));
  return NULL;
}

static void datagrams(int is_private) {
  tfrc_session_options *there = tfrc_session_options_new(), *here = tfrc_session_options_new();
  if (is_private) {
    OK(tfrc_session_options_set_key(there, NULL));
    OK(tfrc_session_options_set_key(here, NULL));
    OK(tfrc_session_options_add_peer_key(there, tfrc_session_options_key(here)));
    OK(tfrc_session_options_add_peer_key(here, tfrc_session_options_key(there)));
  }
  OK(tfrc_session_options_set_profile(here, TFRC_SESSION_PROFILE_RFC5348));
  OK(tfrc_session_options_set_max_queue_delay(here, 80));
  tfrc_session_listener *listener;
  tfrc_session *sender, *receiver, *nobody;
  OK(tfrc_session_listen(there, "127.0.0.1:0", &listener));
  const char *address = tfrc_session_listener_address(listener);
  REFUSED(tfrc_session_accept(listener, 10, &nobody), TIMEOUT, "nobody came within 10 ms");
  OK(tfrc_session_connect(here, address, PATIENCE, &sender));
  OK(tfrc_session_accept(listener, PATIENCE, &receiver));
  EXPECT(strcmp(tfrc_session_peer(sender), address) == 0);
  EXPECT(is_private ? strcmp(tfrc_session_peer_key(sender), tfrc_session_options_key(there)) == 0
                    : tfrc_session_peer_key(sender) == NULL);
  uint8_t datagram[100], *long_one = calloc(1, 70000);
  size_t length;
  REFUSED(tfrc_session_receive(receiver, datagram, sizeof datagram, 10, &length), TIMEOUT, "no datagram came");
  REFUSED(tfrc_session_receive(receiver, NULL, 0, 10, &length), NULL, "buffer");
  REFUSED(tfrc_session_send(sender, NULL, 1, 10), NULL, "datagram");
  REFUSED(tfrc_session_send(sender, long_one, 70000, 10), TOO_LONG, "70000 bytes");
  REFUSED(tfrc_session_close(sender, (memset(long_one, 'x', 201), (char *)long_one), 0), RANGE, "at most 200");
  REFUSED(tfrc_session_send_file(sender, "x", 0, NULL), PART, "not made for that");
  free(long_one);
  EXPECT(tfrc_session_max_datagram(sender) > 1000);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, receives, receiver) == 0);
  for (int n = 0; n < DATAGRAMS; n++) {
    memset(datagram, n, sizeof datagram);
    OK(tfrc_session_send(sender, datagram, sizeof datagram, PATIENCE));
  }
  OK(tfrc_session_close(sender, NULL, PATIENCE));
  EXPECT(pthread_join(thread, NULL) == 0);
  EXPECT(strcmp(tfrc_session_peer_text(sender), "thanks") == 0);
  REFUSED(tfrc_session_send(sender, datagram, 1, 0), CLOSED, "closed");
  tfrc_session_stats stats;
  OK(tfrc_session_get_stats(sender, &stats));
  EXPECT(stats.sent_packets == DATAGRAMS && stats.sent_bytes == 100 * DATAGRAMS && stats.allowed_rate_bps > 0);
  EXPECT(stats.rtt_ns != TFRC_SESSION_NEVER && stats.loss_event_rate == 0 && stats.late_packets == 0);
  OK(tfrc_session_get_stats(receiver, &stats));
  EXPECT(stats.received_packets == DATAGRAMS && stats.peer_sent_packets == DATAGRAMS);
  /* In an order that the header allows. */
  tfrc_session_listener_free(listener);
  tfrc_session_free(receiver);
  tfrc_session_free(sender);
  tfrc_session_options_free(here);
  tfrc_session_options_free(there);
}

/* A queue that stays full, and one that drops its oldest. */
static void a_full_queue(int drops) {
  tfrc_session_options *here = tfrc_session_options_new();
  OK(tfrc_session_options_set_cap_bps(here, 8000));
  if (drops) OK(tfrc_session_options_set_deadline(here, 50));
  tfrc_session_listener *listener;
  tfrc_session *sender;
  OK(tfrc_session_listen(NULL, "127.0.0.1:0", &listener));
  OK(tfrc_session_connect(here, tfrc_session_listener_address(listener), PATIENCE, &sender));
  uint8_t datagram[1000] = {0};
  tfrc_session_status status = TFRC_SESSION_STATUS_OK;
  /* More than wait where they are dropped when late, which is 1024. */
  for (int n = 0; n < 1200 && status == TFRC_SESSION_STATUS_OK; n++) {
    status = tfrc_session_send(sender, datagram, sizeof datagram, 0);
  }
  EXPECT(status == (drops ? TFRC_SESSION_STATUS_OK : TFRC_SESSION_STATUS_FULL));
  EXPECT(drops || strstr(tfrc_session_error(), "stayed full") != NULL);
  tfrc_session_stats stats;
  OK(tfrc_session_get_stats(sender, &stats));
  EXPECT(drops ? stats.late_packets > 100 : stats.queued_packets >= 60);
  tfrc_session_free(sender);
  OK(tfrc_session_listener_close(listener, 0));
  REFUSED(tfrc_session_accept(listener, PATIENCE, &sender), CLOSED, "the listener is closed");
  tfrc_session_listener_free(listener);
  tfrc_session_options_free(here);
}

/* Keys that are not the right ones, in both directions, and another carrier. */
static void wrong_ends(void) {
  tfrc_session_options *there = tfrc_session_options_new(), *here = tfrc_session_options_new();
  tfrc_session_options *other = tfrc_session_options_new();
  OK(tfrc_session_options_set_key(there, NULL));
  OK(tfrc_session_options_set_key(here, NULL));
  OK(tfrc_session_options_set_key(other, NULL));
  OK(tfrc_session_options_add_peer_key(there, tfrc_session_options_key(here)));
  OK(tfrc_session_options_add_peer_key(here, tfrc_session_options_key(other)));
  OK(tfrc_session_options_add_peer_key(other, tfrc_session_options_key(there)));
  tfrc_session_listener *listener;
  tfrc_session *session;
  OK(tfrc_session_listen(there, "127.0.0.1:0", &listener));
  const char *address = tfrc_session_listener_address(listener);
  REFUSED(tfrc_session_connect(here, address, PATIENCE, &session), KEY, "not the expected one");
  REFUSED(tfrc_session_connect(other, address, PATIENCE, &session), KEY, "does not let the key");
  REFUSED(tfrc_session_accept(listener, 10, &session), TIMEOUT, tfrc_session_options_key(other));
  REFUSED(tfrc_session_connect(NULL, address, PATIENCE, &session), CARRIER, "tfrc_session_options_set_key");
  tfrc_session_listener_free(listener);
  OK(tfrc_session_listen(NULL, "127.0.0.1:0", &listener));
  REFUSED(tfrc_session_connect(here, tfrc_session_listener_address(listener), PATIENCE, &session), CARRIER, "DCCP");
  tfrc_session_listener_free(listener);
  tfrc_session_options_free(other);
  tfrc_session_options_free(here);
  tfrc_session_options_free(there);
}

int main(void) {
  nulls();
  ranges();
  datagrams(0);
  datagrams(1);
  a_full_queue(0);
  a_full_queue(1);
  wrong_ends();
  return 0;
}
