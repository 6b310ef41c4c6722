package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

var small = Config{Heads: 2, HeadSize: 16}

// A worker that is gone costs its blocks one more request, and later calls ask others first.
func TestDeadWorker(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "", "generic")
	r := testutil.Rand(2)
	c := x.client(small)
	c.quarantine = time.Hour
	s := newText(t, c, &r, 3000)
	x.kill("b")
	if stats := checkBits(t, c, &r, 4, 1, Options{}, s); stats.Retries == 0 {
		t.Errorf("%+v: no retry", stats)
	}
	if stats := checkBits(t, c, &r, 4, 1, Options{}, s); stats.Retries != 0 {
		t.Errorf("%+v: the dead worker was asked again", stats)
	}
	grow(t, s, &r, 1000)
	checkBits(t, c, &r, 4, 1, Options{}, s)
	if owners := s.Owners(s.Len() - 1); len(owners) != 2 || slices.Contains(owners, "b") {
		t.Errorf("the last block is on %v", owners)
	}
}

// grow appends n more random rows to a text.
func grow(t *testing.T, s *text, r *testutil.Rand, n int) {
	t.Helper()
	g := s.client.config
	k, v := tensor(t, r, g.Type, g.Group, 1, g.Heads, n, g.HeadSize), tensor(t, r, g.Type, g.Group, 1, g.Heads, n, g.ValueSize)
	old := s.Len()
	if err := s.client.Append(t.Context(), []*Sequence{s.Sequence}, k, v); err != nil {
		t.Fatal(err)
	}
	s.k, s.v = joined(g, s.k, k, old, n, g.HeadSize), joined(g, s.v, v, old, n, g.ValueSize)
}

// joined returns m rows of x and n rows of y, float32, as one tensor.
func joined(g Config, x, y kernel.Tensor, m, n, d int) kernel.Tensor {
	all := make([]float32, g.Heads*(m+n)*d)
	for h := range g.Heads {
		copyRows(all[h*(m+n)*d:], x, h, m, d)
		copyRows(all[(h*(m+n)+m)*d:], y, h, n, d)
	}
	return kernel.BHLD(all, 1, g.Heads, m+n, d)
}

// copyRows copies the first n rows of head h to dst, by attention in which each sees itself.
func copyRows(dst []float32, x kernel.Tensor, h, n, d int) {
	heads := x.Shape()[1]
	q, out := make([]float32, heads*n), make([]float32, heads*n*d)
	err := kernel.Attention(kernel.BHLD(out, 1, heads, n, d), kernel.BHLD(q, 1, heads, n, 1), kernel.BHLD(q, 1, heads, n, 1), rowsOf(x, 0, n),
		&kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Window(0, 0)}})
	if err != nil {
		panic(err)
	}
	copy(dst, out[h*n*d:(h+1)*n*d])
}

// If nobody is left, the error names the blocks, and the output is as it was.
func TestNoneLeft(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "", "")
	r := testutil.Rand(3)
	config := small
	config.Replicas = 1
	c := x.client(config)
	s := newText(t, c, &r, 2000)
	x.kill("a")
	var lost []int
	for b := range 8 {
		if s.Owners(256 * b)[0] == "a" {
			lost = append(lost, b)
		}
	}
	if len(lost) < 2 {
		t.Fatalf("a has blocks %v", lost)
	}
	out := testutil.Filled(4*16, 7)
	_, err := c.Attention(t.Context(), kernel.BHLD(out, 1, 4, 1, 16), kernel.BHLD(testutil.Floats(4*16), 1, 4, 1, 16), []*Sequence{s.Sequence}, nil)
	var e *BlocksError
	if !errors.As(err, &e) || len(e.Blocks) != 1 || e.Blocks[0].Sequence != s.Name() || !slices.Equal(e.Blocks[0].Numbers, lost) {
		t.Fatalf("%v, want blocks %v", err, lost)
	}
	var w *WorkerError
	if !errors.As(err, &w) || w.Worker != "a" || w.Code != CodeSilent {
		t.Errorf("%v", err)
	}
	testutil.CheckBits(t, "out", out, testutil.Filled(4*16, 7))

	for name := range x.workers {
		x.kill(name)
	}
	k := kernel.BHLD(make([]float32, 2*16), 1, 2, 1, 16)
	if err := c.Append(t.Context(), []*Sequence{s.Sequence}, k, k); !errors.As(err, &e) || e.Blocks[0].Numbers[0] != 2000/256 {
		t.Errorf("append: %v", err)
	}
	if s.Len() != 2000 {
		t.Errorf("%d keys", s.Len())
	}
}

