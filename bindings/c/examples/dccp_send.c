/* A DCCP client over UDP with a socket and a clock of its own: sends what comes on standard input to
 * `tfrc recv`.
 *
 *   dccp_send HOST PORT < FILE */
#include "socket.h"
#include <sys/random.h>

static tfrc_address address_of(const struct sockaddr_storage *from) {
  tfrc_address address = {.version = 4};
  if (from->ss_family == AF_INET) {
    const struct sockaddr_in *v4 = (const void *)from;
    memcpy(address.ip, &v4->sin_addr, 4);
    address.port = ntohs(v4->sin_port);
  } else {
    const struct sockaddr_in6 *v6 = (const void *)from;
    address.version = 6;
    memcpy(address.ip, &v6->sin6_addr, 16);
    address.port = ntohs(v6->sin6_port);
    address.scope = v6->sin6_scope_id;
  }
  return address;
}

int main(int count, char **words) {
  if (count != 3) {
    fprintf(stderr, "usage: %s HOST PORT < FILE\n", words[0]);
    return 2;
  }
  int socket_ = open_udp(words[1], words[2], connect);
  struct sockaddr_storage peer;
  socklen_t peer_length = sizeof peer;
  if (getpeername(socket_, (struct sockaddr *)&peer, &peer_length) != 0) fail("peer");
  tfrc_address to = address_of(&peer);
  uint8_t seed[32], packet[2048], datagram[1300];
  if (getrandom(seed, sizeof seed, 0) != sizeof seed) fail("random numbers");
  tfrc_endpoint *endpoint = tfrc_endpoint_new(NULL, seed);
  uint64_t connection = 0;
  tfrc_status begun = tfrc_endpoint_connect(endpoint, now_ns(), &to, 6511, &connection);
  if (begun != TFRC_STATUS_OK) {
    fprintf(stderr, "error: %s\n", tfrc_status_text(begun));
    return 1;
  }
  size_t waiting = fread(datagram, 1, sizeof datagram, stdin);
  int connected = 0, closing = 0, well = 0, over = 0;
  while (!over) {
    uint64_t now = now_ns();
    for (ssize_t length; (length = recv(socket_, packet, sizeof packet, 0)) >= 0;) {
      tfrc_endpoint_handle_datagram(endpoint, now, &to, TFRC_ECN_NOT_ECT, packet, (size_t)length);
    }
    tfrc_endpoint_handle_timeout(endpoint, now);
    while (waiting > 0 && tfrc_endpoint_send(endpoint, now, connection, datagram, waiting) == TFRC_STATUS_OK) {
      waiting = fread(datagram, 1, sizeof datagram, stdin);
    }
    tfrc_transmission sent;
    while (tfrc_endpoint_poll_transmit(endpoint, now, packet, sizeof packet, &sent) == TFRC_STATUS_OK) {
      send(socket_, packet, sent.length, 0);
    }
    for (tfrc_event event; tfrc_endpoint_poll_event(endpoint, &event) == TFRC_STATUS_OK;) {
      connected |= event.kind == TFRC_EVENT_KIND_CONNECTED;
      if (event.kind == TFRC_EVENT_KIND_CLOSED) {
        over = 1;
        well = event.closed_by == TFRC_CLOSED_BY_US;
      }
    }
    /* Before the handshake is complete a close would break off. */
    if (waiting == 0 && connected && !closing) {
      closing = tfrc_endpoint_close(endpoint, now, connection) == TFRC_STATUS_OK;
      continue;
    }
    if (!over) wait_until(socket_, tfrc_endpoint_poll_timeout(endpoint));
  }
  tfrc_connection_stats stats;
  if (tfrc_connection_get_stats(endpoint, connection, &stats) == TFRC_STATUS_OK) {
    printf("%llu datagrams sent, %llu bytes\n", (unsigned long long)stats.sent_packets,
           (unsigned long long)stats.sent_bytes);
  }
  tfrc_endpoint_free(endpoint);
  close(socket_);
  return well ? 0 : 1;
}
