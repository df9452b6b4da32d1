/* A client or server of the kernel's DCCP, for the guest: sockets of linux/dccp.h.
 * Arguments are words KEY=VALUE:
 *   addr=IP        connects there; without it a server, for conns=N connections, with six=1 over IPv6
 *   port=N service=N ccid=3,2 cover=N (DCCP_SOCKOPT_SEND_CSCOV)
 *   pps=N size=N secs=N   data to send, numbered from 1 in their first four bytes; pps=0: none
 *   pause=AT,FOR   seconds after the beginning, seconds; who only takes then reads nothing
 *   stay=N         seconds after which it closes, should the other end not
 * The lines that it prints begin with PEER. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/dccp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DCCP_LEVEL = 269, DCCP_TYPE = 6, DCCP_PROTOCOL = 33, DATAGRAM = 1400 };

/* The kernel's answers to DCCP_SOCKOPT_CCID_TX_INFO and _RX_INFO of CCID 3: rates of the sender in
 * 64ths of a byte a second, times in microseconds, p in millionths. */
struct sending { uint64_t x, x_recv; uint32_t x_calc, rtt, p, rto, interval; };
struct receiving { uint32_t x_recv, rtt, p; };

struct plan { double pps, secs, pause_at, pause_for, stay; int size; };
struct counts { long sent, got, again, gaps; double bytes; uint32_t highest; };

static int words;
static char **word;

static const char *value(const char *key, const char *otherwise)
{
	size_t length = strlen(key);
	for (int i = 1; i < words; i++)
		if (strncmp(word[i], key, length) == 0 && word[i][length] == '=')
			return word[i] + length + 1;
	return otherwise;
}

static double number(const char *key, const char *otherwise) { return atof(value(key, otherwise)); }

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void must(int result, const char *call)
{
	if (result >= 0)
		return;
	printf("PEER failed %s: %s\n", call, strerror(errno));
	exit(1);
}

static void print_state(int fd, double at)
{
	struct sending tx;
	struct receiving rx;
	socklen_t length = sizeof tx;
	if (getsockopt(fd, DCCP_LEVEL, DCCP_SOCKOPT_CCID_TX_INFO, &tx, &length) == 0 && length == sizeof tx && tx.rtt)
		printf("PEER tx t=%.3f rtt=%.6f p=%.6f x=%.0f x_recv=%.0f\n", at, tx.rtt / 1e6, tx.p / 1e6, tx.x / 64.0,
		       tx.x_recv / 64.0);
	length = sizeof rx;
	if (getsockopt(fd, DCCP_LEVEL, DCCP_SOCKOPT_CCID_RX_INFO, &rx, &length) == 0 && length == sizeof rx && rx.rtt)
		printf("PEER rx t=%.3f rtt=%.6f p=%.6f x_recv=%u\n", at, rx.rtt / 1e6, rx.p == UINT32_MAX ? 0 : rx.p / 1e6,
		       rx.x_recv);
}

/* Takes one datagram, and returns 0 at the end. */
static int take(int fd, struct counts *c)
{
	static uint8_t bytes[65536];
	ssize_t length = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
	if (length == 0 || (length < 0 && errno != EAGAIN)) {
		if (length < 0)
			printf("PEER recv: %s\n", strerror(errno));
		return 0;
	}
	if (length < 0)
		return 1;
	c->got++, c->bytes += length;
	return 1;
}

/* Sends one datagram of the plan, and returns 0 at the end. */
static int give(int fd, int size, struct counts *c)
{
	static uint8_t bytes[DATAGRAM];
	uint32_t n = htonl(c->sent + 1);
	memset(bytes, 0x5a, sizeof bytes);
	memcpy(bytes, &n, sizeof n);
	if (send(fd, bytes, size, MSG_DONTWAIT) >= 0) {
		c->sent++;
		return 1;
	}
	c->again++;
	if (errno == EAGAIN) {
		usleep(1000);
		return 1;
	}
	printf("PEER send: %s\n", strerror(errno));
	return 0;
}

