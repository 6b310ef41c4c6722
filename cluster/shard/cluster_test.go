package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// cluster is a server with workers in this process.
type cluster struct {
	t       *testing.T
	server  *hub.Server
	workers map[string]*Worker
	conns   map[string]*hub.Conn
	own     *hub.Conn
}

// start starts a server and workers a, b, c...; tiers[i] is the tier of worker i.
func start(t *testing.T, c hub.ServerConfig, tiers ...string) *cluster {
	t.Helper()
	c.Port = -1
	server, err := hub.Serve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	x := &cluster{t: t, server: server, workers: map[string]*Worker{}, conns: map[string]*hub.Conn{}}
	x.own = x.connect()
	for i, tier := range tiers {
		chosen, err := kernel.TierNamed(tier)
		if err != nil {
			t.Fatal(err)
		}
		x.work(WorkerConfig{Name: string(rune('a' + i)), Exec: kernel.Exec{Tier: chosen, Threads: 2}})
	}
	return x
}

// connect returns a new connection to the server.
func (x *cluster) connect() *hub.Conn {
	x.t.Helper()
	c := x.server.Client()
	c.Wait = -1
	conn, err := hub.Connect(x.t.Context(), c)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(conn.Close)
	return conn
}

// work starts a worker with a connection of its own.
func (x *cluster) work(c WorkerConfig) {
	x.t.Helper()
	conn := x.connect()
	c.id = c.Name
	w, err := NewWorker(conn, c)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(w.Close)
	if _, err := conn.Hold(c.Name); err != nil {
		x.t.Fatal(err)
	}
	x.workers[c.Name], x.conns[c.Name] = w, conn
}

// kill cuts off a worker, as if its process had been killed, and waits until the server notices.
func (x *cluster) kill(name string) {
	x.conns[name].Close()
	for held, err := true, error(nil); held && err == nil; {
		held, err = x.own.IsHeld(context.Background(), name)
	}
}

