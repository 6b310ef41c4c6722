package shard

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// create returns an empty text that the directory knows by a name.
func (x *cluster) create(c *Client, name string) *text {
	x.t.Helper()
	s, err := c.Create(x.t.Context(), name)
	if err != nil {
		x.t.Fatal(err)
	}
	empty := kernel.BHLD(make([]float32, 0), 1, c.config.Heads, 0, c.config.HeadSize)
	return &text{s, empty, empty}
}

// open opens a text, which should have the keys of another client's.
func (x *cluster) open(c *Client, name string, from *text) *text {
	x.t.Helper()
	s, err := c.Open(x.t.Context(), name)
	if err != nil {
		x.t.Fatal(err)
	}
	return &text{s, from.k, from.v}
}

// ones returns n rows of equal numbers.
func ones(c *Client, n int, value float32) kernel.Tensor {
	g := c.config
	return kernel.BHLD(testutil.Filled(g.Heads*n*g.HeadSize, value), 1, g.Heads, n, g.HeadSize)
}

// Any client can open a sequence, read it and go on with it. The one that wrote before notices.
func TestDirectory(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "generic", "")
	r := testutil.Rand(30)
	a, b := x.client(small), x.client(small)
	s := x.create(a, "s")
	grow(t, s, &r, 700)
	u := x.open(b, "s", s)
	if u.Len() != 700 || u.Name() != s.Name() {
		t.Fatalf("%s of %d keys, want %s of 700", u.Name(), u.Len(), s.Name())
	}
	checkBits(t, b, &r, 4, 1, Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}, u)
	grow(t, u, &r, 300)
	checkBits(t, a, &r, 4, 1, Options{}, s) // what a knows is still right
	var conflict *ConflictError
	if err := a.Append(t.Context(), []*Sequence{s.Sequence}, ones(a, 1, 1), ones(a, 1, 1)); !errors.As(err, &conflict) || conflict.Sequence != "s" || s.Len() != 700 {
		t.Fatalf("%v, %d keys", err, s.Len())
	}
	checkBits(t, b, &r, 4, 1, Options{}, u)
	if err := s.Reload(t.Context()); err != nil || s.Len() != 1000 {
		t.Fatalf("%v, %d keys", err, s.Len())
	}
	s.k, s.v = u.k, u.v
	grow(t, s, &r, 50)
	checkBits(t, a, &r, 4, 1, Options{}, s)
	checkBits(t, b, &r, 4, 1, Options{}, u)
	list := x.list()
	if len(list) != 1 || list[0].Name != "s" || list[0].Keys != 1050 || list[0].Copies != 2 || len(list[0].Workers) != 3 {
		t.Errorf("%+v", list)
	}
	if err := u.Free(t.Context()); !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	if err := s.Free(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, w := range x.workers {
		if n := w.Usage().Blocks; n != 0 {
			t.Errorf("%s has %d blocks", name, n)
		}
	}
	if err := u.Reload(t.Context()); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// A client that has not heard of a change never gets rows that it does not mean: those that
// were replaced are an error.
func TestStaleReader(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(31)
	a, b := x.client(small), x.client(small)
	s := x.create(a, "s")
	grow(t, s, &r, 600)
	u := x.open(b, "s", s)
	v := x.open(b, "s", s)
	if err := s.Truncate(400); err != nil {
		t.Fatal(err)
	}
	checkBits(t, b, &r, 2, 1, Options{}, u) // the rows are there until others take their place
	grow(t, s, &r, 300)
	checkBits(t, a, &r, 2, 1, Options{}, s)
	out := testutil.Filled(4*16, 7)
	err := attendErr(b, kernel.BHLD(out, 1, 4, 1, 16), kernel.BHLD(testutil.Floats(4*16), 1, 4, 1, 16), []*Sequence{u.Sequence}, Options{})
	if !errors.As(err, new(*BlocksError)) || !errors.As(err, new(*ConflictError)) {
		t.Errorf("%v", err)
	}
	testutil.CheckBits(t, "out", out, testutil.Filled(4*16, 7))
	if err := v.Truncate(400); err != nil {
		t.Fatal(err)
	}
	checkBits(t, b, &r, 2, 1, Options{}, v) // these rows are what they were
	if err := v.Commit(t.Context()); !errors.As(err, new(*ConflictError)) {
		t.Errorf("%v", err)
	}
}

// Clients that append at once get an order or an error, and what the directory has in the end
// is what those appended whose calls succeeded.
func TestRace(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "", "")
	r := testutil.Rand(32)
	first := x.client(small)
	s := x.create(first, "s")
	const clients, rounds = 3, 6
	var mu sync.Mutex
	written := map[int]float32{} // by position
	var all sync.WaitGroup
	for i := range clients {
		c := x.client(small)
		all.Go(func() {
			u, err := c.Open(t.Context(), "s")
			for round := 0; round < rounds && err == nil; {
				at, value := u.Len(), float32(i*100+round+1)
				switch e := c.Append(t.Context(), []*Sequence{u}, ones(c, 30, value), ones(c, 30, value)); {
				case e == nil:
					mu.Lock()
					if written[at] != 0 {
						t.Errorf("position %d twice", at)
					}
					written[at] = value
					mu.Unlock()
					round++
				case errors.As(e, new(*ConflictError)):
					err = u.Reload(t.Context())
				default:
					err = e
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := s.Reload(t.Context()); err != nil || s.Len() != 30*clients*rounds {
		t.Fatalf("%v, %d keys", err, s.Len())
	}
	for at := 0; at < s.Len(); at += 30 {
		s.k, s.v = joined(first.config, s.k, ones(first, 30, written[at]), at, 30, 16), joined(first.config, s.v, ones(first, 30, written[at]), at, 30, 16)
	}
	checkBits(t, first, &r, 2, 3, Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}, s)
}

// A client that ends between sending rows and telling the directory leaves the keys of before.
func TestAbandoned(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "")
	r := testutil.Rand(33)
	config := small
	config.CommitKeys = 100
	a, b := x.client(config), x.client(small)
	s := x.create(a, "s")
	grow(t, s, &r, 300)
	k, v := s.k, s.v
	grow(t, s, &r, 60) // the directory does not know
	u := x.open(b, "s", &text{k: k, v: v})
	if u.Len() != 300 {
		t.Fatalf("%d keys", u.Len())
	}
	checkBits(t, b, &r, 2, 1, Options{}, u)
	grow(t, u, &r, 20) // in place of the 60
	checkBits(t, b, &r, 2, 1, Options{}, u)
	if err := s.Commit(t.Context()); !errors.As(err, new(*ConflictError)) {
		t.Error(err)
	}
	if err := s.Reload(t.Context()); err != nil || s.Len() != 320 {
		t.Errorf("%v, %d keys", err, s.Len())
	}
	s.k, s.v = u.k, u.v
	checkBits(t, a, &r, 2, 1, Options{}, s)
	grow(t, s, &r, 60)
	if err := s.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	u = x.open(b, "s", s)
	checkBits(t, b, &r, 2, 1, Options{}, u)
}

// If the directory is away, an append fails and the sequence stays as it is; when the
// directory is back, the writer goes on.
func TestDirectoryAway(t *testing.T) {
	ctx := testutil.Context(t)
	dir := t.TempDir()
	x := start(t, hub.ServerConfig{StoreDir: dir}, "", "")
	r := testutil.Rand(34)
	a := x.client(small)
	s := x.create(a, "s")
	grow(t, s, &r, 300)
	js, err := jetstream.New(x.connect().Conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, "KV_attn_sequences")
	if err != nil {
		t.Fatal(err)
	}
	full := stream.CachedInfo().Config
	full.MaxMsgSize = 10 // as little as a full disk takes
	if _, err := js.UpdateStream(ctx, full); err != nil {
		t.Fatal(err)
	}
	if err := a.Append(t.Context(), []*Sequence{s.Sequence}, ones(a, 9, 1), ones(a, 9, 1)); !errors.As(err, new(*DirectoryError)) || s.Len() != 300 {
		t.Fatalf("%v, %d keys", err, s.Len())
	}
	checkBits(t, a, &r, 2, 1, Options{}, s)
	full.MaxMsgSize = -1
	if _, err := js.UpdateStream(ctx, full); err != nil {
		t.Fatal(err)
	}
	grow(t, s, &r, 20)
	checkBits(t, a, &r, 2, 1, Options{}, s)
	u := x.open(x.client(small), "s", s)
	checkBits(t, u.client, &r, 2, 1, Options{}, u)
}

// What cannot be created or opened is an error that says why.
func TestDirectoryErrors(t *testing.T) {
	ctx := testutil.Context(t)
	x := start(t, hub.ServerConfig{}, "")
	c := x.client(small)
	x.create(c, "s")
	var d *DirectoryError
	var argument *kernel.Error
	if _, err := c.Create(t.Context(), "s"); !errors.Is(err, ErrExists) || !errors.As(err, &d) || d.Sequence != "s" {
		t.Error(err)
	}
	if _, err := c.Open(t.Context(), "none"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	for _, name := range []string{"", "a.b", "a*", string(make([]byte, 41))} {
		if _, err := c.Create(t.Context(), name); !errors.As(err, &argument) || argument.Arg() != "name" {
			t.Errorf("%q: %v", name, err)
		}
	}
	other := x.client(Config{Heads: 1, HeadSize: 16})
	if _, err := other.Open(t.Context(), "s"); !errors.As(err, &d) || !errors.As(err, &argument) || argument.Arg() != "Config" {
		t.Error(err)
	}
	kv, err := c.bucket.open(ctx, c.conn)
	if err != nil {
		t.Fatal(err)
	}
	old := (&Sequence{client: c, name: "old.x", shared: &shared{}}).entry()
	old.Contract--
	old.Writer = "w"
	for name, data := range map[string][]byte{"old": old.Encode(), "junk": []byte("junk"), "empty": nil} {
		if _, err := kv.Put(ctx, name, data); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Open(t.Context(), name); !errors.Is(err, hub.ErrVersion) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := kv.Put(ctx, "cut", (&Sequence{client: c, name: "cut.x", shared: &shared{writer: "w"}}).entry().Encode()[:30]); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(t.Context(), "cut"); !errors.As(err, &d) {
		t.Error(err)
	}
	list, err := List(t.Context(), x.connect())
	if err != nil || len(list) != 5 || !slices.IsSortedFunc(list, func(a, b Info) int { return map[bool]int{true: -1, false: 1}[a.Name < b.Name] }) {
		t.Errorf("%v %+v", err, list)
	}
}

// A directory that is full takes no longer entry. What it has stays as it is, and there is room
// again when a sequence is freed.
func TestFullDirectory(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "")
	conn := x.connect()
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateKeyValue(testutil.Context(t), jetstream.KeyValueConfig{Bucket: conn.StreamName("sequences"), MaxBytes: 3000}); err != nil {
		t.Fatal(err)
	}
	c := x.client(small)
	r := testutil.Rand(33)
	s := x.create(c, "first")
	grow(t, s, &r, 300)
	var refused *DirectoryError
	var made []*Sequence
	for i := 0; refused == nil; i++ {
		one, err := c.Create(t.Context(), "s"+string(rune('a'+i)))
		if err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		if err == nil {
			made = append(made, one)
		}
	}
	if len(made) < 2 {
		t.Fatalf("the directory has room for %d entries, too few for a test", len(made)+1)
	}
	checkBits(t, c, &r, 4, 1, Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}, x.open(c, "first", s))
	for _, one := range made {
		if err := one.Free(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	x.create(c, "next")
}

// A name that was freed leaves nothing behind in a directory that says how long markers stay, as
// one that a client makes does. It can be taken again at once and later, and a client that does not
// know of that cannot bring the old sequence back.
func TestMarkers(t *testing.T) {
	ctx := testutil.Context(t)
	for _, ttl := range []time.Duration{time.Second, 0} {
		x := start(t, hub.ServerConfig{}, "")
		conn := x.connect()
		js, err := jetstream.New(conn.Conn)
		if err != nil {
			t.Fatal(err)
		}
		kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: conn.StreamName("sequences"), LimitMarkerTTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		values := func() uint64 {
			t.Helper()
			status, err := kv.Status(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return status.Values()
		}
		c := x.client(small)
		r := testutil.Rand(34)
		var late []*text
		for _, name := range []string{"a", "b", "a"} {
			s := x.create(c, name)
			grow(t, s, &r, 300)
			late = append(late, x.open(x.client(small), name, s))
			if err := s.Free(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := kv.Put(ctx, "damaged", []byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := Forget(t.Context(), conn, "damaged"); err != nil {
			t.Fatal(err)
		}
		if ttl == 0 { // as earlier versions made it
			if got := values(); got != 3 {
				t.Errorf("%d markers, want 3", got)
			}
			continue
		}
		for values() > 0 { // it ends with the test: how long that takes is not for the test to say
			time.Sleep(20 * time.Millisecond)
		}
		for i, s := range late {
			err := s.Truncate(10)
			if err == nil {
				err = s.Commit(t.Context())
			}
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("a client of sequence %d, which was freed: %v", i, err)
			}
		}
		if got := values(); got != 0 {
			t.Errorf("%d sequences came back", got)
		}
		x.create(c, "a")
	}

	x := start(t, hub.ServerConfig{}, "")
	c := x.client(small)
	x.create(c, "a")
	if status, err := c.bucket.kv.Status(ctx); err != nil || status.LimitMarkerTTL() != markerTime {
		t.Errorf("%v, %v: want markers for %v", status, err, markerTime)
	}
}
