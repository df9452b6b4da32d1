#!/bin/sh
# Guess: the congestion control of pion (Go's WebRTC) starts at some 300 kbit/s, as browsers do, and has
# 1 Mbit/s within seconds where nothing is in its way.
# Run: pion/interceptor 0.1.51, `gcc` as `NewSendSideBWE()` makes it, over 40 ms without any limit, with
# packets sent at its target and transport-wide feedback each 50 ms. It starts at 10 kbit/s and grows by 8 %
# a second, without a slow start or probes: 22 kbit/s after 10 s, so that 1 Mbit/s takes a minute. The
# option `SendSideBWEInitialBitrate` is the remedy, by whoever knows the path.
# Here: TFRC starts at an initial window a round trip and doubles it (RFC 5348 4.2, 4.3), on RTP too; the
# test is `slow_start_doubles_once_per_round_trip`. `docs/habits.md` has the starts of media senders.
set -eu
place=$(mktemp -d)
trap 'chmod -R u+w "$place"; rm -rf "$place"' EXIT
cd "$place"
export GOPATH="$place/go" GOFLAGS=-mod=mod GOTOOLCHAIN=local
cat > go.mod <<'END'
module start

go 1.24.0

require (
	github.com/pion/interceptor v0.1.51
	github.com/pion/rtcp v1.2.20
	github.com/pion/rtp v1.10.6
)
END
cat > main.go <<'END'
package main

import (
	"fmt"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/gcc"
	"github.com/pion/interceptor/pkg/twcc"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

const numbers = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"

type packet struct {
	number uint16
	at     time.Time
}

type report struct {
	packets []rtcp.Packet
	at      time.Time
}

func main() {
	control, err := gcc.NewSendSideBWE(gcc.SendSideBWEPacer(gcc.NewNoOpPacer()))
	if err != nil {
		panic(err)
	}
	var there []packet
	var back []report
	info := &interceptor.StreamInfo{
		SSRC:                5,
		RTPHeaderExtensions: []interceptor.RTPHeaderExtension{{URI: numbers, ID: 3}},
	}
	write := func(header *rtp.Header, payload []byte, _ interceptor.Attributes) (int, error) {
		var sent rtp.TransportCCExtension
		err := sent.Unmarshal(header.GetExtension(3))
		there = append(there, packet{sent.TransportSequence, time.Now().Add(20 * time.Millisecond)})
		return len(payload), err
	}
	writer := control.AddStream(info, interceptor.RTPWriterFunc(write))
	recorder := twcc.NewRecorder(1)
	fmt.Println("at first:", control.GetTargetBitrate())
	begin := time.Now()
	last, reported, budget, number := begin, begin, 0.0, uint16(0)
	for now := begin; now.Sub(begin) < 10*time.Second; now = time.Now() {
		budget += float64(control.GetTargetBitrate()) / 8 * now.Sub(last).Seconds()
		last = now
		for ; budget > 0; budget -= 220 {
			header := &rtp.Header{Version: 2, SSRC: 5, SequenceNumber: number}
			extension, _ := rtp.TransportCCExtension{TransportSequence: number}.Marshal()
			_ = header.SetExtension(3, extension)
			if _, err := writer.Write(header, make([]byte, 200), nil); err != nil {
				panic(err)
			}
			number++
		}
		for ; len(there) > 0 && !there[0].at.After(now); there = there[1:] {
			recorder.Record(5, there[0].number, there[0].at.Sub(begin).Microseconds())
		}
		if now.Sub(reported) >= 50*time.Millisecond {
			reported = now
			if told := recorder.BuildFeedbackPacket(); len(told) > 0 {
				back = append(back, report{told, now.Add(20 * time.Millisecond)})
			}
		}
		for ; len(back) > 0 && !back[0].at.After(now); back = back[1:] {
			if err := control.WriteRTCP(back[0].packets, nil); err != nil {
				panic(err)
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	target := control.GetTargetBitrate()
	fmt.Println("after 10 s:", target)
	fmt.Println("grown, and below 50 kbit/s:", target > 12_000 && target < 50_000)
}
END
go list -m github.com/pion/interceptor 2> words | tee seen
go run . 2>> words | tee -a seen
grep -qx 'github.com/pion/interceptor v0.1.51' seen
grep -qx 'at first: 10000' seen
grep -qx 'grown, and below 50 kbit/s: true' seen