// client returns a client that has found all workers: on a busy machine one search may miss some.
// It takes none for silent because others have the processors.
func (x *cluster) client(c Config) *Client {
	x.t.Helper()
	c.Patience, c.Timeout = time.Minute, time.Hour
	conn := x.connect()
	client, err := New(x.t.Context(), conn, c)
	for errors.Is(err, ErrNoWorkers) {
		client, err = New(x.t.Context(), conn, c)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	alive := 0
	for _, conn := range x.conns {
		if !conn.IsClosed() {
			alive++
		}
	}
	for len(client.Workers())+len(client.Refused()) < alive {
		if err := client.Refresh(x.t.Context()); err != nil {
			x.t.Fatal(err)
		}
	}
	return client
}

// report returns what so many workers, which are all that there are, say of themselves: on a busy
// machine one search may miss some, and others may be late.
func (x *cluster) report(workers int) []WorkerReport {
	x.t.Helper()
	for {
		all, err := Report(x.t.Context(), x.own)
		if err != nil {
			x.t.Fatal(err)
		}
		if len(all) == workers && !slices.ContainsFunc(all, func(w WorkerReport) bool { return w.Error != "" }) {
			return all
		}
	}
}

// list returns what the directory has: on a busy machine an entry may take longer than it may.
func (x *cluster) list() []Info {
	x.t.Helper()
	for {
		all, err := List(x.t.Context(), x.own)
		if err != nil {
			x.t.Fatal(err)
		}
		if !slices.ContainsFunc(all, func(i Info) bool { return errors.Is(i.Err, context.DeadlineExceeded) }) {
			return all
		}
	}
}

// tensor returns [b, h, l, d] of random numbers in a type.
func tensor(t testing.TB, r *testutil.Rand, kind kernel.DType, group, b, h, l, d int) kernel.Tensor {
	t.Helper()
	n := b * h * l * d
	x := make([]float32, n)
	r.FillMantissas(x)
	switch kind {
	case kernel.Float16:
		y := make([]kernel.F16, n)
		for i := range x {
			x[i] /= 64
		}
		for i := range x {
			y[i] = numeric.ToF16(x[i])
		}
		return kernel.BHLD(y, b, h, l, d)
	case kernel.BFloat16:
		y := make([]kernel.BF16, n)
		for i := range x {
			y[i] = numeric.ToBF16(x[i])
		}
		return kernel.BHLD(y, b, h, l, d)
	case kernel.Int8:
		y, s := make([]int8, n), make([]float32, n/group)
		if err := numeric.QuantizeInt8(y, s, x, group, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		scales := kernel.BHLD(s, b, h, l, d/group)
		return kernel.BHLD(y, b, h, l, d).Scaled(&scales)
	}
	return kernel.BHLD(x, b, h, l, d)
}

// text is a sequence with the keys and values that it should have.
type text struct {
	*Sequence
	k, v kernel.Tensor
}

// newText returns a sequence of n random keys, appended in some steps.
func newText(t testing.TB, c *Client, r *testutil.Rand, n int) *text {
	t.Helper()
	g := c.config
	x := &text{c.NewSequence(), tensor(t, r, g.Type, g.Group, 1, g.Heads, n, g.HeadSize), tensor(t, r, g.Type, g.Group, 1, g.Heads, n, g.ValueSize)}
	for at := 0; at < n; {
		step := min(n-at, 1+r.IntN(n))
		x.append(t, at, at+step)
		at += step
	}
	return x
}

// append appends rows lo to hi-1.
func (x *text) append(t testing.TB, lo, hi int) {
	t.Helper()
	err := x.client.Append(t.Context(), []*Sequence{x.Sequence}, rowsOf(x.k, lo, hi), rowsOf(x.v, lo, hi))
	if err != nil {
		t.Fatal(err)
	}
}

// rowsOf returns rows lo to hi-1 of a tensor of one batch row.
func rowsOf(t kernel.Tensor, lo, hi int) kernel.Tensor { return t.Ragged([]int{lo, hi}) }

// alone computes attention over a text in this process.
func (x *text) alone(t testing.TB, q kernel.Tensor, o Options) (out, lse []float32) {
	t.Helper()
	s, d := q.Shape(), x.client.config.ValueSize
	n := s[1] * s[2]
	out, lse = make([]float32, n*d), make([]float32, n)
	start := x.Len() - s[2]
	if len(o.QueryStart) > 0 {
		start = o.QueryStart[0]
	}
	err := kernel.Attention(kernel.BHLD(out, 1, s[1], s[2], d), q, rowsOf(x.k, 0, x.Len()), rowsOf(x.v, 0, x.Len()), &kernel.Options{
		Scoring: kernel.Scoring{Scale: o.Scale, Softcap: o.Softcap, Mask: o.Mask, ALiBi: o.ALiBi, Sinks: o.Sinks,
			QueryStart: []int{start}}, Outputs: kernel.Outputs{LSE: kernel.BHLD(lse, 1, s[1], s[2], 1)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, lse
}

// checkBits compares attention of count queries over texts with that in this process.
func checkBits(t testing.TB, c *Client, r *testutil.Rand, heads, count int, o Options, texts ...*text) Stats {
	t.Helper()
	g := c.config
	var sequences []*Sequence
	for _, x := range texts {
		sequences = append(sequences, x.Sequence)
	}
	q := make([]float32, len(texts)*heads*count*g.HeadSize)
	r.Fill(q)
	out, lse := make([]float32, len(texts)*heads*count*g.ValueSize), make([]float32, len(texts)*heads*count)
	o.LSE = kernel.BHLD(lse, len(texts), heads, count, 1)
	stats, err := c.Attention(t.Context(), kernel.BHLD(out, len(texts), heads, count, g.ValueSize), kernel.BHLD(q, len(texts), heads, count, g.HeadSize), sequences, &o)
	if err != nil {
		t.Fatal(err)
	}
	one := heads * count
	for i, x := range texts {
		p := o
		if len(o.QueryStart) > 1 {
			p.QueryStart = o.QueryStart[i : i+1]
		}
		wantOut, wantLSE := x.alone(t, kernel.BHLD(q[i*one*g.HeadSize:], 1, heads, count, g.HeadSize), p)
		what := fmt.Sprintf("text %d of %d keys", i, x.Len())
		testutil.CheckBits(t, what, out[i*one*g.ValueSize:(i+1)*one*g.ValueSize], wantOut)
		testutil.CheckBits(t, what+", LSE", lse[i*one:(i+1)*one], wantLSE)
	}
	return stats
}

// wait has the client wait for so long for a silent worker.
func (c *Client) wait(patience time.Duration) { c.config.Patience, c.patience = patience, patience }
