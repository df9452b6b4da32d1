/* The library from C, in virtual time: the same answers in every run. Ends with 1 at the first
 * wrong one. Run under valgrind and the address sanitizer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrc.h>

#define MS 1000000ull
#define EXPECT(truth)                                                      \
  do {                                                                     \
    if (!(truth)) {                                                        \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #truth); \
      exit(1);                                                             \
    }                                                                      \
  } while (0)

/* RFC 5348 §3.1 at 1500 bytes, 100 ms, 1 %: the value that `tfrc equation` prints. */
static void equation(void) {
  double rate = tfrc_equation_rate_bps(1500, 100 * MS, 0.01);
  EXPECT(fabs(rate - 1347986.8123559158) < 1e-6);
  EXPECT(fabs(tfrc_equation_loss_event_rate(1500, 100 * MS, rate) - 0.01) < 1e-12);
  EXPECT(isinf(tfrc_equation_rate_bps(1460, 100 * MS, 0)));
  EXPECT(isnan(tfrc_equation_rate_bps(1460, 100 * MS, 1.5)));
  EXPECT(isnan(tfrc_equation_rate_bps(0, 100 * MS, 0.1)));
  EXPECT(isnan(tfrc_equation_loss_event_rate(1460, 0, 1e6)));
}

/* A path of 0.3 ms by a clock of `grain`: a packet and its report have the same time. */
static double coarse_rtt(uint64_t stated) {
  const uint64_t grain = 1000000;
  tfrc_config *config = tfrc_config_new();
  EXPECT(tfrc_config_set_clock_grain(config, stated) == TFRC_STATUS_OK);
  EXPECT(tfrc_config_set_no_feedback_floor(config, 100 * MS) == TFRC_STATUS_OK);
  tfrc_sender *sender = tfrc_sender_new(config);
  for (uint64_t n = 0; n < 100; n++) {
    /* Steps of one grain and of nine. */
    uint64_t now = (n / 2 * 10 + n % 2) * grain;
    uint64_t number = tfrc_sender_on_sent(sender, now, 1000);
    tfrc_report report = {.newest_number = number, .receive_rate_bps = 1e9};
    EXPECT(tfrc_sender_on_report(sender, now, &report) == TFRC_STATUS_OK);
    EXPECT(tfrc_sender_poll_timeout(sender) >= now + 100 * MS);
  }
  double rtt = (double)tfrc_sender_rtt(sender);
  tfrc_sender_free(sender);
  tfrc_config_free(config);
  return rtt / grain;
}

static void clocks_with_a_grain(void) {
  EXPECT(coarse_rtt(TFRC_NEVER) == 1);
  EXPECT(coarse_rtt(4 * MS) == 4);
  EXPECT(tfrc_config_set_clock_grain(NULL, 0) == TFRC_STATUS_NULL);
  EXPECT(tfrc_config_set_no_feedback_floor(NULL, 0) == TFRC_STATUS_NULL);
}

