/* A UDP socket, the monotonic clock, and a wait for either. */
#ifndef SOCKET_H
#define SOCKET_H

#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <tfrc.h>

static inline uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline void fail(const char *what) {
  fprintf(stderr, "error: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* A socket bound to host:port, or connected to it. */
static inline int open_udp(const char *host, const char *port, int (*use)(int, const struct sockaddr *, socklen_t)) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM}, *found;
  int status = getaddrinfo(host, port, &hints, &found);
  if (status != 0) {
    fprintf(stderr, "error: %s port %s: %s\n", host, port, gai_strerror(status));
    exit(2);
  }
  int socket_ = socket(found->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0 || use(socket_, found->ai_addr, found->ai_addrlen) != 0) fail(host);
  freeaddrinfo(found);
  return socket_;
}

/* Waits until the socket can be read or the time has come. */
static inline void wait_until(int socket_, uint64_t at) {
  uint64_t now = now_ns();
  struct pollfd reading = {.fd = socket_, .events = POLLIN};
  uint64_t left = at <= now ? 0 : at - now;
  struct timespec time = {.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
  if (ppoll(&reading, 1, at == TFRC_NEVER ? NULL : &time, NULL) < 0 && errno != EINTR) fail("poll");
}

#endif
