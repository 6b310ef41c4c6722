package shard

import (
	"context"
	"fmt"
	"slices"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Append appends keys and values to sequences: k [B, Hkv, n, D] and v [B, Hkv, n, Dv] in the
// type of the configuration, where batch row b is for sequence b. They may be strided, ragged
// or paged. Every sequence is another one.
//
// New blocks go to Config.Replicas workers, or as many as there are. A worker that fails while
// it is sent rows of a block no longer counts as one that holds it; Append goes on as long as
// one is left for every block. [Client.Repair] makes new replicas.
//
// If no worker is left for a block, the error is a [*BlocksError]; if ctx ends, it wraps that
// error. Then no sequence has grown. Other errors are a [*kernel.ArgumentError].
func (c *Client) Append(ctx context.Context, sequences []*Sequence, k, v kernel.Tensor) error {
	if f := c.checkAppend(sequences, (*view.Tensor)(&k), (*view.Tensor)(&v)); f != nil {
		return (*kernel.ArgumentError)(f)
	}
	a := &spread{client: c, sequences: sequences, encode: func(dst []byte, p *part, lo, hi int) []byte {
		return wire.AppendPair(dst, &k, &v, p.sequence, p.row+lo, p.row+hi)
	}}
	for i, s := range sequences {
		if err := a.plan(i, s, (*view.Tensor)(&k).Length(i)); err != nil {
			return err
		}
	}
	if err := a.run(ctx); err != nil {
		return err
	}
	a.record()
	return nil
}

// checkAppend reports the first argument of Append that does not fit.
func (c *Client) checkAppend(sequences []*Sequence, k, v *view.Tensor) *check.Failure {
	if f := c.checkSequences(sequences); f != nil {
		return f
	}
	for i, s := range sequences {
		if slices.Index(sequences, s) != i {
			return &check.Failure{Arg: "sequences", Got: fmt.Sprintf("sequence %d twice", i), Want: "different ones"}
		}
	}
	g := &c.geometry
	keyScales, valueScales := g.Scales()
	for _, x := range [...]struct {
		arg       string
		t         *view.Tensor
		d, scales int
	}{{"k", k, g.KeySize, keyScales}, {"v", v, g.ValueSize, valueScales}} {
		if f := x.t.Check(x.arg); f != nil {
			return f
		}
		if want := [4]int{len(sequences), g.Heads, k.Dim(2), x.d}; x.t.Shape() != want || kernel.DType(x.t.DType()) != g.Type {
			return &check.Failure{Arg: x.arg, Got: x.t.Describe(), Want: fmt.Sprintf("%v of shape %v", g.Type, want)}
		}
		if s := x.t.Scales(); s != nil && s.Dim(3) != x.scales {
			return &check.Failure{Arg: x.arg, Got: fmt.Sprintf("%d scales a row", s.Dim(3)), Want: fmt.Sprint(x.scales)}
		}
	}
	return v.CheckLengths("v", k, "k")
}

// checkSequences reports a sequence that is nil or of another client.
func (c *Client) checkSequences(sequences []*Sequence) *check.Failure {
	for i, s := range sequences {
		if s == nil || s.client != c {
			return &check.Failure{Arg: "sequences", Got: fmt.Sprintf("sequence %d nil or of another client", i), Want: "sequences of this client"}
		}
	}
	return nil
}

// maxKeys is the most keys of a sequence: positions are below 2^30.
const maxKeys = 1<<30 - 1

// plan adds the parts of n new rows of a sequence.
func (a *spread) plan(i int, s *Sequence, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > maxKeys-s.length {
		return &kernel.ArgumentError{Arg: "k", Got: fmt.Sprintf("%d keys for a sequence of %d", n, s.length), Want: fmt.Sprintf("%d at most together", maxKeys)}
	}
	s.epoch++
	for row := 0; row < n; {
		at := s.length + row
		p := &part{sequence: i, name: s.name, epoch: s.epoch, block: at / wire.BlockKeys, offset: at % wire.BlockKeys, row: row}
		p.count = min(n-row, wire.BlockKeys-p.offset)
		if p.offset > 0 {
			p.wanted = s.blocks[p.block].workers
		} else {
			p.fresh = true
		}
		a.parts = append(a.parts, p)
		row += p.count
	}
	return nil
}

// record notes which workers hold the new rows.
func (a *spread) record() {
	for _, p := range a.parts {
		s := a.sequences[p.sequence]
		s.mu.Lock()
		if p.fresh {
			s.blocks = append(s.blocks, placed{})
		} else {
			for _, w := range s.blocks[p.block].workers {
				s.load[w]--
			}
		}
		s.blocks[p.block].workers = p.holders
		for _, w := range p.holders {
			s.load[w]++
		}
		s.length += p.count
		s.mu.Unlock()
	}
}
