package kvcache_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/numeric"
)

// A model is a sequence as the cache should have it: plain slices of the numbers that its
// tokens are stored as, from position 0 on.
type model struct {
	k, v   [][]float32 // of every layer, [tokens][heads][D]
	start  int         // position of the first token that is kept
	length int         // position after the last
	fresh  int         // tokens of the last step
}

// fork returns a model of the first n tokens.
func (m *model) fork(c *kvcache.Config, n int) *model {
	f := &model{start: m.start, length: n}
	for layer := range m.k {
		f.k = append(f.k, slices.Clone(m.k[layer][:n*c.Heads*c.HeadSize]))
		f.v = append(f.v, slices.Clone(m.v[layer][:n*c.Heads*c.ValueSize]))
	}
	return f
}

// extend does what Batch.Extend does to a sequence.
func (m *model) extend(c *kvcache.Config, n int) {
	for c.Window > 0 && m.start+c.PageSize <= m.length-c.Window {
		m.start += c.PageSize
	}
	m.length += n
	m.fresh = n
}

// A harness does things to a cache and to models of its sequences, and compares them.
type harness struct {
	t         testing.TB
	config    kvcache.Config // all fields are set
	cache     *kvcache.Cache
	batch     *kvcache.Batch
	sequences []*kvcache.Sequence
	models    []*model
	random    testutil.Rand
}

// newHarness makes a cache of a configuration whose fields are all set.
func newHarness(t testing.TB, config kvcache.Config) *harness {
	t.Helper()
	c, err := kvcache.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return harnessOf(t, config, c)
}

func harnessOf(t testing.TB, config kvcache.Config, c *kvcache.Cache) *harness {
	t.Helper()
	b, err := c.NewBatch()
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, config: config, cache: c, batch: b, random: 1}
	h.poison()
	return h
}

// used returns the pages of all sequences.
func (h *harness) used() map[int32]bool {
	used := map[int32]bool{}
	for _, s := range h.sequences {
		for _, p := range s.Pages() {
			used[p] = true
		}
	}
	return used
}

// poison makes the numbers of all other pages NaN: what they hold must not matter.
func (h *harness) poison() {
	used := h.used()
	for layer := range h.config.Layers {
		k, v := h.cache.Memory(layer)
		for _, t := range [...]kernel.Tensor{k, v} {
			for page := range t.Shape()[0] {
				if !used[int32(page)] {
					poisonPage(&t, page)
				}
			}
		}
	}
}

func poisonPage(memory *kernel.Tensor, page int) {
	t := contracttest.View(memory)
	for h := range t.Dim(1) {
		for l := range t.Dim(2) {
			at, d := t.At(page, h, l), t.Dim(3)
			switch memory.DType() {
			case kernel.Float32:
				contracttest.Fill(t.F32()[at:at+d], testutil.NaN)
			case kernel.Int8, kernel.Int4:
				contracttest.Fill(t.Scales().Row(page, h, l), testutil.NaN)
			default: // ones are NaN in all formats
				size := t.DType().Size()
				for i := range d * size {
					t.Bytes()[at*size+i] = 0xff
				}
			}
		}
	}
}

func (h *harness) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// begin adds a sequence without tokens and returns its number.
func (h *harness) begin() int {
	h.sequences = append(h.sequences, h.cache.NewSequence())
	h.models = append(h.models, &model{k: make([][]float32, h.config.Layers), v: make([][]float32, h.config.Layers)})
	return len(h.sequences) - 1
}

// set makes a batch of some sequences.
func (h *harness) set(numbers ...int) {
	h.t.Helper()
	var list []*kvcache.Sequence
	for _, x := range numbers {
		list = append(list, h.sequences[x])
	}
	h.must(h.batch.Set(list...))
}

// grow adds new tokens to sequences, counts[i] to number numbers[i].
func (h *harness) grow(numbers, counts []int) {
	h.t.Helper()
	h.extend(numbers, counts)
	h.store(numbers)
}