static void nulls_and_ranges(void) {
  tfrc_report report = {0};
  tfrc_arrival arrival = {.number = 0, .rtt = TFRC_NEVER, .size = 1, .ecn = 4};
  EXPECT(tfrc_sender_on_report(NULL, 0, &report) == TFRC_STATUS_NULL);
  EXPECT(tfrc_sender_next_send(NULL, 0) == TFRC_NEVER);
  EXPECT(isnan(tfrc_sender_allowed_rate_bps(NULL)));
  EXPECT(tfrc_sender_competed(NULL, 0) == 0 && tfrc_advisor_competed(NULL, 0) == 0);
  EXPECT(tfrc_connection_competed(NULL, 0, 0) == 0);
  EXPECT(tfrc_receiver_on_packet(NULL, 0, &arrival) == TFRC_STATUS_NULL);
  EXPECT(tfrc_advisor_on_acked(NULL, 0, TFRC_NEVER, 0) == TFRC_TAKEN_INVALID);
  EXPECT(tfrc_endpoint_new(NULL, NULL) == NULL);
  EXPECT(tfrc_endpoint_poll_timeout(NULL) == TFRC_NEVER);
  tfrc_sender_free(NULL);
  tfrc_endpoint_free(NULL);

  tfrc_config *config = tfrc_config_new();
  EXPECT(tfrc_config_problem(config) == NULL);
  EXPECT(tfrc_config_set_segment(config, 0) == TFRC_STATUS_RANGE);
  EXPECT(strstr(tfrc_config_problem(config), "segment") != NULL);
  EXPECT(tfrc_config_set_cap_bps(config, -1) == TFRC_STATUS_RANGE);
  EXPECT(tfrc_config_set_cap_bps(config, NAN) == TFRC_STATUS_RANGE);
  EXPECT(tfrc_config_set_max_queue_delay(config, 999999) == TFRC_STATUS_RANGE && tfrc_config_problem(config));
  EXPECT(tfrc_config_set_max_queue_delay(config, 80000000) == TFRC_STATUS_OK);
  EXPECT(tfrc_config_set_max_queue_delay(config, TFRC_NEVER) == TFRC_STATUS_OK);
  EXPECT(tfrc_config_set_segment(config, 1000) == TFRC_STATUS_OK && tfrc_config_problem(config) == NULL);

  tfrc_config *balanced = tfrc_config_new();
  EXPECT(tfrc_config_set_balanced(balanced) == TFRC_STATUS_OK);
  EXPECT(tfrc_config_set_friend(balanced, TFRC_FRIEND_RENO) == TFRC_STATUS_OK);
  EXPECT(tfrc_config_set_friend(balanced, 2) == TFRC_STATUS_RANGE);
  EXPECT(tfrc_config_set_balanced(NULL) == TFRC_STATUS_NULL);
  tfrc_config_free(balanced);

  tfrc_sender *sender = tfrc_sender_new(config);
  EXPECT(tfrc_sender_on_sent(sender, 0, 1000) == 0);
  report.newest_number = 5;
  EXPECT(tfrc_sender_on_report(sender, MS, &report) == TFRC_STATUS_STALE);
  report.newest_number = 0;
  report.loss_event_rate = 2;
  EXPECT(tfrc_sender_on_report(sender, MS, &report) == TFRC_STATUS_RANGE);
  EXPECT(tfrc_sender_resume(sender, MS) == TFRC_STATUS_NOT_NOW);
  EXPECT(tfrc_sender_stopped(sender) == TFRC_TRIP_NONE);
  /* The initial rate at 100 ms is 4000 bytes in each; cap and floor bound the target alone. */
  tfrc_rate_change change;
  EXPECT(tfrc_sender_poll_event(sender, &change) == TFRC_STATUS_NOTHING);
  EXPECT(tfrc_sender_on_rtt_sample(sender, MS, 100 * MS) == TFRC_STATUS_OK);
  EXPECT(tfrc_sender_poll_event(sender, &change) == TFRC_STATUS_OK && change.at == MS && change.rtt == 100 * MS);
  EXPECT(change.reason == TFRC_RATE_REASON_INITIAL && tfrc_sender_rate_reason(sender) == TFRC_RATE_REASON_INITIAL);
  EXPECT(fabs(change.to_bps - 320000) < 1 && tfrc_sender_allowed_rate_bps(sender) == change.to_bps);
  EXPECT(tfrc_sender_set_cap_bps(sender, 0) == TFRC_STATUS_RANGE);
  EXPECT(tfrc_sender_set_cap_bps(sender, 1e5) == TFRC_STATUS_OK && tfrc_sender_target_rate_bps(sender) == 1e5);
  EXPECT(tfrc_sender_set_cap_bps(sender, INFINITY) == TFRC_STATUS_OK);
  EXPECT(tfrc_sender_set_floor_bps(sender, NAN) == TFRC_STATUS_RANGE);
  EXPECT(tfrc_sender_set_floor_bps(sender, 5e5) == TFRC_STATUS_OK && tfrc_sender_target_rate_bps(sender) == 5e5);
  EXPECT(tfrc_sender_allowed_rate_bps(sender) == change.to_bps);
  tfrc_sender_free(sender);

  tfrc_receiver *receiver = tfrc_receiver_new(config);
  EXPECT(tfrc_receiver_on_packet(receiver, 0, &arrival) == TFRC_STATUS_RANGE);
  EXPECT(tfrc_receiver_poll_report(receiver, 0, &report) == TFRC_STATUS_NOTHING);
  tfrc_receiver_free(receiver);
  tfrc_config_free(config);
  EXPECT(strcmp(tfrc_status_text(TFRC_STATUS_FULL), "the send queue is full") == 0);
}

