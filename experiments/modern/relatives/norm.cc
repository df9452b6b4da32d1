// A stream of NORM (libnorm) under its congestion control, from one host to one other.
//
//   norm send|receive PEER SECONDS [ecn]
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

int main(int count, char **words) {
    if (count < 4) return 2;
    bool sends = !strcmp(words[1], "send");
    double end = now() + atof(words[3]), next = now();
    NormInstanceHandle instance = NormCreateInstance();
    NormSessionHandle session = NormCreateSession(instance, words[2], 7003, sends ? 1 : 2);
    NormSetDefaultUnicastNack(session, true);
    if (count > 4) NormSetEcnSupport(session, true);
    NormObjectHandle stream = NORM_OBJECT_INVALID;
    if (sends) {
        NormSetTxPort(session, 7004);
        NormSetTxOnly(session, true);
        NormSetCongestionControl(session, true);
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
