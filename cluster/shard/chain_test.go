package shard

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/cluster/shard/internal/chain"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// inRuns is a configuration whose calls go as chains, over sequences of some length.
func inRuns(c Config) Config {
	c.Run = 16
	return quick(c)
}

const long = 16*256*3 + 700 // keys, in four runs

// A chain has the bits of one machine: in all element types, with workers of different tiers, for
// masks, groups of heads and batches of sequences, of which short ones do not go as chains.
func TestChainBits(t *testing.T) {
	x := start(t, hub.ServerConfig{MaxPayload: 64 << 10}, "", "generic", "")
	r := testutil.Rand(70)
	for _, g := range []Config{
		{Heads: 2, HeadSize: 32, ValueSize: 24},
		{Heads: 1, HeadSize: 64, Type: kernel.Float16, Replicas: 1},
		{Heads: 1, HeadSize: 48, Type: kernel.BFloat16, Replicas: 3},
		{Heads: 2, HeadSize: 64, Type: kernel.Int8, Group: 32, Replicas: 1},
	} {
		c := x.client(inRuns(g))
		texts := []*text{newText(t, c, &r, long), newText(t, c, &r, 300), newText(t, c, &r, long-1000)}
		heads := 2 * g.Heads
		slopes, sinks := make([]float32, heads), make([]float32, heads)
		r.Fill(slopes)
		r.Fill(sinks)
		for i, o := range []Options{
			{},
			{Scoring: kernel.Scoring{Mask: kernel.Causal(0), QueryStart: []int{long - 3, 299, 9000}}},
			{Scoring: kernel.Scoring{Mask: kernel.Window(6000, math.MaxInt), QueryStart: []int{8000}}},
			{Scoring: kernel.Scoring{Scale: 0.3, Softcap: 2, ALiBi: slopes, Sinks: sinks, Mask: kernel.Causal(0)}},
		} {
			stats := checkBits(t, c, &r, heads, 1+i%2*4, o, texts...)
			if stats.Chained < stats.Blocks/2 || stats.Chained == stats.Blocks && i != 2 || stats.Retries > 0 {
				t.Errorf("%+v, options %d: %+v", g, i, stats)
			}
		}
	}
}

// A chain moves a block's partials for each worker, and not for each block.
func TestChainBytes(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(71)
	config := inRuns(small)
	config.Replicas = 1
	c := x.client(config)
	s := newText(t, c, &r, long)
	stats := checkBits(t, c, &r, 4, 1, Options{}, s)
	if most := int64(wire.PartialBytes(&c.geometry, 4, 1) + 4*wire.AnswerOverhead + 64); stats.Received > most || stats.Requests > 4 || stats.Chained != stats.Blocks || stats.Compute == 0 {
		t.Errorf("%+v, want at most %d bytes received", stats, most)
	}
}

// chained checks that calls over a text go as chains again, which takes a search for workers after one was gone.
func chained(t *testing.T, c *Client, r *testutil.Rand, s *text) {
	t.Helper()
	if stats := checkBits(t, c, r, 4, 2, Options{}, s); stats.Chained != stats.Blocks || stats.Retries > 0 {
		t.Errorf("%+v: the call did not go as a chain", stats)
	}
}

// With a worker that is gone the call gets the partials of all blocks, and later calls go as chains past it. Repair keeps
// the blocks of a run together.
func TestChainDeadWorker(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "", "generic")
	r := testutil.Rand(72)
	c := x.client(inRuns(small))
	s := x.create(c, "s")
	grow(t, s, &r, long)
	chained(t, c, &r, s)
	dead := s.Owners(0)[0] // has the first link: where the runs lie differs from sequence to sequence, and a chain may go past others
	x.kill(dead)
	c.trust(dead) // it may have been slow before, on a busy machine
	if stats := checkBits(t, c, &r, 4, 1, Options{}, s); stats.Retries == 0 || stats.Chained > 0 {
		t.Errorf("%+v: want a chain that failed", stats)
	}
	chained(t, c, &r, s)
	if n, err := c.Repair(t.Context(), s.Sequence); n == 0 || err != nil {
		t.Fatalf("%d copies, %v", n, err)
	}
	left := slices.DeleteFunc([]string{"a", "b", "c"}, func(w string) bool { return w == dead })
	x.kill(left[0])
	checkBits(t, c, &r, 4, 1, Options{}, s)
	chained(t, c, &r, s) // on the last one alone
	x.work(WorkerConfig{Name: "d"})
	if n, err := c.Rebalance(t.Context(), s.Sequence); n == 0 || err != nil {
		t.Fatalf("%d copies, %v", n, err)
	}
	chained(t, c, &r, s)
	list, err := List(t.Context(), x.connect())
	if err != nil || len(list) != 1 || list[0].Config.Run != 16 {
		t.Errorf("%+v, %v", list, err)
	}
	u := x.open(x.client(quick(small)), "s", s)
	if stats := checkBits(t, u.client, &r, 4, 1, Options{}, u); stats.Chained > 0 {
		t.Errorf("%+v without runs", stats)
	}
}

