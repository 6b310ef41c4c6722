package store

import (
	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// block holds up to 256 rows of keys and values. A row that was stored is never written
// again: a change makes new memory, so that whoever reads is not disturbed.
type block struct {
	epoch uint64
	rows  int
	cuts  []cut   // with ascending epochs and rows
	parts [4]part // in the order of messages: keys, values, scales of keys, scales of values
}

// cut says that a writer replaced the rows from row on.
type cut struct {
	epoch uint64
	row   int
}

// cut notes that rows are replaced. A cut that reaches as far and is later makes an earlier
// one superfluous, so there are at most 256.
func (b *block) cut(epoch uint64, row int) {
	n := len(b.cuts)
	for n > 0 && b.cuts[n-1].row >= row {
		n--
	}
	b.cuts = append(b.cuts[:n], cut{epoch, row})
}

// replaced tells whether some of the first rows were replaced after an epoch.
func (b *block) replaced(epoch uint64, rows int) bool {
	for _, c := range b.cuts {
		if c.epoch > epoch && c.row < rows {
			return true
		}
	}
	return false
}

// part is an array of a block, [Heads, 256, width].
type part struct {
	elements wire.Buffer
	width    int // 0 if there are no scales
}

func newBlock(g *wire.Geometry) *block {
	b := &block{}
	keyScales, valueScales := g.Scales()
	widths := [...]int{g.KeySize, g.ValueSize, keyScales, valueScales}
	for i, width := range widths {
		t := g.Type
		if i >= 2 {
			t = kernel.Float32
		}
		b.parts[i] = part{wire.NewBuffer(t, g.Heads*wire.BlockKeys*width), width}
	}
	return b
}

// put stores rows. Rows that are there already, to the bit, stay.
func (b *block) put(g *wire.Geometry, k *wire.Keys) wire.Status {
	switch {
	case k.Offset > b.rows:
		return wire.Gap
	case k.Epoch < b.epoch:
		if k.Offset+k.Count <= b.rows && b.holds(g, k, k.Count) {
			return wire.OK
		}
		return wire.Stale
	}
	old, same := min(b.rows-k.Offset, k.Count), k.Epoch == b.epoch
	switch held := b.holds(g, k, old); {
	case !held && same:
		return wire.Conflict
	case !held || !same && b.rows > k.Offset+k.Count: // a later writer replaces the rows from here on
		for i := range b.parts {
			b.parts[i].elements = b.parts[i].elements.Clone()
		}
		b.rows, old = k.Offset, 0
		b.cut(k.Epoch, k.Offset)
	}
	b.epoch = k.Epoch
	b.eachRun(g, k, old, k.Count, func(p *part, at, n int, src []byte) bool {
		p.elements.Put(at, n, src)
		return true
	})
	b.rows = max(b.rows, k.Offset+k.Count)
	return wire.OK
}

// holds tells whether the block holds the first n rows of k.
func (b *block) holds(g *wire.Geometry, k *wire.Keys, n int) bool {
	return b.eachRun(g, k, 0, n, func(p *part, at, n int, src []byte) bool { return p.elements.Holds(at, n, src) })
}

// eachRun calls f for rows lo to hi-1 of k, for each part and head: n elements src belong at
// index at of the part. It ends when f returns false, and returns that.
func (b *block) eachRun(g *wire.Geometry, k *wire.Keys, lo, hi int, f func(p *part, at, n int, src []byte) bool) bool {
	src := k.Rows
	for i := range b.parts {
		p := &b.parts[i]
		size := 4
		if i < 2 {
			size = wire.Size(g.Type)
		}
		for h := range g.Heads {
			row := (h*k.Count + lo) * p.width * size
			at := (h*wire.BlockKeys + k.Offset + lo) * p.width
			if n := (hi - lo) * p.width; n > 0 && !f(p, at, n, src[row:]) {
				return false
			}
		}
		src = src[g.Heads*k.Count*p.width*size:]
	}
	return true
}

// tensors returns the first rows of the block.
func (b *block) tensors(g *wire.Geometry, rows int) (k, v kernel.Tensor) {
	var t [4]kernel.Tensor
	for i := range b.parts {
		t[i] = b.parts[i].elements.Tensor(g.Heads, rows, wire.BlockKeys, max(b.parts[i].width, 1))
	}
	if g.Type == kernel.Int8 {
		return t[0].Scaled(&t[2]), t[1].Scaled(&t[3])
	}
	return t[0], t[1]
}
