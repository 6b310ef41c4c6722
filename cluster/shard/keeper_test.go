package shard

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
)

// whole tells whether every block of a sequence of the directory is on two workers, none of that
// name.
func (x *cluster) whole(name, without string) bool {
	x.t.Helper()
	s, err := x.client(small).Open(x.t.Context(), name)
	if err != nil {
		x.t.Fatal(err)
	}
	return !slices.ContainsFunc(s.blocks, func(b placed) bool { return len(b.workers) != 2 || slices.Contains(b.workers, without) })
}

// waitFor waits until a sequence is whole. It ends with the test: how long that takes is not for
// the test to say.
func (x *cluster) waitFor(name, without string) {
	x.t.Helper()
	for x.t.Context().Err() == nil && !x.whole(name, without) {
		time.Sleep(20 * time.Millisecond)
	}
}

// Workers copy what those that are gone have held, one after the other, while a client appends.
// Keys are lost if they do not.
func TestKeepers(t *testing.T) {
	x := start(t, hub.ServerConfig{})
	for _, name := range []string{"a", "b", "c"} {
		x.work(WorkerConfig{Name: name, Repair: 400 * time.Millisecond})
	}
	r := testutil.Rand(50)
	a := x.client(small)
	s := x.create(a, "s")
	grow(t, s, &r, 256*6+30)
	for i, old := range []string{"a", "b", "c"} {
		x.kill(old)
		x.work(WorkerConfig{Name: string(rune('d' + i)), Repair: 400 * time.Millisecond})
		grow(t, s, &r, 300)
		x.waitFor("s", old)
		if err := s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	checkBits(t, a, &r, 2, 1, Options{}, s)
	grow(t, s, &r, 300)
	u := x.open(x.client(small), "s", s)
	checkBits(t, u.client, &r, 2, 1, Options{}, u)
}

// A worker that leaves hands over what it holds, so that nothing is lost even without replicas,
// while others append and read. It takes no new blocks.
func TestLeave(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "", "", "")
	r := testutil.Rand(51)
	config := small
	config.Replicas = 1
	a := x.client(config)
	s := x.create(a, "s")
	grow(t, s, &r, 256*9+30)
	done := make(chan error)
	go func() { done <- x.workers["b"].Leave(t.Context()) }()
	for ended := false; !ended; {
		grow(t, s, &r, 1)
		select {
		case err := <-done:
			if ended = true; err != nil {
				t.Error(err)
			}
		default:
		}
	}
	x.kill("b")
	grow(t, s, &r, 256*9)
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(s.blocks, func(p placed) bool { return slices.Contains(p.workers, "b") }) {
		t.Errorf("b holds something: %v", s.blocks)
	}
	checkBits(t, a, &r, 2, 1, Options{}, s)
	x.kill("c")
	var lost *BlocksError
	if err := x.workers["a"].Leave(t.Context()); !errors.As(err, &lost) || len(lost.Blocks) != 1 {
		t.Errorf("the last worker leaves: %v", err)
	}
}

