package kvcache

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/position"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// A Batch consists of the sequences of a [Cache] that take a step together. In calls of
// [kernel.Attention], batch row b is sequence b. A Batch follows its sequences when they
// change, and setting it again is cheap when they come and go.
type Batch struct {
	cache     *Cache
	sequences []*Sequence

	// What views and options consist of, per sequence.
	table                           kernel.PageTable
	keyStart, queryStart, positions []int
	counts                          []int // tokens of the last step
	steps                           int   // the largest count
	even                            bool  // all counts are the same

	taken, unseen []int32 // scratch memory of Extend
}

// NewBatch returns a batch of sequences of the cache.
func (c *Cache) NewBatch(sequences ...*Sequence) (*Batch, error) {
	b := &Batch{cache: c}
	if err := b.Set(sequences...); err != nil {
		return nil, err
	}
	return b, nil
}

// Set replaces the sequences of the batch.
func (b *Batch) Set(sequences ...*Sequence) error {
	for i, s := range sequences {
		if f := s.check("sequences"); f != nil {
			return (*kernel.Error)(f.In("kvcache.Batch.Set"))
		}
		if s.cache != b.cache {
			return &kernel.Error{Where: "kvcache.Batch.Set: sequences", Got: fmt.Sprintf("sequence %d of another cache", i), Want: "sequences of the batch's cache"}
		}
	}
	n := len(sequences)
	clear(b.sequences) // sequences and pages that are gone can be freed
	clear(b.table.Pages)
	b.sequences = append(b.sequences[:0], sequences...)
	b.table.Pages, b.table.Lengths = resized(b.table.Pages, n), resized(b.table.Lengths, n)
	b.keyStart, b.queryStart, b.counts = resized(b.keyStart, n), resized(b.queryStart, n), resized(b.counts, n)
	b.refresh()
	return nil
}

// layers returns the number of layers, 0 for the zero Batch.
func (b *Batch) layers() int {
	if b.cache == nil {
		return 0
	}
	return len(b.cache.keys)
}

func resized[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}

// refresh brings the batch up to date with its sequences. It writes what has changed and
// nothing else: views of sequences that have not changed may be in use.
func (b *Batch) refresh() {
	steps, even := 0, true
	for i, s := range b.sequences {
		if t := b.table.Pages[i]; len(t) != len(s.pages) || len(t) > 0 && &t[0] != &s.pages[0] {
			b.table.Pages[i] = s.pages
		}
		length := s.length - s.start
		if s.cache == nil {
			length = view.GivenBack
		}
		setInt(&b.table.Lengths[i], length)
		setInt(&b.keyStart[i], s.start)
		setInt(&b.queryStart[i], s.length-s.fresh)
		setInt(&b.counts[i], s.fresh)
		steps = max(steps, s.fresh)
		even = even && s.fresh == b.counts[0]
	}
	setInt(&b.steps, steps)
	if b.even != even {
		b.even = even
	}
}

// setInt sets x if that changes it: a view of an unchanged sequence may be read
// concurrently.
func setInt(x *int, to int) {
	if *x != to {
		*x = to
	}
}

// Extend makes room for new tokens at the end of every sequence. counts holds one number
// for all sequences or one for each. Store the keys and values of the tokens next, layer
// by layer; until then they are undefined.
//
// If the last page of a sequence is partly filled and shared, Extend replaces it by a
// copy. If the cache has a window, Extend first drops the pages that no later query sees.
//
// If there are too few free pages, with those that it would drop, Extend returns a
// [*CapacityError] and changes nothing. If several sequences of the batch share a partly
// filled page, it needs a page for a copy in each of them.
func (b *Batch) Extend(counts ...int) error {
	if f := b.checkExtend(counts); f != nil {
		return (*kernel.Error)(f.In("kvcache.Batch.Extend"))
	}
	need := 0
	b.unseen = b.unseen[:0]
	for i, s := range b.sequences {
		need = ints.AddSat(need, s.needs(position.Of(counts, i)))
		b.unseen = append(b.unseen, s.pages[:s.unseen()]...)
	}
	taken := b.taken[:0]
	if need > 0 || len(b.unseen) > 0 {
		var err error
		if taken, err = b.cache.pool.take("kvcache.Batch.Extend", taken, need, b.unseen...); err != nil {
			return err
		}
		b.taken = taken
	}
	for i, s := range b.sequences {
		s.forget(0, s.unseen())
		taken = s.grow(position.Of(counts, i), taken)
	}
	return nil
}