/* A path of 50 ms each way that loses every hundredth packet, for 60 s: the rate settles where the
 * equation puts it. */
static void sender_and_receiver(void) {
  enum { LINE = 4096 };
  static struct { uint64_t at, number, rtt; } there[LINE];
  static struct { uint64_t at; tfrc_report report; } back[LINE];
  unsigned there_first = 0, there_end = 0, back_first = 0, back_end = 0;
  tfrc_sender *sender = tfrc_sender_new(NULL);
  tfrc_receiver *receiver = tfrc_receiver_new(NULL);
  double sum = 0;
  uint64_t samples = 0;
  for (uint64_t now = 0; now < 60000 * MS; now += MS) {
    for (; there_first < there_end && there[there_first % LINE].at <= now; there_first++) {
      tfrc_arrival arrival = {there[there_first % LINE].number, there[there_first % LINE].rtt, 1460, TFRC_ECN_NOT_ECT};
      EXPECT(tfrc_receiver_on_packet(receiver, now, &arrival) == TFRC_STATUS_OK);
    }
    tfrc_receiver_handle_timeout(receiver, now);
    for (tfrc_report report; tfrc_receiver_poll_report(receiver, now, &report) == TFRC_STATUS_OK; back_end++) {
      back[back_end % LINE].at = now + 50 * MS;
      back[back_end % LINE].report = report;
    }
    for (; back_first < back_end && back[back_first % LINE].at <= now; back_first++) {
      EXPECT(tfrc_sender_on_report(sender, now, &back[back_first % LINE].report) == TFRC_STATUS_OK);
    }
    tfrc_sender_handle_timeout(sender, now);
    while (tfrc_sender_next_send(sender, now) <= now) {
      uint64_t rtt = tfrc_sender_rtt(sender), number = tfrc_sender_on_sent(sender, now, 1460);
      if (number % 100 == 99) continue;
      there[there_end % LINE].at = now + 50 * MS;
      there[there_end % LINE].number = number;
      there[there_end++ % LINE].rtt = rtt;
      EXPECT(there_end - there_first < LINE && back_end - back_first < LINE);
    }
    if (now >= 20000 * MS) {
      sum += tfrc_sender_allowed_rate_bps(sender);
      samples++;
    }
  }
  double expected = tfrc_equation_rate_bps(1460, 100 * MS, tfrc_sender_loss_event_rate(sender));
  EXPECT(fabs(sum / (double)samples / expected - 1) < 0.1);
  EXPECT(fabs(tfrc_sender_loss_event_rate(sender) - 0.01) < 0.001);
  EXPECT(tfrc_sender_rtt(sender) >= 100 * MS && tfrc_sender_rtt(sender) < 103 * MS);
  tfrc_sender_free(sender);
  tfrc_receiver_free(receiver);
}

/* A queue that grows by a tenth of the time from the first second on, whatever is sent: others fill
 * it. */
