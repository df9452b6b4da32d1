/* Sends a file, or receives one that is not there yet; the other end may be `tfrc recv -o` or
 * `tfrc send -f`, and Python.
 *
 *   files receive FILE ADDRESS [KEY_FILE [PEER_KEY]]
 *   files send FILE ADDRESS [KEY_FILE PEER_KEY] */
#include "ends.h"

int main(int count, char **words) {
  int sends = count > 3 && strcmp(words[1], "send") == 0;
  if (count < 4 || count > 6 || (!sends && strcmp(words[1], "receive") != 0)) {
    fprintf(stderr, "usage: %s send|receive FILE HOST:PORT [KEY_FILE [PEER_KEY]]\n", words[0]);
    return 2;
  }
  tfrc_session_part part = sends ? TFRC_SESSION_PART_SENDS_FILE : TFRC_SESSION_PART_RECEIVES_FILE;
  tfrc_session_options *options =
      options_of(part, count > 4 ? words[4] : NULL, count > 5 ? words[5] : NULL);
  tfrc_session_listener *listener = NULL;
  tfrc_session *session;
  tfrc_session_file_copy copy;
  if (sends) {
    done(tfrc_session_connect(options, words[3], PATIENCE, &session));
    done(tfrc_session_send_file(session, words[2], TFRC_SESSION_NEVER, &copy));
  } else {
    session = accepted(options, words[3], &listener);
    done(tfrc_session_receive_file(session, words[2], TFRC_SESSION_EXISTING_REFUSE, TFRC_SESSION_NEVER, &copy));
  }
  printf("%llu bytes, whole\n", (unsigned long long)copy.bytes);
  tfrc_session_free(session);
  if (listener != NULL) {
    /* The sender may not have heard that. */
    tfrc_session_listener_close(listener, PATIENCE);
    tfrc_session_listener_free(listener);
  }
  tfrc_session_options_free(options);
  return 0;
}
