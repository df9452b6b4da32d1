/* Packets of an application's own, big-endian: a number, the sender's round-trip time and a size of
 * choice one way; the seven fields of a report the other way. */
#ifndef WIRE_H
#define WIRE_H

#include <stdint.h>
#include <string.h>
#include <tfrc.h>

enum { DATA = 1, REPORT = 2, END = 3, DATA_HEADER = 17, REPORT_LENGTH = 57, LONGEST = 2048 };

static inline void put64(uint8_t *at, uint64_t value) {
  for (int i = 0; i < 8; i++) at[i] = (uint8_t)(value >> (56 - 8 * i));
}

static inline uint64_t get64(const uint8_t *at) {
  uint64_t value = 0;
  for (int i = 0; i < 8; i++) value = value << 8 | at[i];
  return value;
}

static inline void put_double(uint8_t *at, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put64(at, bits);
}

static inline double get_double(const uint8_t *at) {
  uint64_t bits = get64(at);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline void put_report(uint8_t *packet, const tfrc_report *report) {
  packet[0] = REPORT;
  put64(packet + 1, report->newest_number);
  put64(packet + 9, report->elapsed);
  put_double(packet + 17, report->receive_rate_bps);
  put_double(packet + 25, report->loss_event_rate);
  put64(packet + 33, report->loss_events);
  put64(packet + 41, report->packets);
  put64(packet + 49, report->lost);
}

static inline tfrc_report get_report(const uint8_t *packet) {
  tfrc_report report = {
      .newest_number = get64(packet + 1),
      .elapsed = get64(packet + 9),
      .receive_rate_bps = get_double(packet + 17),
      .loss_event_rate = get_double(packet + 25),
      .loss_events = get64(packet + 33),
      .packets = get64(packet + 41),
      .lost = get64(packet + 49),
  };
  return report;
}

#endif