static void talk(int fd, struct plan p)
{
	struct counts c = { 0 };
	double start = now(), due = start, told = start;
	int open = 1, paused = 0;
	while (open) {
		double at = now() - start;
		if (at + start - told >= 0.5)
			print_state(fd, at), told = at + start;
		if (p.pps > 0 ? at >= p.secs : at >= p.stay)
			break;
		if (p.pause_for > 0 && !paused && at >= p.pause_at)
			paused = 1, due = start + at + p.pause_for;
		if (p.pps == 0 && paused && start + at < due) {
			must(poll(NULL, 0, (due - start - at) * 1e3 + 1), "poll");
			continue;
		}
		int may = p.pps > 0 && start + at >= due;
		double wait = p.pps > 0 && !may ? (due - start - at) * 1e3 + 1 : 50;
		struct pollfd one = { fd, may ? POLLIN | POLLOUT : POLLIN, 0 };
		must(poll(&one, 1, wait < 50 ? wait : 50), "poll");
		if (one.revents & (POLLIN | POLLHUP | POLLERR))
			open = take(fd, &c);
		if (open && may && one.revents & POLLOUT) {
			long before = c.sent;
			open = give(fd, p.size, &c);
			if (c.sent > before && (due += 1 / p.pps) < start + at - 0.1)
				due = start + at;
		}
	}
	print_state(fd, now() - start);
	printf("PEER end t=%.3f sent=%ld got=%ld bytes=%.0f ended_by=%s\n", now() - start, c.sent, c.got, c.bytes,
	       open ? "us" : "them");
}

/* Close waits for the end of the connection, so that what is queued goes first. */
static void linger(int fd)
{
	struct linger wait = { 1, 20 };
	must(setsockopt(fd, SOL_SOCKET, SO_LINGER, &wait, sizeof wait), "linger");
}

static void print_ccids(int fd)
{
	int tx = 0, rx = 0;
	socklen_t length = sizeof tx;
	getsockopt(fd, DCCP_LEVEL, DCCP_SOCKOPT_TX_CCID, &tx, &length);
	length = sizeof rx;
	getsockopt(fd, DCCP_LEVEL, DCCP_SOCKOPT_RX_CCID, &rx, &length);
	printf("PEER connected tx_ccid=%d rx_ccid=%d\n", tx, rx);
}

int main(int n, char **v)
{
	words = n, word = v;
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct plan p = { number("pps", "0"), number("secs", "5"), 0, 0, number("stay", "20"), number("size", "500") };
	if (p.size < 4 || p.size > DATAGRAM) {
		printf("PEER failed: size is 4 to %d\n", DATAGRAM);
		return 1;
	}
	sscanf(value("pause", "0,0"), "%lf,%lf", &p.pause_at, &p.pause_for);
	const char *address = value("addr", "");
	int six = number("six", "0") != 0 || strchr(address, ':') != NULL;
	int fd = socket(six ? AF_INET6 : AF_INET, DCCP_TYPE, DCCP_PROTOCOL), cover = number("cover", "0"), one = 1;
	must(fd, "socket");
	uint32_t service = htonl(strtoul(value("service", "0"), NULL, 0));
	must(setsockopt(fd, DCCP_LEVEL, DCCP_SOCKOPT_SERVICE, &service, sizeof service), "service");
	uint8_t ccids[4];
	socklen_t count = 0;
	for (const char *c = value("ccid", "3"); *c && count < sizeof ccids; c++)
		if (*c != ',')
			ccids[count++] = *c - '0';
	must(setsockopt(fd, DCCP_LEVEL, DCCP_SOCKOPT_CCID, ccids, count), "ccid");
	if (cover)
		must(setsockopt(fd, DCCP_LEVEL, DCCP_SOCKOPT_SEND_CSCOV, &cover, sizeof cover), "cover");
	linger(fd);
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(number("port", "6511")) };
	struct sockaddr_in6 long_one = { .sin6_family = AF_INET6, .sin6_port = four.sin_port };
	struct sockaddr *there = six ? (struct sockaddr *)&long_one : (struct sockaddr *)&four;
	socklen_t length = six ? sizeof long_one : sizeof four;
	if (*address) {
		inet_pton(six ? AF_INET6 : AF_INET, address, six ? (void *)&long_one.sin6_addr : (void *)&four.sin_addr);
		must(connect(fd, there, length), "connect");
		print_ccids(fd);
		talk(fd, p);
		close(fd);
		return 0;
	}
	must(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), "reuse");
	must(bind(fd, there, length), "bind");
	must(listen(fd, 5), "listen");
	printf("PEER listens\n");
	for (int left = number("conns", "1"); left > 0; left--) {
		int peer = accept(fd, NULL, NULL);
		must(peer, "accept");
		linger(peer);
		print_ccids(peer);
		talk(peer, p);
		close(peer);
	}
	return 0;
}
