#!/bin/sh
# Guess: where a program reads QUIC datagrams too slowly, quic-go drops the oldest, as quinn and noq do, so
# that live data stays fresh, or its sender sees the dropped ones as lost and slows down.
# Run: quic-go 0.65.0, a client over loopback, 500 datagrams while the program at the far end reads none.
# It then reads the first 128, and nothing else: what came while 128 were waiting is gone, newest first,
# without an error or a count. All of it was acknowledged, so the sender's statistics have no loss.
# Here: a session's receiver tells the sender how many its program did not read in time (docs/quic.md,
# Dropped), which slows down for them; the test is `a_peer_that_drops_slows_the_sender_down`.
set -eu
place=$(mktemp -d)
trap 'chmod -R u+w "$place"; rm -rf "$place"' EXIT
cd "$place"
export GOPATH="$place/go" GOFLAGS=-mod=mod GOTOOLCHAIN=local
cat > go.mod <<'END'
module datagrams

go 1.25.0

require github.com/quic-go/quic-go v0.65.0
END
cat > main.go <<'END'
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"math/big"
	"time"

	"github.com/quic-go/quic-go"
)

const sent = 500

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate := must(x509.CreateCertificate(rand.Reader, template, template, public, private))
	chain := tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: private}
	settings := &quic.Config{EnableDatagrams: true}
	far := must(quic.ListenAddr("127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{chain}, NextProtos: []string{"x"},
	}, settings))
	near := must(quic.DialAddr(ctx, far.Addr().String(), &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{"x"},
	}, settings))
	reader := must(far.Accept(ctx))
	for number := range uint32(sent) {
		data := binary.BigEndian.AppendUint32(nil, number)
		if err := near.SendDatagram(append(data, make([]byte, 96)...)); err != nil {
			panic(err)
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Second)
	var numbers []uint32
	for {
		wait, cancel := context.WithTimeout(ctx, time.Second)
		data, err := reader.ReceiveDatagram(wait)
		cancel()
		if err != nil {
			break
		}
		numbers = append(numbers, binary.BigEndian.Uint32(data))
	}
	fmt.Printf("sent 0 to %d, read %d to %d: %d\n", sent-1, numbers[0], numbers[len(numbers)-1], len(numbers))
	fmt.Println("the sender's packets lost:", near.ConnectionStats().PacketsLost)
}
END
go list -m github.com/quic-go/quic-go 2> words | tee seen
go run . 2>> words | tee -a seen
grep -qx 'github.com/quic-go/quic-go v0.65.0' seen
grep -qx 'sent 0 to 499, read 0 to 127: 128' seen
grep -qx "the sender's packets lost: 0" seen
