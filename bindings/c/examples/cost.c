/* Instructions of a data packet: `cost N` sends N packets, each with the calls of a sender and of a
 * receiver; `valgrind --tool=callgrind` counts. examples/cost.rs is the same in Rust, to the last bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrc.h>

#define MS 1000000ull

int main(int count, char **words) {
  enum { LINE = 64 };
  uint64_t packets = count > 1 ? strtoull(words[1], NULL, 10) : 0, now = 0, sent = 0;
  struct { uint64_t at; tfrc_report report; } line[LINE];
  unsigned first = 0, end = 0;
  tfrc_sender *sender = tfrc_sender_new(NULL);
  tfrc_receiver *receiver = tfrc_receiver_new(NULL);
  while (sent < packets) {
    uint64_t next = tfrc_sender_next_send(sender, now), timer = tfrc_sender_poll_timeout(sender);
    uint64_t back = first < end ? line[first % LINE].at : TFRC_NEVER;
    uint64_t due = timer < back ? timer : back;
    if (due <= next) {
      now = due > now ? due : now;
      if (back == due) tfrc_sender_on_report(sender, now, &line[first++ % LINE].report);
      tfrc_sender_handle_timeout(sender, now);
      continue;
    }
    now = next > now ? next : now;
    sent++;
    uint64_t rtt = tfrc_sender_rtt(sender), arrived = now + 25 * MS;
    tfrc_arrival arrival = {tfrc_sender_on_sent(sender, now, 1200), rtt, 1200, TFRC_ECN_NOT_ECT};
    if (arrival.number % 100 == 99) continue;
    if (tfrc_receiver_poll_timeout(receiver) <= arrived) tfrc_receiver_handle_timeout(receiver, arrived);
    tfrc_receiver_on_packet(receiver, arrived, &arrival);
    tfrc_report report;
    while (tfrc_receiver_poll_report(receiver, arrived, &report) == TFRC_STATUS_OK && end - first < LINE) {
      line[end % LINE].at = arrived + 25 * MS;
      line[end++ % LINE].report = report;
    }
  }
  double rate = tfrc_sender_allowed_rate_bps(sender);
  unsigned long long bits;
  memcpy(&bits, &rate, sizeof bits);
  printf("%llu packets, %u reports, %.0f bit/s, bits %016llx\n", (unsigned long long)packets, end, rate, bits);
  tfrc_sender_free(sender);
  tfrc_receiver_free(receiver);
  return 0;
}
