package shard

import (
	"errors"
	"slices"
	"testing"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
)

// Clusters with prefixes of their own on one server know nothing of each other: neither workers,
// nor sequences of the same name, whose keys stay apart. So it is with prefixes that differ in .
// and _ alone, and with one inside the other.
func TestPrefixes(t *testing.T) {
	x := start(t, hub.ServerConfig{})
	r := testutil.Rand(80)
	prefixes := []string{"a", "a.b", "a_b"}
	texts := map[string]*text{}
	for i, prefix := range prefixes {
		connect := func() *hub.Conn {
			config := x.server.Client()
			config.Prefix = prefix
			conn, err := hub.Connect(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(conn.Close)
			return conn
		}
		conn := connect()
		if _, err := New(t.Context(), conn, small); !errors.Is(err, ErrNoWorkers) {
			t.Fatalf("%s: %v before its worker starts", prefix, err)
		}
		w, err := NewWorker(connect(), WorkerConfig{Name: "w", id: "w"}) // a name that the others have too
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		c, err := New(t.Context(), conn, small)
		if err != nil || !slices.Equal(c.Workers(), []string{"w"}) {
			t.Fatalf("%s: %v, %v", prefix, c.Workers(), err)
		}
		if list, err := List(t.Context(), conn); err != nil || len(list) != 0 {
			t.Fatalf("%s sees %+v, %v", prefix, list, err)
		}
		s := x.create(c, "s")
		grow(t, s, &r, 300+i)
		texts[prefix] = s
		if u := w.Usage(); u.Blocks != 2 {
			t.Errorf("%s: %+v", prefix, u)
		}
	}
	for prefix, s := range texts {
		if list, err := List(t.Context(), s.client.conn); err != nil || len(list) != 1 || list[0].Keys != s.Len() {
			t.Errorf("%s sees %+v, %v", prefix, list, err)
		}
		checkBits(t, s.client, &r, 4, 1, Options{}, s)
	}
	if err := texts["a"].Free(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range prefixes[1:] {
		s := texts[prefix]
		if err := s.Reload(t.Context()); err != nil || s.Len() == 0 {
			t.Fatalf("%s: %v, %d keys", prefix, err, s.Len())
		}
		checkBits(t, s.client, &r, 4, 1, Options{}, s)
	}
}
