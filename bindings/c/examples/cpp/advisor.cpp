// An encoder that follows the advisor over a simulated path: 50 ms each way, one packet in a
// hundred lost, a report every 50 ms. The transport paces by itself and tells of a packet only when
// its fate is known, as WebRTC stacks do. A line every ten seconds, and then what is fair.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>

#include <tfrc.h>

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint32_t size = 1200;

struct Packet {
  std::uint64_t id, sent_at;
  bool arrives;
};

struct Free {
  void operator()(tfrc_advisor *advisor) const { tfrc_advisor_free(advisor); }
};

// The packets that the newest report in sight tells of: those sent a round-trip time ago.
static void report(tfrc_advisor *advisor, std::deque<Packet> &flight, std::uint64_t now) {
  for (; !flight.empty() && flight.front().sent_at + 100 * ms <= now; flight.pop_front()) {
    const Packet &packet = flight.front();
    tfrc_advisor_on_sent(advisor, packet.sent_at, packet.id, size);
    if (packet.arrives) {
      // The receiver's clock is an hour ahead.
      const std::uint64_t arrived_at = packet.sent_at + 50 * ms + 3'600'000 * ms;
      tfrc_advisor_on_acked(advisor, packet.id, arrived_at, TFRC_ECN_NOT_ECT);
    }
  }
  tfrc_advisor_on_report(advisor, now, TFRC_NEVER);
}

int main() {
  const std::unique_ptr<tfrc_advisor, Free> advisor(tfrc_advisor_new(nullptr, 50 * ms));
  tfrc_advisor_set_cap_bps(advisor.get(), 20e6);
  std::deque<Packet> flight;
  std::uint64_t id = 0;
  double bits = 0;
  for (std::uint64_t now = ms; now <= 60'000 * ms; now += ms) {
    // What the encoder makes in a millisecond, in packets; no more than three wait.
    bits = std::fmin(bits + tfrc_advisor_target_rate_bps(advisor.get()) * 1e-3, 3 * 8.0 * size);
    for (; bits >= 8.0 * size; bits -= 8.0 * size, id++) flight.push_back({id, now, id % 100 != 99});
    if (now % (50 * ms) == 0) report(advisor.get(), flight, now);
    if (tfrc_advisor_poll_timeout(advisor.get()) <= now) tfrc_advisor_handle_timeout(advisor.get(), now);
    if (now % (10'000 * ms) == 0)
      std::printf("%2.0f s: %7.0f kbit/s, p %.4f\n", double(now) / 1e9,
                  tfrc_advisor_target_rate_bps(advisor.get()) * 1e-3, tfrc_advisor_loss_event_rate(advisor.get()));
  }
  const double fair = tfrc_equation_rate_bps(size, 100 * ms, tfrc_advisor_loss_event_rate(advisor.get()));
  const double share = tfrc_advisor_target_rate_bps(advisor.get()) / fair;
  std::printf("%.2f of the fair rate\n", share);
  return share > 0.8 && share < 1.1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
