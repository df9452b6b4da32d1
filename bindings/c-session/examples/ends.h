/* Options of an end, and the two ways to a session. */
#ifndef ENDS_H
#define ENDS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrc_session.h>

/* Time for a listener to answer, and for a session to end, ms. */
#define PATIENCE 30000

/* Ends the program if an answer is below zero. */
static inline tfrc_session_status done(tfrc_session_status status) {
  if (status < 0) {
    fprintf(stderr, "error: %s\n", tfrc_session_error());
    exit(1);
  }
  return status;
}

/* The options of an end with this part. With a file for its key the session is private; `peer_key`
 * is the fingerprint of the other end. */
static inline tfrc_session_options *options_of(tfrc_session_part part, const char *key, const char *peer_key) {
  tfrc_session_options *options = tfrc_session_options_new();
  done(tfrc_session_options_set_part(options, part));
  /* A peer that is gone is noticed after 2 s in place of 60 s. */
  done(tfrc_session_options_set_silence(options, 2000));
  if (key != NULL) {
    done(tfrc_session_options_set_key(options, key));
    fprintf(stderr, "this end's key is %s\n", tfrc_session_options_key(options));
  }
  if (peer_key != NULL) done(tfrc_session_options_add_peer_key(options, peer_key));
  return options;
}

/* A port, and the first session into it. */
static inline tfrc_session *accepted(const tfrc_session_options *options, const char *address,
                                     tfrc_session_listener **listener) {
  tfrc_session *session;
  done(tfrc_session_listen(options, address, listener));
  fprintf(stderr, "listening on %s\n", tfrc_session_listener_address(*listener));
  done(tfrc_session_accept(*listener, TFRC_SESSION_NEVER, &session));
  return session;
}

#endif
