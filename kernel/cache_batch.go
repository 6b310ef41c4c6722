package kernel

import "fmt"

// A Batch is what the sequences of a [Cache] that take a step together look like to
// [Attention]: batch row b is sequence b. It keeps up with its sequences, and
// it is cheap to set anew when they come and go.
type Batch struct {
	cache     *Cache
	sequences []*Sequence

	// What views and options consist of. The longest step is steps.
	table                           PageTable
	keyStart, queryStart, positions []int
	counts                          []int
	steps                           int
	even                            bool // all counts are the same

	taken []int32 // scratch of Extend
}

// NewBatch returns a batch of sequences of the cache.
func (c *Cache) NewBatch(sequences ...*Sequence) (*Batch, error) {
	b := &Batch{cache: c}
	if err := b.Set(sequences...); err != nil {
		return nil, err
	}
	return b, nil
}

// Set makes the batch one of other sequences.
func (b *Batch) Set(sequences ...*Sequence) error {
	for i, s := range sequences {
		if err := s.check("sequences"); err != nil {
			return err
		}
		if s.cache != b.cache {
			return &ArgumentError{"sequences", fmt.Sprintf("sequence %d of another cache", i), "sequences of the batch's cache"}
		}
	}
	n := len(sequences)
	b.sequences = append(b.sequences[:0], sequences...)
	b.table.Pages, b.table.Lengths = resized(b.table.Pages, n), resized(b.table.Lengths, n)
	b.keyStart, b.queryStart, b.counts = resized(b.keyStart, n), resized(b.queryStart, n), resized(b.counts, n)
	b.refresh()
	return nil
}

// layers is 0 for the zero Batch.
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

