package shard

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// A message that no client sends gets an error that says why, and changes nothing.
func TestHostileMessages(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "")
	r := testutil.Rand(10)
	c := x.client(small)
	s := newText(t, c, &r, 600)
	conn := x.connect()
	g := c.geometry
	put := wire.Put{Geometry: g, Items: []wire.Keys{{Sequence: s.Name(), Block: 0, Epoch: 1 << 40, Offset: 0, Count: 1, Rows: make([]byte, g.RowBytes())}}}
	attend := func(change func(a *wire.Attend)) []byte {
		a := &wire.Attend{Geometry: g, Call: wire.Call{Heads: 2}, Items: []wire.Queries{
			{Sequence: s.Name(), Keys: 600, Count: 1, Ranges: []wire.Range{{First: 0, Count: 3}}, Rows: make([]byte, 2*16*4)}}}
		change(a)
		return wire.Encode(a)
	}
	old := hub.Version{Wire: hub.Wire, Contract: kernel.Contract - 1}
	for what, m := range map[string]struct {
		endpoint string
		data     []byte
		version  string
		code     string
	}{
		"nothing":       {"put", nil, hub.Own.String(), CodeFormat},
		"noise":         {"attend", []byte("GET / HTTP/1.1\r\n\r\n"), hub.Own.String(), CodeFormat},
		"a long noise":  {"put", make([]byte, 900_000), hub.Own.String(), CodeFormat},
		"cut off":       {"put", wire.Encode(&put)[:50], hub.Own.String(), CodeFormat},
		"no version":    {"put", wire.Encode(&put), "", CodeVersion},
		"old contract":  {"put", wire.Encode(&put), old.String(), CodeVersion},
		"old names":     {"free", wire.Encode(&wire.Free{Sequence: s.Name()}), old.String(), CodeVersion},
		"scale":         {"attend", attend(func(a *wire.Attend) { a.Call.Scoring.Scale = math.Float32bits(float32(math.Inf(1))) }), hub.Own.String(), CodeArgument},
		"cap":           {"attend", attend(func(a *wire.Attend) { a.Call.Scoring.Softcap = math.Float32bits(-1) }), hub.Own.String(), CodeArgument},
		"large answers": {"attend", attend(func(a *wire.Attend) { a.Items[0].Keys, a.Items[0].Ranges[0].Count = 1<<30, 1<<22 }), hub.Own.String(), CodeLimit},
	} {
		msg := nats.NewMsg(conn.Subject("shard", "a", m.endpoint))
		msg.Data = m.data
		hub.Seal(msg, "a."+m.endpoint)
		msg.Header.Set(hub.VersionHeader, m.version)
		reply, err := conn.RequestMsgWithContext(t.Context(), msg)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if code := reply.Header.Get(micro.ErrorCodeHeader); code != m.code || reply.Header.Get(micro.ErrorHeader) == "" {
			t.Errorf("%s: code %q, want %q: %s", what, code, m.code, reply.Header.Get(micro.ErrorHeader))
		}
	}
	checkBits(t, c, &r, 4, 1, Options{}, s)
}