// extend makes room for new tokens.
func (h *harness) extend(numbers, counts []int) {
	h.t.Helper()
	h.set(numbers...)
	h.must(h.batch.Extend(counts...))
	for i, x := range numbers {
		h.models[x].extend(&h.config, counts[i])
	}
}

// store stores the new tokens in all layers.
func (h *harness) store(numbers []int) {
	h.t.Helper()
	h.set(numbers...)
	for layer := range h.config.Layers {
		k := h.tokens(numbers, h.config.HeadSize, h.config.KeyType, func(m *model) *[]float32 { return &m.k[layer] })
		v := h.tokens(numbers, h.config.ValueSize, h.config.ValueType, func(m *model) *[]float32 { return &m.v[layer] })
		h.must(h.batch.Store(layer, k, v))
	}
}

// tokens draws rows for new tokens, [B, Hkv, n, d] in any of several layouts, and adds to the
// models what they are stored as.
func (h *harness) tokens(numbers []int, d int, dtype kernel.DType, list func(m *model) *[]float32) kernel.Tensor {
	counts, heads := h.fresh(numbers), h.config.Heads
	b, n := len(counts), slices.Max(counts)
	x := kernel.BLHD(make([]float32, b*n*heads*d), b, n, heads, d)
	switch h.random.IntN(3) {
	case 0:
		x = kernel.BHLD(contracttest.Floats(x), b, heads, n, d)
	case 1:
		x = raggedRows(counts, heads, d)
	}
	h.random.Fill(contracttest.Floats(x))
	for i, number := range numbers {
		rows := list(h.models[number])
		for l := range counts[i] {
			for head := range heads {
				*rows = append(*rows, h.stored(contracttest.Row(&x, i, head, l), dtype)...)
			}
		}
	}
	return x
}

// fresh returns by how many tokens sequences grew in their last steps.
func (h *harness) fresh(numbers []int) (counts []int) {
	for _, x := range numbers {
		counts = append(counts, h.models[x].fresh)
	}
	return counts
}

// raggedRows is a ragged tensor with so many rows for each sequence.
func raggedRows(counts []int, heads, d int) kernel.Tensor {
	starts := []int{0}
	for i, n := range counts {
		starts = append(starts, starts[i]+n)
	}
	return kernel.Ragged(make([]float32, starts[len(counts)]*heads*d), starts, heads, d)
}

// stored returns the numbers that the cache stores for a row of keys or values of a type.
func (h *harness) stored(row []float32, dtype kernel.DType) []float32 {
	row = slices.Clone(row)
	switch dtype {
	case kernel.Int8:
		group := h.config.Group
		if group == 0 {
			group = len(row)
		}
		q, scales := make([]int8, len(row)), make([]float32, len(row)/group)
		h.must(numeric.QuantizeInt8(q, scales, row, group, kernel.Exec{}))
		for i := range row {
			row[i] = float32(q[i]) * scales[i/group]
		}
	case kernel.Int4:
		group := h.config.Group
		if group == 0 && len(row)%32 == 0 {
			group = 32
		} else if group == 0 {
			group = len(row)
		}
		q, scales := make([]kernel.Int4x2, len(row)/2), make([]float32, len(row)/group)
		h.must(numeric.QuantizeInt4(q, scales, row, group, kernel.Exec{}))
		for i, x := range q {
			first, second := x.Numbers()
			row[2*i], row[2*i+1] = float32(first)*scales[2*i/group], float32(second)*scales[2*i/group]
		}
	case kernel.Float16:
		for i, x := range row {
			row[i] = numeric.ToF16(x).Float32()
		}
	case kernel.BFloat16:
		for i, x := range row {
			row[i] = numeric.ToBF16(x).Float32()
		}
	case kernel.Float8E4M3:
		for i, x := range row {
			row[i] = numeric.ToF8E4M3(x).Float32()
		}
	case kernel.Float8E5M2:
		for i, x := range row {
			row[i] = numeric.ToF8E5M2(x).Float32()
		}
	}
	return row
}