// A worker that has said that blocks are lost takes it back when they are not, also if the
// directory could not be read in between.
func TestLossIsTakenBack(t *testing.T) {
	ctx := testutil.Context(t)
	x := start(t, hub.ServerConfig{}, "")
	said := make(chan string, 1000)
	x.work(WorkerConfig{Name: "b", Repair: 40 * time.Millisecond, Log: slog.New(slog.NewTextHandler(lineWriter(said), nil))})
	until := func(text string) {
		t.Helper()
		for line := range said {
			if strings.Contains(line, text) {
				return
			}
		}
	}
	config := small
	config.Replicas = 1
	c := x.client(config)
	s := x.create(c, "s")
	r := testutil.Rand(35)
	grow(t, s, &r, 256*8)
	kv, err := c.bucket.open(ctx, c.conn)
	if err != nil {
		t.Fatal(err)
	}
	x.kill("a")
	until("sequence=s lost=4 of=8")
	if _, err := kv.Put(ctx, "s", []byte("junk")); err != nil {
		t.Fatal(err)
	}
	until("msg=repair")
	if err := kv.Purge(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	until("sequence=s lost=0 of=0")
}

// A worker says that blocks are lost when it has found that twice: a holder that one search does
// not find may be there. While it is cut off itself, nobody counts as gone.
func TestLossIsConfirmed(t *testing.T) {
	x := start(t, hub.ServerConfig{}, "")
	said := make(chan string, 1000)
	x.work(WorkerConfig{Name: "b", Repair: -1, Log: slog.New(slog.NewTextHandler(lineWriter(said), nil))})
	config := small
	config.Replicas = 1
	s := x.create(x.client(config), "s")
	r := testutil.Rand(36)
	grow(t, s, &r, 256*8)
	k := newKeeper(x.workers["b"], time.Hour)
	round := func() int {
		t.Helper()
		for k.rest = 0; ; {
			k.seen["a"] = time.Now().Add(-2 * time.Hour)
			if err := k.round(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !k.alone { // one search may miss this worker itself
				return k.worker.Directory().Lost
			}
		}
	}
	x.kill("a")
	if lost := round(); lost != 0 || k.doubts["s"] != 4 || k.rest != 0 {
		t.Errorf("after one search %d blocks are lost, %v may be, %d rounds of rest", lost, k.doubts, k.rest)
	}
	if lost := round(); lost != 4 {
		t.Errorf("after two searches %d blocks are lost", lost)
	}
	if line := <-said; !strings.Contains(line, "sequence=s lost=4 of=8") || len(said) > 0 {
		t.Errorf("said %q and %d more", line, len(said))
	}
	for alone, gone := range map[bool]bool{true: false, false: true} {
		k.alone, k.looked = alone, time.Now().Add(-30*time.Minute)
		k.seen["a"] = time.Now().Add(-80 * time.Minute)
		if err := k.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if k.isGone("a") != gone {
			t.Errorf("after a search that found itself %v, a counts as gone %v", !alone, !gone)
		}
	}
}

// losing returns a cluster in which a has held the only copies of sequences and is gone, and a
// keeper of b for which it has just been there.
func losing(t *testing.T, gone time.Duration, names ...string) (*cluster, *keeper, *Client) {
	x := start(t, hub.ServerConfig{}, "")
	config := small
	config.Replicas = 1
	c := x.client(config)
	r := testutil.Rand(37)
	for _, name := range names {
		grow(t, x.create(c, name), &r, 256*2)
	}
	x.work(WorkerConfig{Name: "b", Repair: -1})
	k := newKeeper(x.workers["b"], gone)
	for !slices.Equal(k.live, []string{"a", "b"}) { // one search may miss a worker
		if err := k.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	x.kill("a")
	return x, k, c
}

// later lets a worker that a keeper has seen, and does not find now, have been away for longer.
func (k *keeper) later(name string, by time.Duration) { k.seen[name] = k.seen[name].Add(-by) }

// A keeper reads the directory in each round from when the only holder of a block does not answer
// until it has said twice that the block is lost, and rests then.
func TestLossIsReportedSoon(t *testing.T) {
	_, k, _ := losing(t, time.Hour, "s")
	rounds := 0
	round := func() {
		t.Helper()
		for k.alone = true; k.alone; rounds++ { // one search may miss this worker itself
			if err := k.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 {
		if round(); k.rest != 0 || k.worker.Directory().Lost != 0 {
			t.Fatalf("a is not gone yet: %d rounds of rest, %d blocks lost", k.rest, k.worker.Directory().Lost)
		}
	}
	k.later("a", 2*time.Hour)
	if round(); k.rest != 0 || k.doubts["s"] != 2 {
		t.Errorf("a is gone: %d rounds of rest, doubts %v", k.rest, k.doubts)
	}
	if round(); k.rest != restRounds || k.worker.Directory().Lost != 2 {
		t.Errorf("confirmed: %d rounds of rest, %d blocks lost", k.rest, k.worker.Directory().Lost)
	}
}

// An entry that cannot be read hides no loss: its own is found when it can be read again, and those
// of others are counted meanwhile.
func TestLossBesideDamage(t *testing.T) {
	ctx := testutil.Context(t)
	_, k, c := losing(t, time.Hour, "s", "t")
	kv, err := c.bucket.open(ctx, c.conn)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := kv.Get(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	k.later("a", 2*time.Hour)
	for i, step := range []struct {
		entry []byte
		lost  int
	}{{entry.Value(), 0}, {[]byte("junk"), 2}, {entry.Value(), 4}, {[]byte("junk"), 4}} {
		if _, err := kv.Put(ctx, "s", step.entry); err != nil {
			t.Fatal(err)
		}
		for k.rest, k.alone = 0, true; k.alone; {
			if err := k.round(t.Context()); (err == nil) != (len(step.entry) > 4) && !k.alone {
				t.Fatalf("round %d: %v", i, err)
			}
		}
		if got := k.worker.Directory().Lost; got != step.lost {
			t.Errorf("round %d: %d blocks are lost, want %d", i, got, step.lost)
		}
	}
}

// A worker is gone after some searches, however long each reading of the directory takes, and not
// after one.
func TestSlowReadings(t *testing.T) {
	_, k, _ := losing(t, time.Hour)
	for i, gone := range []bool{false, true} {
		k.looked = time.Now().Add(-2 * time.Hour)
		k.later("a", 2*time.Hour)
		k.alone = false
		if err := k.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if k.isGone("a") != gone {
			t.Errorf("after %d slow readings a is gone: %v", i+1, !gone)
		}
	}
}

// A round in which workers go, or that finds itself cut off, is not the last word: the directory is
// read again in the next one, and what was not looked at is not counted.
func TestChangeInMidRound(t *testing.T) {
	for what, change := range map[string]func(x *cluster){
		"another worker goes": func(x *cluster) { x.kill("c") },
		"cut off":             func(x *cluster) { x.workers["b"].service.Stop() },
	} {
		x, k, _ := losing(t, 1, "s", "t")
		x.work(WorkerConfig{Name: "c", Repair: -1})
		k.doubts = map[string]int{"s": 2, "t": 2}
		once := sync.OnceFunc(func() { change(x) })
		k.worker.config.Log = slog.New(slog.NewTextHandler(funcWriter(once), nil)) // after "s"
		for k.alone = true; k.alone && len(k.lost) == 0; {
			if err := k.round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := k.worker.found.Load(); k.rest != 0 || got != nil || k.lost["s"] != 2 {
			t.Errorf("%s: %d rounds of rest, found %v, lost %v", what, k.rest, got, k.lost)
		}
	}
}

// funcWriter calls a function at each line of a log.
type funcWriter func()

func (f funcWriter) Write(line []byte) (int, error) {
	f()
	return len(line), nil
}

// lineWriter passes lines of a log on.
type lineWriter chan string

func (l lineWriter) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// A worker that starts again under its name is another one. Its predecessor counts as gone, and
// clients that it does not answer find the new one.
func TestSameName(t *testing.T) {
	x := start(t, hub.ServerConfig{})
	ids := map[string]bool{}
	for range 2 {
		w, err := NewWorker(x.connect(), WorkerConfig{Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if ids[w.ID()] || nameOf(w.ID()) != "a" {
			t.Errorf("%s has been there", w.ID())
		}
		ids[w.ID()] = true
	}
	for _, id := range []string{"a-AAAAAAAA", "b-AAAAAAAA"} {
		x.work(WorkerConfig{Name: id, Repair: -1})
	}
	c := x.client(small)
	for _, id := range []string{"a-AAAAAAAA", "b-AAAAAAAA"} {
		c.suspects(id)
	}
	x.kill("a-AAAAAAAA")
	for c.lookForMore(t.Context()); len(c.Workers()) != 3; c.lookForMore(t.Context()) { // a search may miss a worker
	}
	if got := c.Workers(); slices.Contains(got, "a-AAAAAAAA") || !slices.Contains(got, "b-AAAAAAAA") {
		t.Errorf("%v", got)
	}
}

// Held counts the copies that are left after a worker is gone, and says that they are to be made
// again.
func TestHeld(t *testing.T) {
	x := start(t, hub.ServerConfig{})
	for _, name := range []string{"a", "b", "c"} {
		x.work(WorkerConfig{Name: name, Repair: -1})
	}
	c := x.client(small)
	s := x.create(c, "s")
	r := testutil.Rand(34)
	grow(t, s, &r, 256*6)
	held := func(workers int) (Copies, int) {
		all := x.list()
		onA := 0
		for _, holders := range all[0].blocks {
			if slices.Contains(holders, "a") {
				onA++
			}
		}
		return all[0].Held(x.report(workers)), onA
	}
	got, onA := held(3)
	if got != (Copies{Least: 2}) || onA == 0 {
		t.Errorf("%+v, %d blocks on a", got, onA)
	}
	x.kill("a")
	if got, _ := held(2); got != (Copies{Least: 1, Lacking: onA}) {
		t.Errorf("%+v, %d blocks on a", got, onA)
	}
	x.kill("b")
	if got, _ := held(1); got.Least != 0 || got.Lost == 0 || got.Lacking != 0 {
		t.Errorf("%+v", got)
	}
}