// A worker that answers nonsense, or another version, is passed over.
func TestHostileAnswers(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(11)
	c := x.client(small)
	s := newText(t, c, &r, 900)
	x.kill("a")
	conn := x.connect()
	for what, answer := range map[string]func(*nats.Msg){
		"no version": func(m *nats.Msg) { m.Header = nil },
		"damaged":    func(m *nats.Msg) { m.Data[17] ^= 4 },
		"astray":     func(m *nats.Msg) { hub.Seal(m, "00000000") },
		"too short":  func(m *nats.Msg) { m.Data = m.Data[:7] },
		"too long":   func(m *nats.Msg) {},
		"contract": func(m *nats.Msg) {
			m.Header.Set(hub.VersionHeader, hub.Version{Wire: hub.Wire, Contract: 99}.String())
		},
	} {
		sub, err := conn.Subscribe(conn.Subject("shard", "a", "*"), func(m *nats.Msg) {
			reply := nats.NewMsg(m.Reply)
			reply.Data = make([]byte, 10_000)
			hub.Seal(reply, m.Header.Get(hub.SumHeader))
			answer(reply)
			m.RespondMsg(reply)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		c.trust("a")
		if stats := checkBits(t, c, &r, 4, 1, Options{}, s); stats.Retries == 0 {
			t.Errorf("%s: %+v", what, stats)
		}
		sub.Unsubscribe()
	}
}

// What a caller cannot mean gets an error that names the argument; out is untouched.
func TestArguments(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "")
	r := testutil.Rand(12)
	c, other := x.client(small), x.client(small)
	s := newText(t, c, &r, 10)
	q := func(h, n, d int) kernel.Tensor { return kernel.BHLD(make([]float32, h*n*d), 1, h, n, d) }
	memory := testutil.Filled(64, 7)
	out := kernel.BHLD(memory, 1, 2, 1, 16)
	i8 := kernel.BHLD(make([]int8, 32), 1, 2, 1, 16)
	one := []*Sequence{s.Sequence}
	for arg, call := range map[string]func() error{
		"q heads":     func() error { return attendErr(c, out, q(3, 1, 16), one, Options{}) },
		"q size":      func() error { return attendErr(c, out, q(2, 1, 8), one, Options{}) },
		"q type":      func() error { return attendErr(c, out, i8, one, Options{}) },
		"out shape":   func() error { return attendErr(c, out, q(2, 2, 16), one, Options{}) },
		"out overlap": func() error { return attendErr(c, out, kernel.BHLD(memory[16:], 1, 2, 1, 16), one, Options{}) },
		"sequences":   func() error { return attendErr(other, out, q(2, 1, 16), one, Options{}) },
		"sequences.":  func() error { return attendErr(c, out, q(2, 1, 16), []*Sequence{nil}, Options{}) },
		"Options.Scale": func() error {
			return attendErr(c, out, q(2, 1, 16), one, Options{Scoring: kernel.Scoring{Scale: float32(math.NaN())}})
		},
		"Options.Mask": func() error {
			return attendErr(c, out, q(2, 1, 16), one, Options{Scoring: kernel.Scoring{Mask: kernel.Window(-2, 0)}})
		},
		"Options.ALiBi": func() error {
			return attendErr(c, out, q(2, 1, 16), one, Options{Scoring: kernel.Scoring{ALiBi: []float32{1}}})
		},
		"Options.Sinks": func() error {
			return attendErr(c, out, q(2, 1, 16), one, Options{Scoring: kernel.Scoring{Sinks: []float32{1}}})
		},
		"Options.LSE": func() error { return attendErr(c, out, q(2, 1, 16), one, Options{LSE: q(2, 1, 2)}) },
		"Options.QueryStart": func() error {
			return attendErr(c, out, q(2, 1, 16), one, Options{Scoring: kernel.Scoring{QueryStart: []int{math.MaxInt32}}})
		},
		"Options.Threads": func() error { return attendErr(c, out, q(2, 1, 16), one, Options{Exec: kernel.Exec{Threads: -1}}) },
		"k":               func() error { return c.Append(t.Context(), one, q(1, 1, 16), q(2, 1, 16)) },
		"k type":          func() error { return c.Append(t.Context(), one, i8, q(2, 1, 16)) },
		"v":               func() error { return c.Append(t.Context(), one, q(2, 1, 16), q(2, 2, 16)) },
		"sequences twice": func() error {
			return c.Append(t.Context(), []*Sequence{s.Sequence, s.Sequence}, q(2, 1, 16), q(2, 1, 16))
		},
		"n":      func() error { return s.Truncate(11) },
		"Config": func() error { _, err := New(t.Context(), x.connect(), Config{}); return err },
		"Config.Replicas": func() error {
			_, err := New(t.Context(), x.connect(), Config{Heads: 1, HeadSize: 1, Replicas: -1})
			return err
		},
		"Config large": func() error {
			_, err := New(t.Context(), x.connect(), Config{Heads: 100, HeadSize: 4096})
			return err
		},
		"WorkerConfig.Name":   func() error { _, err := NewWorker(x.connect(), WorkerConfig{Name: "a.b"}); return err },
		"WorkerConfig.Memory": func() error { _, err := NewWorker(x.connect(), WorkerConfig{Name: "z", Memory: -1}); return err },
	} {
		var e *kernel.Error
		if err := call(); !errors.As(err, &e) || !strings.HasPrefix(arg, e.Arg()) {
			t.Errorf("%s: %v", arg, err)
		}
	}
	testutil.CheckBits(t, "out", memory, testutil.Filled(64, 7))
	if s.Len() != 10 {
		t.Errorf("%d keys", s.Len())
	}
	checkBits(t, c, &r, 2, 1, Options{}, s)
}

func attendErr(c *Client, out, q kernel.Tensor, s []*Sequence, o Options) error {
	_, err := c.Attention(context.Background(), out, q, s, &o)
	return err
}