// fork forks a sequence and returns the number of the new one.
func (h *harness) fork(number, n int) int {
	h.t.Helper()
	f, err := h.sequences[number].Fork(n)
	h.must(err)
	h.sequences = append(h.sequences, f)
	h.models = append(h.models, h.models[number].fork(&h.config, n))
	return len(h.sequences) - 1
}

// truncate drops the tokens of a sequence from position n on.
func (h *harness) truncate(number, n int) {
	h.t.Helper()
	h.must(h.sequences[number].Truncate(n))
	if m := h.models[number]; n < m.length {
		h.models[number] = m.fork(&h.config, n)
	}
}

// keep drops those tokens of a sequence's last step that are not in rows.
func (h *harness) keep(number int, rows ...int) {
	h.t.Helper()
	h.must(h.sequences[number].Keep(rows))
	m := h.models[number]
	f := m.fork(&h.config, m.length-m.fresh)
	for layer := range m.k {
		for _, r := range rows {
			token := func(x []float32, d int) []float32 { return x[f.length*d:][r*d:][:d] }
			f.k[layer] = append(f.k[layer], token(m.k[layer], h.config.Heads*h.config.HeadSize)...)
			f.v[layer] = append(f.v[layer], token(m.v[layer], h.config.Heads*h.config.ValueSize)...)
		}
	}
	f.length += len(rows)
	h.models[number] = f
}

// drop drops the whole pages of a sequence before position n.
func (h *harness) drop(number, n int) {
	h.t.Helper()
	h.must(h.sequences[number].DropBefore(n))
	m := h.models[number]
	m.start += (n - m.start) / h.config.PageSize * h.config.PageSize
}

// dropBetween drops the whole pages of a sequence before position n but the first ones, which move
// up to the others.
func (h *harness) dropBetween(number, first, n int) {
	h.t.Helper()
	h.must(h.sequences[number].DropBetween(first, n))
	m, size := h.models[number], h.config.PageSize
	keep := (min(first, m.length-m.start) + size - 1) / size
	k := (n-m.start)/size - keep
	if k <= 0 {
		return
	}
	move := func(x []float32, d int) { copy(x[(m.start+k*size)*d:], x[m.start*d:][:keep*size*d]) }
	for layer := range m.k {
		move(m.k[layer], h.config.Heads*h.config.HeadSize)
		move(m.v[layer], h.config.Heads*h.config.ValueSize)
	}
	m.start += k * size
}

// attend compares attention from the newest tokens of some sequences, in every layer,
// with the same call on contiguous float32. Each key head has so many query heads.
func (h *harness) attend(group int, e kernel.Exec, numbers ...int) {
	h.t.Helper()
	h.set(numbers...)
	counts := h.fresh(numbers)
	n := slices.Max(counts)
	h.checkPositions(numbers, n)
	o := kernel.Options{Scoring: h.batch.Scoring()}
	o.Exec = e
	c, b, heads := &h.config, len(numbers), h.config.Heads*group
	q := kernel.BHLD(make([]float32, b*heads*n*c.HeadSize), b, heads, n, c.HeadSize)
	h.random.Fill(contracttest.Floats(q))
	output := func() kernel.Tensor {
		return kernel.BHLD(testutil.Filled(b*heads*n*c.ValueSize, testutil.Canary), b, heads, n, c.ValueSize)
	}
	for layer := range c.Layers {
		k, v := h.batch.View(layer)
		got, want := output(), output()
		h.must(kernel.Attention(got, q, k, v, &o))
		h.attendRagged(&got, &q, k, v, counts, o)
		k, v, plain := h.contiguous(layer, numbers)
		h.must(kernel.Attention(want, q, k, v, &plain))
		contracttest.EachRow(&want, func(b, _, l int, row []float32) {
			if l >= counts[b] {
				clear(row) // there is no such token
			}
		})
		contracttest.Same(h.t, fmt.Sprintf("layer %d of sequences %v", layer, numbers), &got, &want)
	}
}