// A worker that started again under its old name has no blocks: others are asked.
func TestRestart(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(4)
	c := x.client(small)
	s := newText(t, c, &r, 1500)
	x.kill("a")
	x.work(WorkerConfig{Name: "a"})
	checkBits(t, c, &r, 2, 3, Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}, s)
	grow(t, s, &r, 700) // a refuses the rows of the block that it lost
	checkBits(t, c, &r, 2, 3, Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}, s)
	x.kill("b")
	_, err := c.Attention(t.Context(), kernel.BHLD(make([]float32, 2*16), 1, 2, 1, 16), kernel.BHLD(make([]float32, 2*16), 1, 2, 1, 16), []*Sequence{s.Sequence}, nil)
	if e := (*BlocksError)(nil); !errors.As(err, &e) || !slices.Equal(e.Blocks[0].Numbers, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("%v", err)
	}
}

// A worker that is late gets no more than the client's patience; what it says later is
// not used twice.
func TestLateWorker(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(5)
	c := x.client(small)
	s := newText(t, c, &r, 2000)
	const patience = 500 * time.Millisecond
	c.wait(patience)
	done := x.busy("a")
	c.limit(1) // one message at a time: a late one must not stop the others
	started := time.Now()
	stats := checkBits(t, c, &r, 4, 2, Options{}, s)
	if took := time.Since(started); stats.Retries == 0 || took < patience {
		t.Errorf("%+v after %v", stats, took)
	}
	grow(t, s, &r, 10) // without a, which does not say that it has the rows
	done()
	checkBits(t, c, &r, 4, 2, Options{}, s)
	x.kill("b")
	out := testutil.Filled(4*16, 7)
	_, err := c.Attention(t.Context(), kernel.BHLD(out, 1, 4, 1, 16), kernel.BHLD(make([]float32, 4*16), 1, 4, 1, 16), []*Sequence{s.Sequence}, nil)
	if e := (*BlocksError)(nil); !errors.As(err, &e) || !slices.Equal(e.Blocks[0].Numbers, []int{7}) {
		t.Errorf("the block that a may lack: %v", err)
	}
}

// busy has a worker answer nothing until done is called, as if it worked on something else.
func (x *cluster) busy(name string) (done func()) {
	w := x.workers[name]
	for range cap(w.slots) {
		w.slots <- struct{}{}
	}
	return func() {
		for range cap(w.slots) {
			<-w.slots
		}
	}
}

