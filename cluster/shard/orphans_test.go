package shard

import (
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
)

// Workers forget what clients have left that are gone, and sequences that the directory no longer
// has. They keep the blocks of living clients and of the directory, and say for whom they hold
// what.
func TestOrphans(t *testing.T) {
	ctx := testutil.Context(t)
	x := start(t, hub.ServerConfig{})
	for _, name := range []string{"a", "b"} {
		x.work(WorkerConfig{Name: name, Keep: 200 * time.Millisecond})
	}
	r := testutil.Rand(60)
	living, dead := x.client(small), x.client(small)
	kept, lost := newText(t, living, &r, 600), newText(t, dead, &r, 600)
	shared, removed := x.create(dead, "shared"), x.create(living, "removed")
	grow(t, shared, &r, 600)
	grow(t, removed, &r, 600)
	has := func(s *text) bool {
		for _, w := range x.workers {
			if _, ok := w.store.Held()[s.Name()]; ok {
				return true
			}
		}
		return false
	}
	dead.conn.Close()
	kv, err := living.bucket.open(ctx, living.conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Delete(ctx, "removed"); err != nil { // and no worker hears of it
		t.Fatal(err)
	}
	for has(lost) || has(removed) { // ends with the test
		time.Sleep(10 * time.Millisecond)
	}
	checkBits(t, living, &r, 2, 1, Options{}, kept)
	u := x.open(x.client(small), "shared", shared)
	checkBits(t, u.client, &r, 2, 1, Options{}, u)

	client, _, _ := strings.Cut(kept.Name(), ofClient)
	for _, w := range x.report(2) {
		bytes, blocks := int64(0), map[string]int{}
		for _, h := range w.Holds {
			bytes += h.Bytes
			blocks[h.For] = h.Blocks
		}
		if bytes != w.Used || len(blocks) != 2 || blocks["client "+client] != 3 || blocks["sequence shared"] != 3 {
			t.Errorf("%+v", w)
		}
	}
}