static void competing(void) {
  tfrc_config *config = tfrc_config_new();
  uint64_t now = 0;
  for (int bounded = 0; bounded < 2; bounded++) {
    EXPECT(tfrc_config_set_max_queue_delay(config, bounded ? 80 * MS : TFRC_NEVER) == TFRC_STATUS_OK);
    tfrc_sender *sender = tfrc_sender_new(config);
    tfrc_advisor *advisor = tfrc_advisor_new(config, 0);
    for (uint64_t number = 0; number < 3000; number++) {
      now = 10 * MS * number;
      uint64_t behind = number > 100 ? 10 + (number - 100) / 10 : 10;
      EXPECT(tfrc_sender_on_sent(sender, now, 1000) == number);
      EXPECT(tfrc_advisor_on_sent(advisor, now, number, 1000) == TFRC_STATUS_OK);
      if (number % 10 != 9 || number < behind) continue;
      tfrc_report report = {.newest_number = number - behind, .receive_rate_bps = 8e5};
      EXPECT(tfrc_sender_on_report(sender, now, &report) == TFRC_STATUS_OK);
      tfrc_advisor_on_acked_range(advisor, 0, number - behind, TFRC_ECN_NOT_ECT);
      EXPECT(tfrc_advisor_on_report_with_rtt(advisor, now, behind * 10 * MS) == TFRC_STATUS_OK);
    }
    /* The first two drainings end after 5 s; looks after 5 and 10 s of competition take 2 and 5 s. */
    uint64_t least = bounded ? 15000 * MS : 0, most = bounded ? 20000 * MS : 0;
    EXPECT(tfrc_sender_competed(sender, now) >= least && tfrc_sender_competed(sender, now) <= most);
    EXPECT(tfrc_advisor_competed(advisor, now) >= least && tfrc_advisor_competed(advisor, now) <= most);
    tfrc_sender_free(sender);
    tfrc_advisor_free(advisor);
  }
  tfrc_config_free(config);
}

static void advisor(void) {
  tfrc_advisor *advisor = tfrc_advisor_new(NULL, 0);
  uint64_t now = 0, id = 0;
  for (; now < 20000 * MS; now += MS) {
    tfrc_advisor_handle_timeout(advisor, now);
    for (; tfrc_advisor_next_send(advisor, now) <= now; id++) {
      EXPECT(tfrc_advisor_on_sent(advisor, now, id, 1200) == TFRC_STATUS_OK);
      if (id % 50 == 49) continue;
      EXPECT(tfrc_advisor_on_acked(advisor, id, TFRC_NEVER, TFRC_ECN_ECT0) == TFRC_TAKEN_NEW);
    }
    EXPECT(tfrc_advisor_on_report(advisor, now + 80 * MS, 0) == TFRC_STATUS_OK);
    now += 80 * MS;
  }
  EXPECT(tfrc_advisor_on_acked(advisor, id + 9, TFRC_NEVER, 0) == TFRC_TAKEN_UNKNOWN);
  EXPECT(tfrc_advisor_rtt(advisor) == 80 * MS);
  EXPECT(tfrc_advisor_loss_event_rate(advisor) > 0.01 && tfrc_advisor_allowed_rate_bps(advisor) > 80000);
  tfrc_advisor_free(advisor);
}