// An append does not end with one copy where two are wanted: a worker that is free gets the block
// that goes on in place of one that is late, and without such a worker the late one is waited for.
func TestLateHolder(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(6)
	c := x.client(small)
	s := newText(t, c, &r, 300)
	const patience = 200 * time.Millisecond
	c.wait(patience)
	time.AfterFunc(5*patience, x.busy("a"))
	grow(t, s, &r, 10)
	if owners := s.Owners(s.Len() - 1); len(owners) != 2 {
		t.Errorf("the block that goes on is on %v", owners)
	}
	x.work(WorkerConfig{Name: "c"})
	for len(c.Workers()) < 3 {
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	defer x.busy("a")()
	grow(t, s, &r, 10)
	if owners := s.Owners(s.Len() - 1); len(owners) != 2 || !slices.Contains(owners, "c") {
		t.Errorf("the block that goes on is on %v", owners)
	}
	x.kill("b")
	checkBits(t, c, &r, 2, 1, Options{Scoring: kernel.Scoring{Mask: kernel.Window(9, 0)}}, s)
}

// A block that goes on is offered once to a worker that stands still, or is full, and not by each
// append: that would wait for it, or send the whole block, each time.
func TestDeclinedTail(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(7)
	c := x.client(small)
	c.quarantine = time.Hour
	s := newText(t, c, &r, 300)
	c.wait(200 * time.Millisecond)
	spy := x.connect()
	offers, err := spy.SubscribeSync(c.conn.Subject("shard", "a", "send"))
	if err != nil {
		t.Fatal(err)
	}
	check := func(want int, what string) {
		t.Helper()
		if err := spy.Flush(); err != nil { // what the server has passed on is there then
			t.Fatal(err)
		}
		if n, _, err := offers.Pending(); n != want || err != nil {
			t.Errorf("%s: the block was offered %d times, want %d; %v", what, n, want, err)
		}
	}
	c.suspects("b")
	done := x.busy("b")
	grow(t, s, &r, 1) // without b, which is not waited for
	c.trust("b")
	long := c.config.Timeout
	c.config.Timeout = 5 * time.Second // for b, and not as long as a itself waits for b
	grow(t, s, &r, 1)
	c.config.Timeout = long
	if _, trusted := c.trusted(); slices.Contains(trusted, "b") {
		t.Error("a worker that took no copy in time is trusted")
	}
	for range 3 {
		c.trust("b")
		grow(t, s, &r, 1)
	}
	check(1, "b stands still")
	done()
	x.kill("b")
	x.work(WorkerConfig{Name: "full", Memory: 1})
	for !slices.Contains(c.Workers(), "full") {
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		grow(t, s, &r, 1)
	}
	check(2, "a worker is full")
}

// Repair makes new replicas of what dead and restarted workers held.
func TestRepair(t *testing.T) {
	x := start(t, hub.ServerConfig{MaxPayload: 32 << 10}, "", "", "")
	r := testutil.Rand(13)
	c := x.client(small)
	s, u := newText(t, c, &r, 3000), newText(t, c, &r, 100)
	for n, err := 1, error(nil); n != 0; { // a search that misses a worker has others copy
		if n, err = c.Repair(t.Context(), s.Sequence, u.Sequence); err != nil {
			t.Fatalf("nothing to do: %d, %v", n, err)
		}
	}
	x.kill("a")
	x.kill("b")
	x.work(WorkerConfig{Name: "b"})
	x.work(WorkerConfig{Name: "d"})
	n, err := c.Repair(t.Context(), s.Sequence, u.Sequence)
	var lost *BlocksError // those that a and b held
	if !errors.As(err, &lost) || n == 0 {
		t.Fatalf("%d copies, %v", n, err)
	}
	for _, b := range lost.Blocks {
		if b.Sequence == s.Name() && slices.Contains(s.Owners(256*b.Numbers[0]), "c") {
			t.Errorf("block %d is on %v", b.Numbers[0], s.Owners(256*b.Numbers[0]))
		}
	}
	s, u = newText(t, c, &r, 3000), newText(t, c, &r, 100)
	x.kill("c")
	if n, err := c.Repair(t.Context(), s.Sequence, u.Sequence); n == 0 || err != nil {
		t.Errorf("%d copies, %v", n, err)
	}
	x.kill("d")
	checkBits(t, c, &r, 2, 1, Options{}, s, u)
	grow(t, s, &r, 300)
	checkBits(t, c, &r, 2, 1, Options{}, s, u)
}

// A call ends with its context.
func TestCanceled(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "")
	r := testutil.Rand(6)
	c := x.client(small)
	s := newText(t, c, &r, 300)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	one := kernel.BHLD(make([]float32, 2*16), 1, 2, 1, 16)
	if _, err := c.Attention(ctx, kernel.BHLD(make([]float32, 2*16), 1, 2, 1, 16), one, []*Sequence{s.Sequence}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := c.Append(ctx, []*Sequence{s.Sequence}, one, one); !errors.Is(err, context.Canceled) || s.Len() != 300 {
		t.Errorf("%v, %d keys", err, s.Len())
	}
	checkBits(t, c, &r, 2, 1, Options{}, s)
}

// Rejected tokens are replaced by others, on all replicas.
func TestTruncate(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(7)
	c := x.client(small)
	s := newText(t, c, &r, 700)
	for _, n := range []int{690, 513, 512, 511, 0} {
		if err := s.Truncate(n); err != nil {
			t.Fatal(err)
		}
		grow(t, s, &r, 20)
		checkBits(t, c, &r, 2, 1, Options{}, s)
		x.workers["a"].store.Free("nothing")
	}
	if err := s.Free(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, w := range x.workers {
		if u := w.Usage(); u.Blocks != 0 || u.Used != 0 {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

// A worker does not hold more than its limit; other workers take the rest.
func TestFull(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "")
	x.work(WorkerConfig{Name: "small", Memory: 200_000})
	r := testutil.Rand(8)
	config := small
	config.Replicas = 1
	c := x.client(config)
	s := newText(t, c, &r, 5000)
	if u := x.workers["small"].Usage(); u.Used > u.Limit || u.Blocks != 3 {
		t.Errorf("%+v", u)
	}
	checkBits(t, c, &r, 2, 1, Options{}, s)
	x.kill("a")
	k := kernel.BHLD(make([]float32, 2*256*16), 1, 2, 256, 16)
	err := c.Append(t.Context(), []*Sequence{c.NewSequence()}, k, k)
	if w := (*WorkerError)(nil); !errors.As(err, new(*BlocksError)) || !errors.As(err, &w) {
		t.Error(err)
	}
}

// A worker of another contract is refused, by name, and gets no message.
func TestOtherContract(t *testing.T) {
	x := start(t, hub.ServerConfig{})
	conn := x.connect()
	other := hub.Version{Wire: hub.Wire, Contract: kernel.Contract + 1}
	s, err := micro.AddService(conn.Conn, micro.Config{Name: service, Version: "1.0.0",
		Metadata: map[string]string{"worker": "other", "prefix": conn.Prefix(), hub.VersionHeader: other.String()}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	for !errors.Is(err, hub.ErrVersion) { // a search may miss a worker on a busy machine
		if _, err = New(t.Context(), x.connect(), small); !errors.Is(err, ErrNoWorkers) {
			t.Fatal(err)
		}
	}
	if want := fmt.Sprintf("hub: worker other: version %v, want ", other); !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	x.work(WorkerConfig{Name: "a"})
	c := x.client(small)
	for len(c.Workers())+len(c.Refused()) < 2 {
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Workers(); !slices.Equal(got, []string{"a"}) || len(c.Refused()) != 1 {
		t.Errorf("%v, refused %v", got, c.Refused())
	}
	r := testutil.Rand(9)
	checkBits(t, c, &r, 2, 1, Options{}, newText(t, c, &r, 600))
}