// idle waits until no worker has a link. It ends with the test.
func (x *cluster) idle() {
	x.t.Helper()
	for name, w := range x.workers {
		for left, _ := w.chains.Left(); left != linkBytes; left, _ = w.chains.Left() {
			if x.t.Context().Err() != nil {
				x.t.Fatalf("%s has links with %d bytes", name, linkBytes-left)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// The worker of a link in the middle takes the link, and then nothing comes of it: its state, its answer, or all
// that it says is lost, or wrong. The call has the right bits, and no link waits for good.
func TestChainFaults(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "generic")
	r := testutil.Rand(73)
	config := inRuns(small)
	config.Patience = 200 * time.Millisecond
	c := x.client(config)
	s := newText(t, c, &r, long)
	conn := x.connect()
	respond := func(m *nats.Msg, data []byte, change func(*nats.Msg)) {
		reply := nats.NewMsg(m.Reply)
		reply.Data = data
		hub.Seal(reply, m.Header.Get(hub.SumHeader))
		change(reply)
		m.RespondMsg(reply)
	}
	refuse := func(m *nats.Msg) { m.Header.Set(micro.ErrorCodeHeader, CodeState) }
	for what, act := range map[string]func(m *nats.Msg, name string){
		"silence": func(*nats.Msg, string) {},
		"lost": func(m *nats.Msg, name string) {
			if name == "state" {
				respond(m, nil, func(m *nats.Msg) { m.Header.Set(micro.ErrorCodeHeader, CodeMissing) })
			}
		},
		"refused":  func(m *nats.Msg, _ string) { respond(m, nil, refuse) },
		"damaged":  func(m *nats.Msg, _ string) { respond(m, make([]byte, 100), func(m *nats.Msg) { m.Data[17] ^= 4 }) },
		"nonsense": func(m *nats.Msg, _ string) { respond(m, make([]byte, 100), func(*nats.Msg) {}) },
		"no state from the last, or one from another": func(m *nats.Msg, name string) {
			l, err := wire.ParseLink(m.Data)
			if name != "link" || err != nil {
				respond(m, nil, func(*nats.Msg) {})
				return
			}
			wrong := *l
			wrong.Next = map[bool]string{true: "", false: "x"}[l.Next != ""]
			p, err := kernel.NewPartials(1, 1, l.Call.Heads, l.Items[0].Count, 16)
			if err != nil {
				t.Error(err)
				return
			}
			respond(m, wire.AppendLinkAnswer(nil, &wrong, 1, p), func(*nats.Msg) {})
		},
	} {
		w := x.workers["b"]
		w.service.Stop()
		if err := w.conn.Flush(); err != nil { // from now on nothing comes to the worker
			t.Fatal(err)
		}
		sub, err := conn.Subscribe(conn.Subject("shard", "b", "*"), func(m *nats.Msg) {
			if name := m.Subject[len(conn.Subject("shard", "b", "")):]; name == "link" || name == "state" {
				act(m, name)
			} else if name == ping {
				respond(m, nil, func(*nats.Msg) {})
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		c.trust("b")
		if stats := checkBits(t, c, &r, 4, 1, Options{}, s); stats.Retries == 0 || stats.Chained > 0 {
			t.Errorf("%s: %+v", what, stats)
		}
		sub.Unsubscribe()
		x.idle()
	}
}

// A message of a chain that no client sends gets an error that says why; a message that comes again gets no answer.
func TestHostileLinks(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "")
	r := testutil.Rand(74)
	c := x.client(small)
	s := newText(t, c, &r, 600)
	id := byte(0)
	link := func(change func(l *wire.Link)) []byte {
		id++
		l := &wire.Link{Chain: wire.ChainID{id}, Wait: 20 * time.Millisecond, Attend: wire.Attend{Geometry: c.geometry, Call: wire.Call{Heads: 2}, Items: []wire.Queries{
			{Sequence: s.Name(), Epoch: s.epoch, Keys: 600, Count: 1, Ranges: []wire.Range{{First: 0, Count: 3}}, Rows: make([]byte, 2*16*4)}}}}
		change(l)
		return l.Append(nil)
	}
	state := func(l int, kind wire.StateKind, rows int) []byte {
		return (&wire.State{Chain: wire.ChainID{200, byte(l)}, Number: l, Kind: kind, Rows: make([]byte, rows)}).Append(nil)
	}
	twice := link(func(*wire.Link) {})
	m := messenger{conn: c.conn, patience: time.Second}
	for _, test := range []struct {
		what, name string
		data       []byte
		code       string
	}{
		{"noise", "link", []byte("GET / HTTP/1.1"), CodeFormat},
		{"nothing", "state", nil, CodeFormat},
		{"a good link", "link", twice, ""},
		{"no such worker", "link", link(func(l *wire.Link) { l.Next = "z" }), CodeSilent},
		{"no name", "link", link(func(l *wire.Link) { l.Next = "a.put" }), CodeFormat},
		{"a block that it does not hold", "link", link(func(l *wire.Link) { l.Items[0].Keys, l.Items[0].Ranges[0].Count = 1000, 4 }), CodeMissing},
		{"arguments", "link", link(func(l *wire.Link) { l.Call.Scoring.Softcap = -1 }), CodeArgument},
		{"many blocks", "link", link(func(l *wire.Link) { l.Items[0].Keys, l.Items[0].Ranges[0].Count = 1<<30, 1<<22 }), CodeLimit},
		{"blocks of few bytes", "link", link(func(l *wire.Link) { l.Items[0].Keys, l.Items[0].Ranges[0].Count = 1<<27, 1<<19 }), CodeLimit},
		{"no state", "link", link(func(l *wire.Link) { l.Number = 3 }), CodeState},
		{"unknown", "state", state(1, wire.StateAsk, 0), CodeMissing},
		{"a state of another size", "state", state(2, wire.StateIs, 12), ""},
		{"its link", "link", link(func(l *wire.Link) { l.Chain, l.Number = wire.ChainID{200, 2}, 2 }), CodeFormat},
		{"a chain that is given up", "state", state(4, wire.StateNone, 0), ""},
		{"its link", "link", link(func(l *wire.Link) { l.Chain, l.Number = wire.ChainID{200, 4}, 4 }), CodeState},
	} {
		_, err := m.request(t.Context(), "a", test.name, test.data)
		var e *WorkerError
		if errors.As(err, &e); test.code == "" && err != nil || test.code != "" && (e == nil || e.Code != test.code || e.Text == "") {
			t.Errorf("%s: %v, want %q", test.what, err, test.code)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := m.requestOnce(ctx, "a", "link", twice); !silent(err) {
		t.Errorf("the same link again: %v", err)
	}
	x.idle()
	checkBits(t, c, &r, 4, 1, Options{}, s)
}

// A worker without memory for a link says so, and the call goes on without the chain.
func TestChainFull(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(75)
	c := x.client(inRuns(small))
	s := newText(t, c, &r, long)
	chained(t, c, &r, s)
	for n, name := range []string{"a", "b"} {
		x.idle()
		end, err := x.workers[name].chains.Begin(keyOf(n), linkBytes)
		if err != nil {
			t.Fatal(err)
		}
		if stats := checkBits(t, c, &r, 4, 1, Options{}, s); stats.Retries == 0 || stats.Chained > 0 {
			t.Errorf("%+v", stats)
		}
		end()
	}
	chained(t, c, &r, s)
}

// A link that the worker would refuse because of its memory is not sent.
func TestChainLarge(t *testing.T) {
	x := start(t, hub.ServerConfig{MaxPayload: 16 << 20}, "")
	r := testutil.Rand(77)
	c := x.client(inRuns(small))
	s := newText(t, c, &r, long)
	const most = linkBytes / (4 * (2 + 16) * 4) / (long/256 + 1) // queries whose partials take less than a link may
	for queries, want := range map[int]int{most / 2: 1, most: 0} {
		q := wire.NewBuffer(kernel.Float32, 4*queries*16)
		a := &call{client: c, q: q.Tensor(4, queries, queries, 16), options: &Options{}}
		u := &unit{name: s.name, epoch: s.readEpoch(), hi: queries, keys: long}
		u.see(new(kernel.Mask), s.blocks)
		links := 0
		if l := a.linked(u, []string{"a"}, map[string]int{}); l != nil {
			links = len(l.links)
		}
		if links != want {
			t.Errorf("%d links for %d queries, want %d", links, queries, want)
		}
	}
}

// A client that waits for good has links that wait as long as workers let them.
func TestChainPatient(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(78)
	config := inRuns(small)
	config.Timeout = math.MaxInt64
	c := x.client(config)
	s := newText(t, c, &r, long)
	chained(t, c, &r, s)
}

// A call that is a chain ends with its context.
func TestChainCanceled(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(76)
	c := x.client(inRuns(small))
	s := newText(t, c, &r, long)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := testutil.Filled(4*16, 7)
	_, err := c.Attention(ctx, kernel.BHLD(out, 1, 4, 1, 16), kernel.BHLD(make([]float32, 4*16), 1, 4, 1, 16), []*Sequence{s.Sequence}, nil)
	if !errors.Is(err, context.Canceled) || !slices.Equal(out, testutil.Filled(4*16, 7)) {
		t.Error(err)
	}
	chained(t, c, &r, s)
}

// keyOf returns a key that no chain has.
func keyOf(n int) chain.Key { return chain.Key{Number: n} }
