package shard

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
)

// damage flips a bit in the middle of every 17th packet of 1,000 bytes or more, if rows or partials
// are there. In a line of NATS, which ends nearby, it would stop the connection for up to 30 s
// instead, until both sides find out.
type damage struct{ packets, flipped atomic.Int64 }

func (d *damage) flip(data []byte) {
	n := len(data)
	if n < 1000 || bytes.Contains(data[n/2-300:n/2+300], []byte("\r\n")) {
		return
	}
	if d.packets.Add(1)%17 == 0 {
		data[n/2] ^= 1 << (n % 8)
		d.flipped.Add(1)
	}
}

// Bits that a network flips cost time, and never a bit of a result.
func TestDamage(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	d := &damage{}
	config := x.server.Client()
	config.URL = testutil.Proxy(t, x.server.URL(), d.flip)
	conn, err := hub.Connect(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	c, err := New(t.Context(), conn, small)
	if err != nil {
		t.Fatal(err)
	}
	r := testutil.Rand(60)
	s := newText(t, c, &r, 2000)
	for d.flipped.Load() < 5 {
		checkBits(t, c, &r, 4, 3, Options{}, s)
	}
}
