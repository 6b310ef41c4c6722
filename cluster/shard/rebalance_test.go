package shard

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// held returns how many blocks of a sequence each worker has, by what the sequence says.
func (x *text) held() map[string]int {
	load := map[string]int{}
	for i := 0; i < x.Len(); i += 256 {
		for _, w := range x.Owners(i) {
			load[w]++
		}
	}
	return load
}

// A new worker takes its share, old ones forget what they no longer hold, and all the time
// calls of this client and of another one give the bits of one machine.
func TestRebalance(t *testing.T) {
	for _, replicas := range []int{2, 1} {
		if replicas == 1 && testing.Short() {
			t.Log("one replica: NOT RUN with -short")
			break
		}
		x := start(t, hub.ServerConfig{}, "", "generic")
		r := testutil.Rand(40)
		config := small
		config.Replicas = replicas
		a, b, c := x.client(config), x.client(config), x.client(config)
		s := x.create(a, "s")
		grow(t, s, &r, 256*20+30)
		u, v := x.open(b, "s", s), x.open(c, "s", s)
		x.work(WorkerConfig{Name: "c"})
		done := make(chan struct{})
		var all sync.WaitGroup
		for _, y := range []*text{u, s} {
			random := testutil.Rand(41)
			all.Go(func() {
				for ended := false; !ended; {
					checkBits(t, y.client, &random, 2, 1, Options{}, y)
					select {
					case <-done:
						ended = true
					default:
					}
				}
			})
		}
		n, err := c.Rebalance(t.Context(), v.Sequence) // not the writer
		close(done)
		all.Wait()
		if want := map[int]int{1: 6, 2: 13}[replicas]; err != nil || n < want {
			t.Errorf("%d copies, want %d or more: %v", n, want, err)
		}
		checkBits(t, a, &r, 2, 1, Options{}, s)
		grow(t, s, &r, 300) // the writer is undisturbed
		if err := v.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.k, v.v = s.k, s.v
		for name, n := range v.held() {
			if got := x.workers[name].Usage().Blocks; got != n || n < 6*replicas {
				t.Errorf("%s holds %d blocks, and %d by the directory", name, got, n)
			}
		}
		checkBits(t, c, &r, 2, 1, Options{}, v)
		if n, err := c.Rebalance(t.Context(), v.Sequence); err != nil || n > 1 {
			t.Errorf("nothing to do: %d, %v", n, err)
		}
	}
}

// After the loss of a worker and the coming of another one, Rebalance makes all copies again,
// and any other worker may go.
func TestRebalanceAfterLoss(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "", "")
	r := testutil.Rand(42)
	a := x.client(small)
	s, private := x.create(a, "s"), newText(t, a, &r, 2000)
	grow(t, s, &r, 3000)
	x.kill("b")
	x.work(WorkerConfig{Name: "d"})
	both := []*Sequence{s.Sequence, private.Sequence}
	if n, err := a.Rebalance(t.Context(), both...); err != nil || n == 0 {
		t.Fatalf("%d, %v", n, err)
	}
	for _, y := range []*text{s, private} {
		for i := range y.Len() {
			if w := y.Owners(i); len(w) != 2 || slices.Contains(w, "b") {
				t.Fatalf("key %d is on %v", i, w)
			}
		}
	}
	x.kill("a")
	checkBits(t, a, &r, 2, 1, Options{}, s, private)
	u := x.open(x.client(small), "s", s)
	checkBits(t, u.client, &r, 2, 1, Options{}, u)
}

// Clients that rebalance while another one appends disturb neither it nor each other.
func TestRebalanceRace(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN with -short")
	}
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(43)
	config := small
	config.Replicas = 1
	a := x.client(config)
	s := x.create(a, "s")
	grow(t, s, &r, 2000)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 2 {
		c := x.client(config)
		all.Go(func() {
			u, err := c.Open(ctx, "s")
			for err == nil && ctx.Err() == nil {
				if _, err = c.Rebalance(ctx, u); errors.As(err, new(*ConflictError)) || errors.As(err, new(*BlocksError)) {
					err = nil // others were faster
				}
			}
			if ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	x.work(WorkerConfig{Name: "c"})
	for i := range 12 {
		grow(t, s, &r, 97)
		checkBits(t, a, &r, 2, 1, Options{}, s)
		if i == 5 {
			x.work(WorkerConfig{Name: "d"})
		}
	}
	cancel()
	all.Wait()
	checkBits(t, a, &r, 2, 1, Options{}, s)
	k := kernel.BHLD(make([]float32, 2*16), 1, 2, 1, 16)
	if err := a.Append(t.Context(), []*Sequence{s.Sequence}, k, k); err != nil {
		t.Error(err)
	}
}

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
			if _, err := b.Rebalance(t.Context(), u); err != nil {
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