/* Packets 0 to 5 are told late, along with their fates; 2 is never acknowledged, 4 is lost. */
static void advisor_told(void) {
  tfrc_advisor *advisor = tfrc_advisor_new(NULL, 0);
  EXPECT(tfrc_advisor_set_losses(advisor, 7) == TFRC_STATUS_RANGE);
  EXPECT(tfrc_advisor_set_losses(advisor, TFRC_LOSSES_BY_TRANSPORT) == TFRC_STATUS_OK);
  EXPECT(tfrc_advisor_on_rtt_sample(advisor, 0, 90 * MS) == TFRC_STATUS_OK && tfrc_advisor_rtt(advisor) == 90 * MS);
  tfrc_advisor_handle_timeout(advisor, 180 * MS);
  for (uint64_t id = 0; id < 6; id++) EXPECT(tfrc_advisor_on_sent(advisor, id * 20 * MS, id, 1200) == TFRC_STATUS_OK);
  EXPECT(tfrc_advisor_on_acked_range(advisor, 0, 1, 4) == 0 && tfrc_advisor_on_acked_range(advisor, 0, 1, 0) == 2);
  EXPECT(tfrc_advisor_on_acked_range(advisor, 3, 3, 0) == 1 && tfrc_advisor_on_acked_range(advisor, 5, 5, 0) == 1);
  EXPECT(tfrc_advisor_on_lost(advisor, 4) == TFRC_TAKEN_NEW);
  EXPECT(tfrc_advisor_on_unreported(advisor, 6, 9) == TFRC_STATUS_OK);
  EXPECT(tfrc_advisor_on_report_with_rtt(advisor, 200 * MS, 80 * MS) == TFRC_STATUS_OK);
  EXPECT(tfrc_advisor_rtt(advisor) == 80 * MS && tfrc_advisor_loss_events(advisor) == 1);
  EXPECT(tfrc_advisor_on_covered(advisor, 6, 9) == TFRC_STATUS_OK);
  EXPECT(tfrc_advisor_on_losses_undone(advisor, 100 * MS) == 0 && tfrc_advisor_on_losses_undone(advisor, 80 * MS) == 1);
  EXPECT(tfrc_advisor_on_report_with_rtt(advisor, 210 * MS, 80 * MS) == TFRC_STATUS_OK);
  EXPECT(tfrc_advisor_loss_events(advisor) == 0 && tfrc_advisor_loss_event_rate(advisor) == 0);
  EXPECT(tfrc_advisor_on_covered(NULL, 6, 9) == TFRC_STATUS_NULL && tfrc_advisor_on_losses_undone(NULL, 0) == 0);
  EXPECT(tfrc_advisor_forgotten(advisor) == 0 && tfrc_advisor_rate_reason(advisor) != TFRC_RATE_REASON_NONE);
  EXPECT(tfrc_advisor_set_cap_bps(advisor, 1000) == TFRC_STATUS_OK && tfrc_advisor_target_rate_bps(advisor) == 1000);
  EXPECT(tfrc_advisor_set_floor_bps(advisor, 2000) == TFRC_STATUS_OK && tfrc_advisor_target_rate_bps(advisor) == 1000);
  EXPECT(tfrc_advisor_stopped(advisor) == TFRC_TRIP_NONE && tfrc_advisor_resume(advisor, 0) == TFRC_STATUS_NOT_NOW);
  tfrc_rate_change change;
  EXPECT(tfrc_advisor_poll_event(advisor, &change) == TFRC_STATUS_OK && tfrc_advisor_poll_event(advisor, NULL) == TFRC_STATUS_NULL);
  tfrc_advisor_free(advisor);
}

/* Passes on what an end has to send; counts the packets. */
static int carry(uint64_t now, tfrc_endpoint *from, const tfrc_address *its, tfrc_endpoint *to) {
  uint8_t packet[2048];
  tfrc_transmission sent;
  int packets = 0;
  EXPECT(tfrc_endpoint_handle_timeout(from, now) == TFRC_STATUS_OK);
  for (tfrc_status status; (status = tfrc_endpoint_poll_transmit(from, now, packet, 8, &sent)) != TFRC_STATUS_NOTHING; packets++) {
    EXPECT(status == TFRC_STATUS_BUFFER && sent.length > 8);
    EXPECT(tfrc_endpoint_poll_transmit(from, now, packet, sizeof packet, &sent) == TFRC_STATUS_OK);
    EXPECT(tfrc_endpoint_handle_datagram(to, now, its, sent.ecn, packet, sent.length) == TFRC_STATUS_OK);
  }
  return packets;
}

