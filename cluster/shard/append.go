package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/attn-go/attn/cluster/shard/internal/wire"
	"github.com/attn-go/attn/kernel"
)

// Append appends keys and values to sequences: k [B, Hkv, n, D] and v [B, Hkv, n, Dv] in the
// type of the configuration, where batch row b is for sequence b. They may be strided, ragged
// or paged. Every sequence is another one.
//
// A block is on Config.Replicas workers when Append returns, or on as many as there are and take
// it, which [Sequence.Owners] says. A worker that fails while it receives rows, or takes longer
// than Config.Patience, no longer counts as a holder of the block; another worker gets it in its
// place. If there is none, Append waits for the late one as long as Config.Timeout says, and then
// goes on as long as one is left for every block: workers make the copy when one comes.
//
// If no worker is left for a block, the error is a [*BlocksError]; if ctx ends, it wraps that
// error. For sequences of the directory it may be a [*ConflictError] or a [*DirectoryError].
// Then no sequence has grown for this client, whose next append replaces what workers have got
// meanwhile; others may have seen keys that the directory was told of before it failed. Other
// errors are a [*kernel.Error].
func (c *Client) Append(ctx context.Context, sequences []*Sequence, k, v kernel.Tensor) error {
	if err := c.checkAppend(sequences, k, v); err != nil {
		return err
	}
	if err := each(sequences, func(s *Sequence) error { return s.prepare(ctx) }); err != nil {
		return err
	}
	for {
		a := &spread{client: c, sequences: sequences, encode: func(dst []byte, p *part, lo, hi int) []byte {
			return wire.AppendPair(dst, k, v, p.sequence, p.row+lo, p.row+hi)
		}}
		for i, s := range sequences {
			if err := a.plan(i, s, k.Length(i)); err != nil {
				return err
			}
		}
		known := movesOf(sequences)
		err := a.run(ctx)
		if err == nil {
			err = a.commit(ctx)
			if !errors.Is(err, errMoved) {
				return err
			}
			if err := each(sequences, func(s *Sequence) error { return s.look(ctx) }); err != nil {
				return err
			}
			continue
		}
		if err := lookAgain(ctx, err, sequences, known); err != nil {
			return err
		}
	}
}

// each calls f for all sequences of the directory, side by side, and returns the first error.
func each(sequences []*Sequence, f func(s *Sequence) error) error {
	var group errgroup.Group
	for _, s := range sequences {
		if s.shared != nil {
			group.Go(func() error { return f(s) })
		}
	}
	return group.Wait()
}

// movesOf returns how often blocks of sequences have moved, as far as this client knows.
func movesOf(sequences []*Sequence) []int {
	moves := make([]int, len(sequences))
	for i, s := range sequences {
		s.mu.Lock()
		moves[i] = s.moves
		s.mu.Unlock()
	}
	return moves
}

// commit notes the new rows, and tells the directory. If that fails, no sequence has them. The
// error is errMoved if the rows are to be sent again, to new holders too.
func (a *spread) commit(ctx context.Context) error {
	undo := make([]func(), 0, len(a.sequences))
	resend := map[*Sequence]bool{}
	for _, s := range a.sequences {
		undo = append(undo, s.snapshot())
		resend[s] = s.shared != nil && s.length == s.shared.committed
	}
	a.record()
	err := each(a.sequences, func(s *Sequence) error {
		s.mu.Lock()
		due := s.length-s.shared.committed >= a.client.config.CommitKeys
		s.mu.Unlock()
		if !due {
			return nil
		}
		return s.write(ctx, resend[s])
	})
	if err != nil {
		for _, f := range undo {
			f()
		}
	}
	return err
}

// snapshot returns a function that gives a sequence of the directory the keys that it has now.
func (s *Sequence) snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == nil {
		return s.shortenTo(s.length)
	}
	length, blocks := s.length, slices.Clone(s.blocks)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.change()
		s.length, s.blocks, s.shared.unsure = length, blocks, true
		s.recount()
	}
}

// shortenTo returns a function that drops the keys from n on.
func (s *Sequence) shortenTo(n int) func() {
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shorten(n)
	}
}

// checkAppend returns an error about the first argument of Append that does not fit.
func (c *Client) checkAppend(sequences []*Sequence, k, v kernel.Tensor) error {
	if err := c.checkSequences(sequences); err != nil {
		return err
	}
	for i, s := range sequences {
		if slices.Index(sequences, s) != i {
			return &kernel.Error{Where: "sequences", Got: fmt.Sprintf("sequence %d twice", i), Want: "different ones"}
		}
	}
	g := &c.geometry
	keyScales, valueScales := g.Scales()
	for _, x := range [...]struct {
		arg       string
		t         kernel.Tensor
		d, scales int
	}{{"k", k, g.KeySize, keyScales}, {"v", v, g.ValueSize, valueScales}} {
		if err := x.t.Check(x.arg); err != nil {
			return err
		}
		if want := [4]int{len(sequences), g.Heads, k.Shape()[2], x.d}; x.t.Shape() != want || x.t.DType() != g.Type {
			return &kernel.Error{Where: x.arg, Got: x.t.String(), Want: fmt.Sprintf("%v of shape %v", g.Type, want)}
		}
		if s := x.t.Scales(); !s.IsZero() && s.Shape()[3] != x.scales {
			return &kernel.Error{Where: x.arg, Got: fmt.Sprintf("%d scales a row", s.Shape()[3]), Want: fmt.Sprint(x.scales)}
		}
	}
	return checkLengths("v", v, "k", k)
}

// checkLengths returns an error if a batch row of t, which is called arg, has another length than
// in other.
func checkLengths(arg string, t kernel.Tensor, otherArg string, other kernel.Tensor) error {
	for b := range t.Shape()[0] {
		if got, want := t.Length(b), other.Length(b); got != want {
			return &kernel.Error{Where: arg, Got: fmt.Sprintf("length %d of batch row %d", got, b), Want: fmt.Sprintf("%d as %s has it", want, otherArg)}
		}
	}
	return nil
}

// checkSequences returns an error about a sequence that is nil or of another client.
func (c *Client) checkSequences(sequences []*Sequence) error {
	for i, s := range sequences {
		if s == nil || s.client != c {
			return &kernel.Error{Where: "sequences", Got: fmt.Sprintf("sequence %d nil or of another client", i), Want: "sequences of this client"}
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
		return &kernel.Error{Where: "k", Got: fmt.Sprintf("%d keys for a sequence of %d", n, s.length), Want: fmt.Sprintf("%d at most together", maxKeys)}
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
		s.change()
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
