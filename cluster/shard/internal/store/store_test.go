package store

import (
	"bytes"
	"testing"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

var int8s = wire.Geometry{Type: kernel.Int8, Heads: 2, KeySize: 4, ValueSize: 2, Group: 2}

// keys returns rows whose bytes are those of their first position plus the version.
func keys(g *wire.Geometry, epoch uint64, offset, count int, version byte) *wire.Keys {
	k := &wire.Keys{Sequence: "s", Block: 3, Epoch: epoch, Offset: offset, Count: count}
	widths := []int{g.KeySize, g.ValueSize, 8, 4} // bytes: int8 and float32 scales
	for _, w := range widths {
		for h := range g.Heads {
			for i := range count {
				k.Rows = append(k.Rows, bytes.Repeat([]byte{byte(offset+i) + byte(h)*7 + version}, w)...)
			}
		}
	}
	return k
}

// rows returns the first n rows that the store holds.
func rows(t *testing.T, s *Store, n int) []byte {
	t.Helper()
	k, v, ok := s.Get(&int8s, "s", 9, 3, n)
	if !ok {
		t.Fatalf("there are no %d rows", n)
	}
	return wire.AppendPair(nil, k, v, 0, 0, n)
}

// Rows are stored once and in order. Only a later writer replaces them.
func TestPut(t *testing.T) {
	s := New(1 << 20)
	for i, step := range []struct {
		epoch         uint64
		offset, count int
		version       byte
		want          wire.Status
		held          int
	}{
		{1, 1, 1, 0, wire.Gap, 0},
		{1, 0, 10, 0, wire.OK, 10},
		{1, 0, 10, 0, wire.OK, 10},       // again
		{1, 5, 5, 0, wire.OK, 10},        // a part of it again
		{1, 8, 4, 0, wire.OK, 12},        // some again, some new
		{1, 11, 2, 1, wire.Conflict, 12}, // others
		{1, 14, 1, 0, wire.Gap, 12},
		{2, 12, 3, 0, wire.OK, 15},
		{1, 0, 10, 0, wire.OK, 15},    // late, but the same
		{1, 12, 4, 0, wire.Stale, 15}, // late, and more
		{1, 3, 1, 9, wire.Stale, 15},
		{3, 4, 2, 0, wire.OK, 6}, // the writer has cut the rest off
		{3, 6, 2, 5, wire.OK, 8},
		{2, 12, 3, 0, wire.Gap, 8},
	} {
		if got := s.Put(&int8s, keys(&int8s, step.epoch, step.offset, step.count, step.version)); got != step.want {
			t.Fatalf("step %d: %v, want %v", i, got, step.want)
		}
		_, _, more := s.Get(&int8s, "s", 9, 3, step.held+1)
		_, _, held := s.Get(&int8s, "s", 9, 3, step.held)
		if more || held != (step.held > 0) {
			t.Fatalf("step %d: not %d rows", i, step.held)
		}
	}
	if got := rows(t, s, 6); !bytes.Equal(got, keys(&int8s, 0, 0, 6, 0).Rows) {
		t.Errorf("%x", got)
	}
}

// Who has got rows keeps them, whatever is stored later.
func TestReadersKeepRows(t *testing.T) {
	s := New(1 << 20)
	s.Put(&int8s, keys(&int8s, 1, 0, 8, 0))
	k, v, _ := s.Get(&int8s, "s", 9, 3, 8)
	s.Put(&int8s, keys(&int8s, 2, 0, 8, 5))
	s.Free("s")
	if got := wire.AppendPair(nil, k, v, 0, 0, 8); !bytes.Equal(got, keys(&int8s, 0, 0, 8, 0).Rows) {
		t.Errorf("%x", got)
	}
}

func TestLimits(t *testing.T) {
	s := New(2 * cost(&int8s))
	other := wire.Geometry{Type: kernel.Float32, Heads: 1, KeySize: 1, ValueSize: 1}
	k := keys(&int8s, 1, 0, 1, 0)
	for block, want := range []wire.Status{wire.OK, wire.OK, wire.Full} {
		k.Block = block
		if got := s.Put(&int8s, k); got != want {
			t.Errorf("block %d: %v, want %v", block, got, want)
		}
	}
	if u := s.Usage(); u != (Usage{1, 2, 2 * cost(&int8s), 2 * cost(&int8s)}) {
		t.Errorf("%+v", u)
	}
	if got := s.Put(&other, &wire.Keys{Sequence: "s", Count: 1, Rows: make([]byte, 8)}); got != wire.Misfit {
		t.Error(got)
	}
	if _, _, ok := s.Get(&other, "s", 9, 0, 1); ok {
		t.Error("rows of another geometry")
	}
	s.Free("s")
	s.Free("s")
	if u := s.Usage(); u.Used != 0 || u.Sequences != 0 {
		t.Errorf("%+v", u)
	}
}

// Who knows an earlier epoch gets rows that were not replaced since, and no others.
func TestEpochs(t *testing.T) {
	s := New(1 << 20)
	s.Put(&int8s, keys(&int8s, 1, 0, 8, 0))
	s.Put(&int8s, keys(&int8s, 2, 8, 4, 0))
	s.Put(&int8s, keys(&int8s, 5, 6, 8, 9)) // rows 6 on are others now
	s.Put(&int8s, keys(&int8s, 7, 10, 8, 3))
	for _, c := range []struct {
		epoch uint64
		rows  int
		want  bool
	}{{1, 6, true}, {1, 7, false}, {4, 7, false}, {5, 10, true}, {5, 11, false}, {7, 18, true}, {9, 18, true}} {
		if _, _, ok := s.Get(&int8s, "s", c.epoch, 3, c.rows); ok != c.want {
			t.Errorf("%d rows of epoch %d: %v, want %v", c.rows, c.epoch, ok, c.want)
		}
	}
	s.Put(&int8s, keys(&int8s, 8, 2, 1, 1))
	if _, _, ok := s.Get(&int8s, "s", 7, 3, 3); ok || len(s.sequences["s"].blocks[3].cuts) != 1 {
		t.Errorf("%v", s.sequences["s"].blocks[3].cuts)
	}
}
