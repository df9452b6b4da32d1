/* The peer of `tfrc recv` in `cargo xtask speed wire`: a receiver that only takes datagrams in, by
   epoll and recvmmsg, with the same ancillary data, and a sender of even bursts.

     bare recv                              prints its port, then its cost
     bare send PORT PACKETS RATE BURST BYTES   RATE packets a second
     bare cost FILE PROGRAM...              runs a program; its cost goes to the file

   A cost is a line: packets (0 if unknown), processor time in ns (user and system), times that it
   gave up the processor to wait. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 16, ROOM = 65536, CONTROL = 256 };

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void print_cost(FILE *out, int who, long packets) {
    struct rusage used;
    getrusage(who, &used);
    long us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    fprintf(out, "%ld %ld %ld\n", packets, us * 1000, used.ru_nvcsw);
    fflush(out);
}

static void switch_on(int fd, int level, int option) {
    int on = 1;
    if (setsockopt(fd, level, option, &on, sizeof on)) fail("setsockopt");
}

/* Ends when nothing has come for a second. */
static int receive(void) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), room = 4 << 20;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    switch_on(fd, SOL_SOCKET, SO_TIMESTAMPNS);
    switch_on(fd, IPPROTO_IP, IP_RECVTOS);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    if (bind(fd, (struct sockaddr *)&at, sizeof at) || getsockname(fd, (struct sockaddr *)&at, &length)) fail("bind");
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl");
    static char bytes[BATCH][ROOM], control[BATCH][CONTROL];
    static struct sockaddr_in from[BATCH];
    struct mmsghdr headers[BATCH];
    struct iovec places[BATCH];
    long packets = 0;
    for (;;) {
        int ready = epoll_wait(poll, &event, 1, packets ? 1000 : -1);
        if (ready <= 0) break;
        for (int count = BATCH; count == BATCH;) {
            for (int i = 0; i < BATCH; i++) {
                places[i] = (struct iovec){bytes[i], ROOM};
                headers[i].msg_hdr = (struct msghdr){&from[i], sizeof from[i], &places[i], 1, control[i], CONTROL, 0};
            }
            count = recvmmsg(fd, headers, BATCH, 0, NULL);
            packets += count > 0 ? count : 0;
        }
    }
    print_cost(stdout, RUSAGE_SELF, packets);
    return 0;
}

static int send_all(char **words) {
    long port = atol(words[0]), packets = atol(words[1]), burst = atol(words[3]), length = atol(words[4]);
    double gap = burst / atof(words[2]) * 1e9;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(fd, (struct sockaddr *)&to, sizeof to)) fail("connect");
    char bytes[ROOM] = {1};
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long sent = 0, turn = 0; sent < packets; turn++) {
        long long due = begin.tv_sec * 1000000000LL + begin.tv_nsec + (long long)(turn * gap);
        struct timespec at = {due / 1000000000, due % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        for (long i = 0; i < burst && sent < packets; i++) sent += send(fd, bytes, length, 0) > 0;
    }
    return 0;
}

static int cost(char **words) {
    pid_t child = fork();
    if (!child) {
        execvp(words[1], words + 1);
        fail(words[1]);
    }
    int status = 0;
    waitpid(child, &status, 0);
    FILE *out = fopen(words[0], "w");
    if (!out) fail(words[0]);
    print_cost(out, RUSAGE_CHILDREN, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int count, char **words) {
    if (count == 2 && !strcmp(words[1], "recv")) return receive();
    if (count == 7 && !strcmp(words[1], "send")) return send_all(words + 2);
    if (count > 3 && !strcmp(words[1], "cost")) return cost(words + 2);
    fprintf(stderr, "usage: bare recv | send PORT PACKETS RATE BURST BYTES | cost FILE PROGRAM...\n");
    return 2;
}
