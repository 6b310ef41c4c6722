package shard

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
)

// Copies are made again while a client appends all the time, from which Repair takes nothing: all
// blocks of the time before the loss have their copies, and any other worker may go. The writer
// goes on until the repair is over, so that it never finds the sequence at rest.
func TestRepairUnderWrites(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "", "")
	r := testutil.Rand(44)
	a, b := x.client(quick(small)), x.client(quick(small))
	s := x.create(a, "s")
	grow(t, s, &r, 256*10+30)
	x.kill("b")
	x.work(WorkerConfig{Name: "d"})
	u, err := b.Open(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 { // each of them has to succeed
			if _, err := b.Repair(t.Context(), u); err != nil {
				t.Error(err)
			}
		}
	}()
	for ended := false; !ended; {
		grow(t, s, &r, 1)
		select {
		case <-done:
			ended = true
		default:
		}
	}
	for i := 0; i < s.Len()-256; i += 256 {
		if w := s.Owners(i); len(w) != 2 || slices.Contains(w, "b") {
			t.Errorf("key %d of %d is on %v", i, s.Len(), w)
		}
	}
	checkBits(t, a, &r, 2, 1, Options{}, s)
	if _, err := b.Repair(t.Context(), u); err != nil { // the last block
		t.Error(err)
	}
	x.kill("a")
	v := x.open(x.client(quick(small)), "s", s)
	checkBits(t, v.client, &r, 2, 1, Options{}, v)
}

// A copy of rows that a writer has cut off and replaced meanwhile never counts.
func TestRepairOfReplacedRows(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(45)
	config := small
	config.Replicas = 1
	a, b := x.client(config), x.client(config)
	s := x.create(a, "s")
	grow(t, s, &r, 256*3)
	u, err := b.Open(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	repair := &repair{client: b, live: []string{"a", "b"}, load: map[string]int{}}
	other := map[string]string{"a": "b", "b": "a"}[u.Owners(0)[0]]
	m := []*blockRepair{{repair: repair, name: u.name, block: 0, epoch: u.readEpoch(), rows: 256, before: u.Owners(0), after: []string{other}}}
	if !m[0].copyTo(t.Context(), other) {
		t.Fatal("no copy")
	}
	if err := s.Truncate(0); err != nil {
		t.Fatal(err)
	}
	grow(t, s, &r, 256*3) // other rows in the same place
	if s.Owners(0)[0] == other {
		t.Fatal("the block went elsewhere, though its place depends on names and shares alone")
	}
	refused, err := u.publish(t.Context(), m)
	if err != nil || len(refused) != 1 {
		t.Fatalf("%d refused, %v", len(refused), err)
	}
	v := x.open(x.client(config), "s", s)
	checkBits(t, v.client, &r, 2, 1, Options{}, v)
}
