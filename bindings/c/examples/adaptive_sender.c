/* A sender that adapts: as many packets as TFRC allows, in packets of its own.
 *
 *   adaptive_sender HOST PORT SECONDS [SIZE]
 *
 * A line a second: time, allowed rate and sent in kbit/s, p, round-trip time in ms. */
#include "socket.h"
#include "wire.h"

int main(int count, char **words) {
  if (count < 4) {
    fprintf(stderr, "usage: %s HOST PORT SECONDS [SIZE]\n", words[0]);
    return 2;
  }
  double seconds = atof(words[3]);
  uint32_t size = count > 4 ? (uint32_t)atoi(words[4]) : 1200;
  if (size < DATA_HEADER || size > 1452 || !(seconds > 0)) {
    fprintf(stderr, "error: SIZE is %d to 1452 bytes, SECONDS above 0\n", DATA_HEADER);
    return 2;
  }
  int socket_ = open_udp(words[1], words[2], connect);
  tfrc_config *config = tfrc_config_new();
  tfrc_config_set_segment(config, size);
  /* Shares with the CUBICs of today; without this line RFC 5348 alone. The receiver takes the same. */
  tfrc_config_set_balanced(config);
  /* poll wakes up within a millisecond. */
  tfrc_config_set_timer_granularity(config, 1000000);
  tfrc_sender *sender = tfrc_sender_new(config);
  tfrc_config_free(config);

  uint8_t packet[LONGEST] = {DATA}, report[LONGEST];
  uint64_t begin = now_ns(), end = begin + (uint64_t)(seconds * 1e9), line = begin;
  uint64_t sent = 0, before = 0, reports = 0;
  for (uint64_t now = begin; now < end; now = now_ns()) {
    ssize_t length;
    while ((length = recv(socket_, report, sizeof report, 0)) >= 0) {
      if (length == REPORT_LENGTH && report[0] == REPORT) {
        tfrc_report told = get_report(report);
        reports += tfrc_sender_on_report(sender, now, &told) == TFRC_STATUS_OK;
      }
    }
    if (errno == ECONNREFUSED) fail("nobody listens there");
    tfrc_sender_handle_timeout(sender, now);
    while (tfrc_sender_next_send(sender, now) <= now) {
      put64(packet + 9, tfrc_sender_rtt(sender));
      put64(packet + 1, tfrc_sender_on_sent(sender, now, size));
      /* A full socket buffer is a loss like any other. */
      if (send(socket_, packet, size, 0) < 0 && errno == ECONNREFUSED) fail("nobody listens there");
      sent++;
    }
    if (now >= line) {
      uint64_t rtt = tfrc_sender_rtt(sender);
      printf("%5.1f s  allowed %7.0f  sent %7.0f kbit/s  p %.4f  R %.1f ms\n", (double)(now - begin) / 1e9,
             tfrc_sender_target_rate_bps(sender) * 1e-3, (double)((sent - before) * size) * 8e-3,
             tfrc_sender_loss_event_rate(sender), rtt == TFRC_NEVER ? 0.0 : (double)rtt / 1e6);
      fflush(stdout);
      line += 1000000000u;
      before = sent;
    }
    uint64_t next = tfrc_sender_next_send(sender, now), timer = tfrc_sender_poll_timeout(sender);
    if (next == TFRC_NEVER) {
      fprintf(stderr, "stopped: the path looks broken (%d)\n", (int)tfrc_sender_stopped(sender));
      break;
    }
    wait_until(socket_, next < timer ? (next < end ? next : end) : (timer < end ? timer : end));
  }
  packet[0] = END;
  for (int i = 0; i < 3; i++) send(socket_, packet, DATA_HEADER, 0);
  printf("%llu packets sent, %llu reports\n", (unsigned long long)sent, (unsigned long long)reports);
  tfrc_sender_free(sender);
  close(socket_);
  return reports > 0 ? 0 : 1;
}