// checkPositions compares the positions that the batch has with the models' positions.
func (h *harness) checkPositions(numbers []int, n int) {
	h.t.Helper()
	o := kernel.Options{Scoring: h.batch.Scoring()}
	var queries, keys, positions []int
	for _, x := range numbers {
		m := h.models[x]
		queries, keys = append(queries, m.length-m.fresh), append(keys, m.start)
		for i := range n {
			positions = append(positions, m.length-m.fresh+i)
		}
	}
	if !slices.Equal(o.QueryStart, queries) || !slices.Equal(o.KeyStart, keys) {
		h.t.Fatalf("sequences %v: queries from %v and keys from %v, want %v and %v", numbers, o.QueryStart, o.KeyStart, queries, keys)
	}
	if got := h.batch.Positions(); !slices.Equal(got, positions) {
		h.t.Fatalf("sequences %v: positions %v, want %v", numbers, got, positions)
	}
}

// attendRagged compares a result with ragged queries, without the rows that no sequence has.
func (h *harness) attendRagged(want, q *kernel.Tensor, k, v kernel.Tensor, counts []int, o kernel.Options) {
	h.t.Helper()
	packed := raggedRows(counts, q.Shape()[1], q.Shape()[3])
	out := raggedRows(counts, q.Shape()[1], want.Shape()[3])
	contracttest.EachRow(&packed, func(b, h, l int, row []float32) { copy(row, contracttest.Row(q, b, h, l)) })
	h.must(kernel.Attention(out, packed, k, v, &o))
	contracttest.EachRow(&out, func(b, head, l int, row []float32) {
		contracttest.SameRow(h.t, fmt.Sprintf("ragged queries, row [%d %d %d]", b, head, l), row, contracttest.Row(want, b, head, l))
	})
}

// contiguous returns the keys and values of sequences as plain tensors, with options
// under which a query sees the same of them as of the cache.
func (h *harness) contiguous(layer int, numbers []int) (k, v kernel.Tensor, o kernel.Options) {
	c, most := &h.config, 0
	var lengths []int
	for _, x := range numbers {
		m := h.models[x]
		lengths = append(lengths, m.length-m.start)
		o.KeyStart = append(o.KeyStart, m.start)
		o.QueryStart = append(o.QueryStart, m.length-m.fresh)
		most = max(most, m.length-m.start)
	}
	lay := func(d int, list func(m *model) []float32) kernel.Tensor {
		row := c.Heads * d
		data := testutil.Filled(len(numbers)*most*row, testutil.NaN)
		for i, x := range numbers {
			m := h.models[x]
			copy(data[i*most*row:], list(m)[m.start*row:m.length*row])
		}
		return kernel.BLHD(data, len(numbers), most, c.Heads, d)
	}
	k = lay(c.HeadSize, func(m *model) []float32 { return m.k[layer] })
	v = lay(c.ValueSize, func(m *model) []float32 { return m.v[layer] })
	o.Mask = kernel.Causal(0).And(kernel.KeyLengths(lengths))
	if c.Window > 0 {
		o.Mask = o.Mask.And(kernel.Window(c.Window, 0))
	}
	return k, v, o
}

// check compares what the sequences and the cache say of themselves, and poisons what is
// free.
func (h *harness) check() {
	h.t.Helper()
	for i, s := range h.sequences {
		m := h.models[i]
		if s.Len() != m.length || s.Start() != m.start {
			h.t.Fatalf("sequence %d: tokens %d to %d, want %d to %d", i, s.Start(), s.Len(), m.start, m.length)
		}
		if n := (m.length - m.start + h.config.PageSize - 1) / h.config.PageSize; len(s.Pages()) != n {
			h.t.Fatalf("sequence %d has %d pages for %d tokens", i, len(s.Pages()), m.length-m.start)
		}
	}
	if got, want := h.cache.FreePages(), h.config.Pages-len(h.used()); got != want {
		h.t.Fatalf("%d pages are free, want %d", got, want)
	}
	h.poison()
}
