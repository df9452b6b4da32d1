/* Sends lines of standard input as datagrams, or prints those that come.
 *
 *   datagrams receive ADDRESS [KEY_FILE [PEER_KEY]]
 *   datagrams send ADDRESS [KEY_FILE PEER_KEY] */
#include "ends.h"

static void receive(const tfrc_session_options *options, const char *address) {
  tfrc_session_listener *listener;
  tfrc_session *session = accepted(options, address, &listener);
  uint8_t datagram[65536];
  size_t length;
  while (done(tfrc_session_receive(session, datagram, sizeof datagram, TFRC_SESSION_NEVER, &length)) !=
         TFRC_SESSION_STATUS_NOTHING) {
    fwrite(datagram, 1, length, stdout);
  }
  done(tfrc_session_close(session, "all read", PATIENCE));
  tfrc_session_free(session);
  /* The sender may not have heard that. */
  tfrc_session_listener_close(listener, PATIENCE);
  tfrc_session_listener_free(listener);
}

static void send_lines(const tfrc_session_options *options, const char *address) {
  tfrc_session *session;
  done(tfrc_session_connect(options, address, PATIENCE, &session));
  char line[1024];
  while (fgets(line, sizeof line, stdin) != NULL) {
    done(tfrc_session_send(session, (const uint8_t *)line, strlen(line), TFRC_SESSION_NEVER));
  }
  done(tfrc_session_close(session, NULL, PATIENCE));
  tfrc_session_stats stats;
  done(tfrc_session_get_stats(session, &stats));
  fprintf(stderr, "%llu datagrams sent to %s, who says: %s\n", (unsigned long long)stats.sent_packets,
          tfrc_session_peer(session), tfrc_session_peer_text(session));
  tfrc_session_free(session);
}

int main(int count, char **words) {
  int sends = count > 2 && strcmp(words[1], "send") == 0;
  if (count < 3 || count > 5 || (!sends && strcmp(words[1], "receive") != 0)) {
    fprintf(stderr, "usage: %s send|receive HOST:PORT [KEY_FILE [PEER_KEY]]\n", words[0]);
    return 2;
  }
  tfrc_session_part part = sends ? TFRC_SESSION_PART_SENDS : TFRC_SESSION_PART_RECEIVES;
  tfrc_session_options *options =
      options_of(part, count > 3 ? words[3] : NULL, count > 4 ? words[4] : NULL);
  (sends ? send_lines : receive)(options, words[2]);
  tfrc_session_options_free(options);
  return 0;
}
