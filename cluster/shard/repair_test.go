package shard

import (
	"errors"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// Copies are made again while a client appends all the time, so that workers never find the
// sequence at rest, and any other worker may go. Who is no worker does not repair what all can
// open.
func TestRepairUnderWrites(t *testing.T) {
	x := start(t, hub.ServerConfig{})
	for _, name := range []string{"a", "b", "c"} {
		x.work(WorkerConfig{Name: name, Repair: 400 * time.Millisecond})
	}
	r := testutil.Rand(44)
	a := x.client(small)
	s := x.create(a, "s")
	grow(t, s, &r, 256*10+30)
	x.kill("b")
	x.work(WorkerConfig{Name: "d", Repair: 400 * time.Millisecond})
	for !x.whole("s", "b") {
		grow(t, s, &r, 1)
	}
	checkBits(t, a, &r, 2, 1, Options{}, s)
	if _, err := a.Repair(t.Context(), s.Sequence); !errors.Is(err, kernel.ErrArgument) {
		t.Error(err)
	}
	x.kill("a")
	v := x.open(x.client(small), "s", s)
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
