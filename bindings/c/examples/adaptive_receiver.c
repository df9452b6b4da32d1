/* The receiver of adaptive_sender: counts what arrives and reports to the sender. Ends when the
 * sender ends, or after 30 s without a packet.
 *
 *   adaptive_receiver HOST PORT */
#include "socket.h"
#include "wire.h"

int main(int count, char **words) {
  if (count != 3) {
    fprintf(stderr, "usage: %s HOST PORT\n", words[0]);
    return 2;
  }
  int socket_ = open_udp(words[1], words[2], bind);
  tfrc_config *config = tfrc_config_new();
  /* As the sender: the receiver computes the first loss interval of p. */
  tfrc_config_set_balanced(config);
  tfrc_receiver *receiver = tfrc_receiver_new(config);
  tfrc_config_free(config);
  struct sockaddr_storage peer;
  socklen_t peer_length = 0;
  uint8_t packet[LONGEST];
  uint64_t received = 0, bytes = 0, first = 0, last = 0, heard = now_ns();
  int over = 0;
  while (!over && now_ns() < heard + 30000000000u) {
    struct sockaddr_storage from;
    socklen_t from_length = sizeof from;
    ssize_t length = recvfrom(socket_, packet, sizeof packet, 0, (struct sockaddr *)&from, &from_length);
    uint64_t now = now_ns();
    if (length >= DATA_HEADER && packet[0] == DATA) {
      tfrc_arrival arrival = {
          .number = get64(packet + 1),
          .rtt = get64(packet + 9),
          .size = (uint32_t)length,
          .ecn = TFRC_ECN_NOT_ECT,
      };
      tfrc_receiver_on_packet(receiver, now, &arrival);
      peer = from;
      peer_length = from_length;
      first = received == 0 ? now : first;
      received++;
      bytes += (uint64_t)length;
      last = heard = now;
    } else if (length == DATA_HEADER && packet[0] == END) {
      over = 1;
    }
    tfrc_receiver_handle_timeout(receiver, now);
    for (tfrc_report report; peer_length > 0 && tfrc_receiver_poll_report(receiver, now, &report) == TFRC_STATUS_OK;) {
      uint8_t told[REPORT_LENGTH];
      put_report(told, &report);
      sendto(socket_, told, sizeof told, 0, (struct sockaddr *)&peer, peer_length);
    }
    if (length < 0) {
      uint64_t timer = tfrc_receiver_poll_timeout(receiver), patience = heard + 30000000000u;
      wait_until(socket_, timer < patience ? timer : patience);
    }
  }
  double seconds = (double)(last - first) / 1e9;
  printf("%llu packets received, %.0f kbit/s over %.1f s, p %.4f\n", (unsigned long long)received,
         seconds > 0 ? (double)bytes * 8e-3 / seconds : 0.0, seconds, tfrc_receiver_loss_event_rate(receiver));
  tfrc_receiver_free(receiver);
  close(socket_);
  return received > 0 ? 0 : 1;
}
