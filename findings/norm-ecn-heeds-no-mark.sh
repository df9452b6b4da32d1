#!/bin/sh
# Guess: NORM with NormSetEcnSupport slows down when packets come marked, as RFC 5740 5.5.2 asks for
# by treating a mark as a loss.
# Run: libnorm 1.5.9 (Debian), ECN support on at both ends, a path of 40 ms that marks every packet of
# data as CE. The data leaves as ECT(0), and the rate is at its upper bound of 8 Mbit/s after 5 s and
# stays there, as on the same path without marks. A rate control that counted marks would send next
# to nothing where each packet has one.
# Here: marks are loss events (RFC 5348 1 and 3.3.1); the test is `marks_count_as_losses`. The header
# cannot be used by C, whose compilers refuse default arguments, so this is C++.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
for package in libnorm1 libnorm-dev; do
  apt-get -o APT::Sandbox::User=root download -qq "$package=1.5.9+dfsg-2"
done
for package in *.deb; do dpkg-deb -x "$package" root; done
library=$(find root -name libnorm.so.1)
cat > node.cc <<'END'
#include <normApi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/select.h>

static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

// Sends a stream for some seconds, and prints the rate each second; or receives it.
int main(int, char **argv) {
    bool sends = !strcmp(argv[1], "send");
    double end = now() + atof(argv[2]), next = now();
    NormInstanceHandle instance = NormCreateInstance();
    NormSessionHandle session = NormCreateSession(instance, "127.0.0.1", sends ? 7001 : 7003, sends ? 1 : 2);
    NormSetDefaultUnicastNack(session, true);
    NormSetEcnSupport(session, true);
    NormObjectHandle stream = NORM_OBJECT_INVALID;
    if (sends) {
        NormSetTxPort(session, 7004);
        NormSetTxOnly(session, true);
        NormSetCongestionControl(session, true);
        NormSetTxRateBounds(session, -1, 8e6);
        NormStartSender(session, 1, 1 << 22, 1400, 16, 4);
        stream = NormStreamOpen(session, 1 << 20);
    } else {
        NormStartReceiver(session, 1 << 22);
    }
    char data[1400] = {};
    while (now() < end) {
        while (sends && NormStreamWrite(stream, data, sizeof data) == sizeof data) {}
        int descriptor = NormGetDescriptor(instance);
        fd_set set;
        FD_ZERO(&set);
        FD_SET(descriptor, &set);
        timeval wait = {0, 20000};
        NormEvent event;
        if (select(descriptor + 1, &set, nullptr, nullptr, &wait) > 0 &&
            NormGetNextEvent(instance, &event, false) && !sends && event.type == NORM_RX_OBJECT_UPDATED) {
            unsigned length = sizeof data;
            while (NormStreamRead(event.object, data, &length) && length) length = sizeof data;
        }
        if (sends && now() > next) {
            next += 1;
            printf("%.0f\n", NormGetTxRate(session));
            fflush(stdout);
        }
    }
    _Exit(0);
}
END
cat > path.py <<'END'
"""A path of 20 ms each way that gives the data these ECN bits; says those that it came with."""
import heapq, select, socket, sys, time

bits, end = int(sys.argv[1]), time.time() + float(sys.argv[2])
near, far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
near.bind(("127.0.0.1", 7001))
far.bind(("127.0.0.1", 7002))
far.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, bits)
near.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
queue, seen, sender, number = [], set(), None, 0
while time.time() < end:
    for one in select.select([near, far], [], [], 0.001)[0]:
        data, ancillary, _, source = one.recvmsg(65536, 64)
        number += 1
        if one is near:
            sender = source
            seen.update(value[0] & 3 for _, kind, value in ancillary if kind == socket.IP_TOS)
            heapq.heappush(queue, (time.time() + 0.02, number, far, data, ("127.0.0.1", 7003)))
        else:
            heapq.heappush(queue, (time.time() + 0.02, number, near, data, sender))
    while queue and queue[0][0] <= time.time():
        _, _, out, data, to = heapq.heappop(queue)
        out.sendto(data, to)
print("ECN bits of the data:", *sorted(seen))
END
g++ -w -o node -Iroot/usr/include node.cc "$library" -lpthread
LD_LIBRARY_PATH=$(dirname "$library")
export LD_LIBRARY_PATH
for bits in 2 3; do
  python3 path.py $bits 14 > bits & path=$!
  ./node receive 13 & receiver=$!
  sleep 0.3
  echo "ECN bits on the path: $bits"
  ./node send 12.5 > rates
  wait $receiver $path
  cat bits
  tail -n 4 rates | sort -u | tee last
  grep -qx 'ECN bits of the data: 2' bits
  test "$(cat last)" = 8000000
done