// checkExtend reports the first argument of Extend that does not fit.
func (b *Batch) checkExtend(counts []int) *check.Failure {
	if n := len(b.sequences); len(counts) != 1 && len(counts) != n {
		return &check.Failure{Where: "counts", Got: fmt.Sprintf("%d numbers", len(counts)), Want: fmt.Sprintf("one for all sequences or one for each: %d", n)}
	}
	for i, s := range b.sequences {
		if f := s.check("sequences"); f != nil {
			return f
		}
		if n, most := position.Of(counts, i), position.Max-s.length; n < 0 || n > most {
			return &check.Failure{Where: "counts", Got: fmt.Sprintf("%d for sequence %d", n, i), Want: fmt.Sprintf("0 to %d", most)}
		}
	}
	return b.checkTwice()
}

// checkTwice reports a sequence that is in the batch twice: it cannot grow there.
func (b *Batch) checkTwice() (f *check.Failure) {
	for i, s := range b.sequences {
		if s.marked {
			f = &check.Failure{Where: "sequences", Got: fmt.Sprintf("sequence %d for the second time", i), Want: "every sequence once"}
		}
		s.marked = true
	}
	for _, s := range b.sequences {
		s.marked = false
	}
	return f
}

// View returns the keys and values of a layer, [B, Hkv, L, D] and [B, Hkv, L, Dv], where L
// is the largest number of tokens that a sequence keeps. They are valid until a sequence of
// the batch changes or Set is called. Calls with a view of a sequence that has been freed
// return an error, whether the view was made before or after. For a layer that the cache
// does not have they are zero Tensors.
func (b *Batch) View(layer int) (k, v kernel.Tensor) {
	if layer < 0 || layer >= b.layers() {
		return kernel.Tensor{}, kernel.Tensor{}
	}
	b.refresh()
	keys, values := b.cache.Memory(layer)
	return keys.Paged(&b.table), values.Paged(&b.table)
}

// Scoring returns the options for attention from the tokens of the last Extend over a view:
// QueryStart, KeyStart, and a Mask, which is causal or a window. A program may set further fields.
//
// The queries are [B, H, n, D], where n is the largest of the counts, or ragged with as
// many rows for each sequence as it grew by. If they are not ragged, rows after a
// sequence's own count give zeros. The slices are valid as long as views are.
func (b *Batch) Scoring() kernel.Scoring {
	if len(b.sequences) == 0 {
		return kernel.Scoring{}
	}
	b.refresh()
	s := kernel.Scoring{QueryStart: b.queryStart, KeyStart: b.keyStart}
	if w := b.cache.window; w > 0 {
		s.Mask = kernel.Window(w, 0)
	} else if b.steps > 1 { // the last token sees all
		s.Mask = kernel.Causal(0)
	}
	if !b.even {
		s.Mask = s.Mask.And(kernel.QueryLengths(b.counts))
	}
	return s
}

// TreePositions is Positions for tokens that are a tree, with the Parents of [kernel.Scoring]: a
// token has the position after its parent's. There are as many parents as the largest of the
// counts, or as many for each sequence. The slice is valid until the next call of TreePositions or
// Positions.
func (b *Batch) TreePositions(parents []int32) ([]int, error) {
	b.refresh()
	c := view.Scores{Batch: len(b.sequences), Queries: b.steps}
	if f := view.Parents(parents).Check("parents", &c); f != nil {
		return nil, (*kernel.Error)(f.In("kvcache.Batch.TreePositions"))
	}
	b.positions = b.positions[:0]
	for _, start := range b.queryStart {
		first := len(b.positions)
		tree := parents[len(parents)-b.steps:] // of all sequences
		if len(parents) > b.steps {
			tree = parents[first:][:b.steps]
		}
		for _, parent := range tree {
			at := start
			if parent >= 0 {
				at = b.positions[first+int(parent)] + 1
			}
			b.positions = append(b.positions, at)
		}
	}
	return b.positions, nil
}

// Positions returns the positions of the tokens of the last Extend, [B, n], as
// rope.Rope.Apply takes them; n is the largest of the counts. The slice is valid until
// the next call.
func (b *Batch) Positions() []int {
	b.refresh()
	b.positions = b.positions[:0]
	for _, start := range b.queryStart {
		for i := range b.steps {
			b.positions = append(b.positions, start+i)
		}
	}
	return b.positions
}
