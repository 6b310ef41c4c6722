package shard

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
)

// damage passes connections on to a server, and flips a bit in some of what passes.
type damage struct {
	listener net.Listener
	packets  atomic.Int64 // that were large enough
	flipped  atomic.Int64
}

func startDamage(t *testing.T, target string) *damage {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	d := &damage{listener: l}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", strings.TrimPrefix(target, "nats://"))
			if err != nil {
				in.Close()
				continue
			}
			go d.pass(in, out)
			go d.pass(out, in)
		}
	}()
	return d
}

// pass copies bytes, and flips a bit in the middle of every 17th packet of 1,000 bytes or more: of a
// message with rows or partials, in all likelihood.
func (d *damage) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if n >= 1000 && d.packets.Add(1)%17 == 0 {
			buffer[n/2] ^= 1 << (n % 8)
			d.flipped.Add(1)
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// Bits that a network flips cost time, and never a bit of a result.
func TestDamage(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	d := startDamage(t, x.server.URL())
	config := x.server.Client()
	config.URL = "nats://" + d.listener.Addr().String()
	conn, err := hub.Connect(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	c, err := New(t.Context(), conn, quick(small))
	if err != nil {
		t.Fatal(err)
	}
	r := testutil.Rand(60)
	s := newText(t, c, &r, 2000)
	for d.flipped.Load() < 5 {
		checkBits(t, c, &r, 4, 3, Options{}, s)
	}
}