// refresh makes the batch what its sequences are. It writes what has changed and nothing
// else: views may be in use of sequences that have not.
func (b *Batch) refresh() {
	steps, even := 0, true
	for i, s := range b.sequences {
		if t := b.table.Pages[i]; len(t) != len(s.pages) || len(t) > 0 && &t[0] != &s.pages[0] {
			b.table.Pages[i] = s.pages
		}
		setInt(&b.table.Lengths[i], s.length-s.start)
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

func setInt(x *int, to int) {
	if *x != to {
		*x = to
	}
}

// Extend makes room for new tokens at the end of every sequence: counts holds one
// number for all or one for each. Their keys and values are to be stored next, layer by
// layer; until then they read as anything. Extend also drops what no query to
// come sees, if the cache has a window, and copies a page that is shared and partly filled.
//
// Every sequence that shares a partly filled page counts as one that copies it. Where
// there are too few free pages Extend returns a [*CapacityError], and all sequences keep
// the length that they had.
func (b *Batch) Extend(counts ...int) error {
	if err := b.checkExtend(counts); err != nil {
		return err
	}
	need := 0
	for i, s := range b.sequences {
		s.dropUnseen()
		need += s.needs(each(counts, i))
	}
	taken := b.taken[:0]
	if need > 0 {
		var err error
		if taken, err = b.cache.pool.take(taken, need); err != nil {
			return err
		}
		b.taken = taken
	}
	for i, s := range b.sequences {
		taken = s.grow(each(counts, i), taken)
	}
	return nil
}

func (b *Batch) checkExtend(counts []int) error {
	if n := len(b.sequences); len(counts) != 1 && len(counts) != n {
		return &ArgumentError{"counts", fmt.Sprintf("%d numbers", len(counts)), fmt.Sprintf("one for all sequences or one for each: %d", n)}
	}
	for i, s := range b.sequences {
		if err := s.check("sequences"); err != nil {
			return err
		}
		if n, most := each(counts, i), maxPosition-s.length; n < 0 || n > most {
			return &ArgumentError{"counts", fmt.Sprintf("%d for sequence %d", n, i), fmt.Sprintf("0 to %d", most)}
		}
	}
	return b.checkTwice()
}

// checkTwice reports a sequence that is in the batch twice: it cannot grow there.
func (b *Batch) checkTwice() (err error) {
	for i, s := range b.sequences {
		if s.marked {
			err = &ArgumentError{"sequences", fmt.Sprintf("sequence %d for the second time", i), "every sequence once"}
		}
		s.marked = true
	}
	for _, s := range b.sequences {
		s.marked = false
	}
	return err
}

// Store stores a layer's keys and values of the tokens that the last Extend made room
// for: float32, k [B, Hkv, n, D] and v [B, Hkv, n, Dv], where n is the largest of the counts, of
// which each sequence takes as many as it grew by; they may be ragged. They are rounded to the cache's type as
// ToF16 and ToBF16 do it, or quantized as by QuantizeInt8; that refuses NaN and
// infinity, and the tokens must be stored again then. The zero Tensor as v stores no
// values, for a layer whose values are a part of its keys.
//
// Rope.Apply turns keys before they are stored, by Positions.
func (b *Batch) Store(layer int, k, v Tensor) error { return b.store(layer, &k, &v) }

func (b *Batch) store(layer int, k, v *Tensor) error {
	b.refresh()
	t, err := defaultTier()
	if err != nil {
		return err
	}
	if err := b.checkStore(layer, k, v); err != nil {
		return err
	}
	for i, s := range b.sequences {
		if err := t.storeTokens(&b.cache.keys[layer], s, k, i); err != nil {
			return err
		}
		if !v.isSet() {
			continue
		}
		if err := t.storeTokens(&b.cache.values[layer], s, v, i); err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) checkStore(layer int, k, v *Tensor) error {
	if n := b.layers(); layer < 0 || layer >= n {
		return &ArgumentError{"layer", fmt.Sprint(layer), fmt.Sprintf("0 to %d", n-1)}
	}
	for _, s := range b.sequences {
		if err := s.check("sequences"); err != nil {
			return err
		}
	}
	keys, values := &b.cache.keys[layer], &b.cache.values[layer]
	if err := b.checkRows("k", k, keys); err != nil {
		return err
	}
	if !v.isSet() && values.memory().overlaps(keys.memory()) {
		return nil
	}
	return b.checkRows("v", v, values)
}

// checkRows reports rows that cannot be stored to memory.
func (b *Batch) checkRows(arg string, t, memory *Tensor) error {
	if err := t.checkAny(arg); err != nil {
		return err
	}
	if t.dtype != Float32 || t.isPaged() {
		return &ArgumentError{arg, t.describe(), "float32, not paged"}
	}
	if want := [4]int{len(b.sequences), memory.shape[1], b.steps, memory.shape[3]}; t.shape != want {
		return &ArgumentError{arg, t.describe(), fmt.Sprintf("shape %v", want)}
	}
	for i, n := range b.counts {
		if got := t.length(i); got < n {
			return &ArgumentError{arg, fmt.Sprintf("%d rows for sequence %d", got, i), fmt.Sprintf("the %d that it grew by", n)}
		}
	}
	return nil
}

// Append is Extend and Store for a cache of one layer: all sequences grow by the length of k
// and v. After an error they have the length that they had.
func (b *Batch) Append(k, v Tensor) error {
	if n := b.layers(); n != 1 {
		return &ArgumentError{"the batch", fmt.Sprintf("one of a cache of %d layers", n), "one of a cache of one layer, or Extend and Store"}
	}
	n := k.shape[2]
	if err := b.Extend(n); err != nil {
		return err
	}
	err := b.store(0, &k, &v)
	if err != nil {
		for _, s := range b.sequences {
			s.cut(s.length - n)
		}
	}
	return err
}

// View returns the keys and values of a layer: [B, Hkv, L, D] and [B, Hkv, L, Dv] where L
// is the most tokens that a sequence has. They are valid until a
// sequence of the batch changes, or the batch is set anew. For a layer that the cache does not
// have they are zero Tensors.
func (b *Batch) View(layer int) (k, v Tensor) {
	if layer < 0 || layer >= b.layers() {
		return Tensor{}, Tensor{}
	}
	b.refresh()
	return b.cache.keys[layer].Paged(&b.table), b.cache.values[layer].Paged(&b.table)
}

// Options returns what attention of the tokens of the last Extend on a view needs:
// QueryStart, KeyStart, and a Mask that is causal, or the window's. Other options may be
// added to them. The queries are [B, H, n, D], where n is the largest of the counts; rows beyond
// a sequence's own count give zeros, or they are ragged and have none. The slices are valid as long as views are.
func (b *Batch) Options() Options {
	if len(b.sequences) == 0 {
		return Options{}
	}
	b.refresh()
	o := Options{QueryStart: b.queryStart, KeyStart: b.keyStart}
	if w := b.cache.window; w > 0 {
		o.Mask = Window(w, 0)
	} else if b.steps > 1 { // the last token sees all
		o.Mask = Causal(0)
	}
	if !b.even {
		o.Mask = o.Mask.And(QueryLengths(b.counts))
	}
	return o
}

// Positions returns the positions of the tokens of the last Extend as Rope.Apply takes
// them, [B, n]: n is the largest of the counts. The slice is valid until the next call.
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
