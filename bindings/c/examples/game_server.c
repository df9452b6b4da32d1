/* A game server: 60 ticks a second, 30 players, an advisor for each. The advisor says whether the
 * state goes out at this tick, and how large it may be. The clients' inputs, one a tick, say which
 * states have come.
 *
 * The network and the clock are made up, so that every run is the same: 30 ms each way, each packet
 * lost with the same probability. A row for each probability: share of the ticks at which a state
 * went out and mean size of a state, with TFRC and with TFRC-SP. docs/guides/games.md has the rows. */
#include <stdbool.h>
#include <stdio.h>
#include <tfrc.h>

enum { PLAYERS = 30, HZ = 60, WARMUP = 5 * HZ, TICKS = 35 * HZ };
enum { FULL = 300, LEAST = 60 }; /* bytes of a state */
enum { ACKS = 8, RECORD = 64 };  /* states in an input, and in the server's record */
static const uint64_t ONE_WAY = 30000000, PHASE = 5000000;

struct player {
  tfrc_advisor *advisor;
  struct { uint64_t sent_at; bool arrives; } states[RECORD];
  uint64_t next, reported; /* states sent, and those before the newest that was reported */
  uint32_t random;
};

struct sums { uint64_t states, bytes; };

static uint64_t time_of(int tick) { return (uint64_t)tick * 1000000000u / HZ; }

static bool is_lost(struct player *player, double loss) {
  player->random = player->random * 1664525u + 1013904223u;
  return (player->random >> 8) < loss * 16777216.0;
}

/* An input has come: the newest state that its client had, and which of the seven before it. */
static void on_input(struct player *player, uint64_t left, uint64_t now) {
  uint64_t newest = player->next;
  while (newest > player->reported && (!player->states[(newest - 1) % RECORD].arrives ||
                                       player->states[(newest - 1) % RECORD].sent_at + ONE_WAY > left))
    newest--;
  if (newest == player->reported) return;
  for (uint64_t id = newest > ACKS ? newest - ACKS : 0; id < newest; id++)
    if (player->states[id % RECORD].arrives) tfrc_advisor_on_acked(player->advisor, id, TFRC_NEVER, TFRC_ECN_NOT_ECT);
  uint64_t hold = left - (player->states[(newest - 1) % RECORD].sent_at + ONE_WAY);
  tfrc_advisor_on_report(player->advisor, now, hold);
  player->reported = newest;
}

/* A tick of the server for one player. */
static void on_tick(struct player *player, int tick, double loss, struct sums *sums) {
  uint64_t now = time_of(tick);
  if (tick >= 3 && !is_lost(player, loss)) {
    uint64_t left = time_of(tick - 3) + PHASE;
    on_input(player, left, left + ONE_WAY);
  }
  tfrc_advisor *advisor = player->advisor;
  if (tfrc_advisor_poll_timeout(advisor) <= now) tfrc_advisor_handle_timeout(advisor, now);
  if (tfrc_advisor_next_send(advisor, now) > now) return; /* the state of a later tick will do */
  double fits = tfrc_advisor_target_rate_bps(advisor) / 8 / HZ;
  uint32_t size = fits >= FULL ? FULL : fits <= LEAST ? LEAST : (uint32_t)fits;
  tfrc_advisor_on_sent(advisor, now, player->next, size);
  player->states[player->next % RECORD].sent_at = now;
  player->states[player->next % RECORD].arrives = !is_lost(player, loss);
  player->next++;
  if (tick >= WARMUP) {
    sums->states++;
    sums->bytes += size;
  }
}

static struct sums play(bool small_packets, double loss) {
  struct player players[PLAYERS] = {0};
  struct sums sums = {0};
  tfrc_config *config = tfrc_config_new();
  tfrc_config_set_segment(config, FULL);
  tfrc_config_set_balanced(config); /* shares with the CUBICs of today; RFC 5348 alone without it */
  if (small_packets) tfrc_config_set_small_packets(config);
  for (uint32_t i = 0; i < PLAYERS; i++) {
    players[i].advisor = tfrc_advisor_new(config, time_of(1));
    players[i].random = i;
    tfrc_advisor_on_rtt_sample(players[i].advisor, 0, 2 * ONE_WAY); /* of the handshake */
  }
  tfrc_config_free(config);
  for (int tick = 0; tick < TICKS; tick++)
    for (int i = 0; i < PLAYERS; i++) on_tick(&players[i], tick, loss, &sums);
  for (int i = 0; i < PLAYERS; i++) tfrc_advisor_free(players[i].advisor);
  return sums;
}

int main(void) {
  const double losses[] = {0.02, 0.06, 0.2}, all = PLAYERS * (TICKS - WARMUP);
  for (int i = 0; i < 3; i++) {
    struct sums sums[2] = {play(false, losses[i]), play(true, losses[i])};
    printf("| %.0f %%", 100 * losses[i]);
    for (int sp = 0; sp < 2; sp++)
      printf(" | %.1f %%, %.0f B", 100 * (double)sums[sp].states / all, (double)sums[sp].bytes / (double)sums[sp].states);
    printf(" |\n");
  }
  return 0;
}