static void endpoints(void) {
  uint8_t near_seed[32] = {1}, far_seed[32] = {2}, datagram[64];
  tfrc_address near = {.ip = {192, 0, 2, 1}, .port = 40000, .version = 4};
  tfrc_address far = {.ip = {192, 0, 2, 2}, .port = 6511, .version = 4};
  tfrc_endpoint_config *config = tfrc_endpoint_config_new();
  EXPECT(tfrc_endpoint_config_set_listen(config, 5001, 0, 0) == TFRC_STATUS_RANGE);
  EXPECT(tfrc_endpoint_config_set_listen(config, 5001, 4, 2) == TFRC_STATUS_OK);
  EXPECT(tfrc_endpoint_config_set_service(config, UINT32_MAX) == TFRC_STATUS_RANGE);
  tfrc_endpoint *server = tfrc_endpoint_new(config, far_seed), *client = tfrc_endpoint_new(NULL, near_seed);
  tfrc_endpoint_config_free(config);
  uint64_t connection, theirs = 0, now = 0;
  tfrc_address none = {.version = 5};
  EXPECT(tfrc_endpoint_connect(client, now, &none, 5001, &connection) == TFRC_STATUS_RANGE);
  EXPECT(tfrc_endpoint_connect(client, now, &far, 5001, &connection) == TFRC_STATUS_OK);
  EXPECT(tfrc_endpoint_send(client, now, connection, (const uint8_t *)"hello", 5) == TFRC_STATUS_OK);
  EXPECT(tfrc_endpoint_send(client, now, connection + 77, datagram, 1) == TFRC_STATUS_CLOSED);
  EXPECT(tfrc_endpoint_send(client, now, connection, NULL, 1) == TFRC_STATUS_NULL);
  int closed = 0, received = 0;
  for (int turn = 0; turn < 1000 && closed < 2; turn++) {
    int packets = carry(now, client, &near, server) + carry(now, server, &far, client);
    for (tfrc_event event; tfrc_endpoint_poll_event(server, &event) == TFRC_STATUS_OK;) {
      theirs = event.connection;
      size_t length = 0;
      if (event.kind == TFRC_EVENT_KIND_READABLE) {
        EXPECT(tfrc_endpoint_recv(server, theirs, datagram, 2, &length) == TFRC_STATUS_BUFFER && length == 5);
        EXPECT(tfrc_endpoint_recv(server, theirs, datagram, sizeof datagram, &length) == TFRC_STATUS_OK);
        EXPECT(length == 5 && memcmp(datagram, "hello", 5) == 0);
        EXPECT(tfrc_endpoint_recv(server, theirs, datagram, sizeof datagram, &length) == TFRC_STATUS_NOTHING);
        received = 1;
        EXPECT(tfrc_endpoint_close(client, now, connection) == TFRC_STATUS_OK);
      }
      if (event.kind == TFRC_EVENT_KIND_CLOSE_RECEIVED) tfrc_endpoint_close(server, now, theirs);
      closed += event.kind == TFRC_EVENT_KIND_CLOSED;
    }
    for (tfrc_event event; tfrc_endpoint_poll_event(client, &event) == TFRC_STATUS_OK;) {
      EXPECT(event.connection == connection);
      closed += event.kind == TFRC_EVENT_KIND_CLOSED && event.closed_by == TFRC_CLOSED_BY_US && event.reset_code == 1;
    }
    if (packets == 0) {
      uint64_t first = tfrc_endpoint_poll_timeout(client), second = tfrc_endpoint_poll_timeout(server);
      uint64_t next = first < second ? first : second;
      now = next == TFRC_NEVER || next < now ? now : next;
    }
  }
  EXPECT(received && closed == 2);
  tfrc_connection_stats stats;
  EXPECT(tfrc_connection_get_stats(server, theirs, &stats) == TFRC_STATUS_OK);
  EXPECT(stats.received_packets == 1 && stats.received_bytes == 5 && stats.peer_sent_packets == 1);
  EXPECT(tfrc_connection_competed(server, now, theirs) == 0);
  EXPECT(tfrc_endpoint_release(server, now, theirs) == TFRC_STATUS_OK);
  tfrc_endpoint_free(server);
  tfrc_endpoint_free(client);
}

int main(void) {
  equation();
  nulls_and_ranges();
  clocks_with_a_grain();
  sender_and_receiver();
  competing();
  advisor();
  advisor_told();
  endpoints();
  puts("all as expected");
  return 0;
}
