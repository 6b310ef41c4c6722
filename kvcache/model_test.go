package kvcache_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/numeric"
)

// A textModel is a sequence as a cache should have it: plain slices of all numbers that
// its tokens were stored as, from position 0 on.
type textModel struct {
	k, v   [][]float32 // of every layer, [tokens][heads][D]
	start  int         // the first token that is kept
	length int
}

// fork returns a copy of the first n tokens.
func (m *textModel) fork(c *kvcache.Config, n int) *textModel {
	f := &textModel{start: m.start, length: n}
	for layer := range m.k {
		f.k = append(f.k, slices.Clone(m.k[layer][:n*c.Heads*c.HeadSize]))
		f.v = append(f.v, slices.Clone(m.v[layer][:n*c.Heads*c.ValueSize]))
	}
	return f
}

// A cacheStory is a cache and what it should hold.
type cacheStory struct {
	t      *testing.T
	config kvcache.Config
	cache  *kvcache.Cache
	batch  *kvcache.Batch
	texts  []*kvcache.Sequence
	models []*textModel
	random rng
}

// newCacheStory makes a cache of a configuration whose fields are all set.
func newCacheStory(t *testing.T, config kvcache.Config) *cacheStory {
	t.Helper()
	c, err := kvcache.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return storyOf(t, config, c)
}

func storyOf(t *testing.T, config kvcache.Config, c *kvcache.Cache) *cacheStory {
	t.Helper()
	b, err := c.NewBatch()
	if err != nil {
		t.Fatal(err)
	}
	s := &cacheStory{t: t, config: config, cache: c, batch: b, random: 1}
	s.poison()
	return s
}

// poison makes the numbers of all free pages NaN: what they hold must not matter.
func (s *cacheStory) poison() {
	for layer := range s.cache.keys {
		for _, m := range [...]kernel.Tensor{s.cache.keys[layer], s.cache.values[layer]} {
			for _, page := range s.cache.pool.free {
				poisonPage(m, int(page))
			}
		}
	}
}

func poisonPage(t kernel.Tensor, page int) {
	for h := range t.shape[1] {
		for l := range t.shape[2] {
			at := t.at(page, h, l)
			for i := range t.shape[3] {
				switch t.dtype {
				case kernel.Float32:
					t.f32[at+i] = nan32
				case kernel.Int8:
					t.scales.f32[t.scales.at(page, h, l)] = nan32
				default:
					t.u16()[at+i] = 0x7fff
				}
			}
		}
	}
}

func (s *cacheStory) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// begin adds a text without tokens and returns its number.
func (s *cacheStory) begin() int {
	s.texts = append(s.texts, s.cache.NewSequence())
	s.models = append(s.models, &textModel{k: make([][]float32, s.config.Layers), v: make([][]float32, s.config.Layers)})
	return len(s.texts) - 1
}

// set makes the batch one of some texts.
func (s *cacheStory) set(texts ...int) {
	s.t.Helper()
	var list []*kvcache.Sequence
	for _, x := range texts {
		list = append(list, s.texts[x])
	}
	s.must(s.batch.Set(list...))
}

// grow makes texts longer, each by its count, in all layers.
func (s *cacheStory) grow(texts, counts []int) {
	s.t.Helper()
	s.set(texts...)
	s.must(s.batch.Extend(counts...))
	for i, x := range texts {
		s.models[x].grow(&s.config, counts[i])
	}
	c := &s.config
	for layer := range c.Layers {
		k := s.tokens(texts, counts, c.HeadSize, func(m *textModel) *[]float32 { return &m.k[layer] })
		v := s.tokens(texts, counts, c.ValueSize, func(m *textModel) *[]float32 { return &m.v[layer] })
		s.must(s.batch.Store(layer, k, v))
	}
}

// grow does what Extend does to a text.
func (m *textModel) grow(c *kvcache.Config, n int) {
	for c.Window > 0 && m.start+c.PageSize <= m.length-c.Window {
		m.start += c.PageSize
	}
	m.length += n
}

// tokens draws new rows, [B, Hkv, n, d] in one of several layouts, and adds to each text's list what
// they are stored as.
func (s *cacheStory) tokens(texts, counts []int, d int, list func(m *textModel) *[]float32) kernel.Tensor {
	b, h, n := len(texts), s.config.Heads, slices.Max(counts)
	x := kernel.BLHD(filled(b*n*h*d, 0), b, n, h, d)
	switch s.random.intn(3) {
	case 0:
		x = kernel.BHLD(x.f32, b, h, n, d)
	case 1:
		x = raggedTokens(counts, h, d)
	}
	s.random.fill(x.f32)
	for i, text := range texts {
		for l := range counts[i] {
			for head := range h {
				rows := list(s.models[text])
				*rows = append(*rows, s.stored(x.Row(i, head, l))...)
			}
		}
	}
	return x
}

// raggedTokens are rows for every sequence, as many as it grows by, one after the other.
func raggedTokens(counts []int, h, d int) kernel.Tensor {
	starts := []int{0}
	for i, n := range counts {
		starts = append(starts, starts[i]+n)
	}
	return kernel.Ragged(make([]float32, starts[len(counts)]*h*d), starts, h, d)
}

// stored is what the cache makes of a row.
func (s *cacheStory) stored(row []float32) []float32 {
	switch s.config.Type {
	case kernel.Int8:
		group := s.config.Group
		if group == 0 {
			group = len(row)
		}
		q, scales := make([]int8, len(row)), make([]float32, len(row)/group)
		s.must(numeric.QuantizeInt8(q, scales, row, group))
		for i := range row {
			row[i] = float32(q[i]) * scales[i/group]
		}
	case kernel.Float16:
		for i, x := range row {
			row[i] = numeric.ToF16(x).Float32()
		}
	case kernel.BFloat16:
		for i, x := range row {
			row[i] = numeric.ToBF16(x).Float32()
		}
	}
	return row
}

// fork forks a text and returns the new one's number.
func (s *cacheStory) fork(text, n int) int {
	s.t.Helper()
	f, err := s.texts[text].Fork(n)
	s.must(err)
	s.texts = append(s.texts, f)
	s.models = append(s.models, s.models[text].fork(&s.config, n))
	return len(s.texts) - 1
}

// truncate cuts a text.
func (s *cacheStory) truncate(text, n int) {
	s.t.Helper()
	s.must(s.texts[text].Truncate(n))
	s.models[text] = s.models[text].fork(&s.config, n)
}

// attend compares attention of the newest tokens of some texts, in every layer, with the same
// call on contiguous float32. It returns the result on the last layer.
func (s *cacheStory) attend(group int, o kernel.Options, texts ...int) kernel.Tensor {
	s.t.Helper()
	s.set(texts...)
	c, h := &s.config, s.config.Heads*group
	view := s.batch.Options()
	view.Tier, view.Threads = o.Tier, o.Threads
	n := s.batch.steps
	q := kernel.BHLD(filled(len(texts)*h*n*c.HeadSize, 0), len(texts), h, n, c.HeadSize)
	s.random.fill(q.f32)
	var got kernel.Tensor
	for layer := range c.Layers {
		got = kernel.BHLD(filled(len(texts)*h*n*c.ValueSize, canary), len(texts), h, n, c.ValueSize)
		k, v := s.batch.View(layer)
		s.must(kernel.Attention(got, q, k, v, view))
		s.attendRagged(&got, &q, k, v, view)
		want := kernel.BHLD(filled(len(got.f32), canary), len(texts), h, n, c.ValueSize)
		k, v, plain := s.contiguous(layer, texts)
		s.must(kernel.Attention(want, q, k, v, plain))
		s.zeroUnused(&want)
		same(s.t, fmt.Sprintf("layer %d of texts %v", layer, texts), &got, &want)
	}
	return got
}

// attendRagged compares a batch's result with that of the same queries one after the other, without
// rows that no text has.
func (s *cacheStory) attendRagged(want, q *kernel.Tensor, k, v kernel.Tensor, o kernel.Options) {
	s.t.Helper()
	packed := raggedTokens(s.batch.counts, q.shape[1], q.shape[3])
	out := raggedTokens(s.batch.counts, q.shape[1], want.shape[3])
	eachRow(&packed, func(b, h, l int, row []float32) { copy(row, q.Row(b, h, l)) })
	s.must(kernel.Attention(out, packed, k, v, o))
	eachRow(&out, func(b, h, l int, row []float32) {
		if !slices.Equal(row, want.Row(b, h, l)) {
			s.t.Fatalf("row [%d %d %d] differs where queries are ragged", b, h, l)
		}
	})
}

// contiguous returns texts' keys and values as plain tensors, with what the call needs to
// see the same of them as of the cache.
func (s *cacheStory) contiguous(layer int, texts []int) (k, v kernel.Tensor, o kernel.Options) {
	c, most := &s.config, 0
	var lengths []int
	for _, x := range texts {
		m := s.models[x]
		lengths = append(lengths, m.length-m.start)
		o.KeyStart = append(o.KeyStart, m.start)
		o.QueryStart = append(o.QueryStart, m.length-s.texts[x].fresh)
		most = max(most, m.length-m.start)
	}
	lay := func(d int, list func(m *textModel) []float32) kernel.Tensor {
		x := kernel.BLHD(filled(len(texts)*most*c.Heads*d, nan32), len(texts), most, c.Heads, d)
		for i, text := range texts {
			m := s.models[text]
			copy(x.f32[i*most*c.Heads*d:], list(m)[m.start*c.Heads*d:m.length*c.Heads*d])
		}
		return x
	}
	k = lay(c.HeadSize, func(m *textModel) []float32 { return m.k[layer] })
	v = lay(c.ValueSize, func(m *textModel) []float32 { return m.v[layer] })
	o.Mask = kernel.Causal(0).And(kernel.KeyLengths(lengths))
	if c.Window > 0 {
		o.Mask = o.Mask.And(kernel.Window(c.Window, 0))
	}
	return k, v, o
}

// zeroUnused clears the rows beyond each text's own count.
func (s *cacheStory) zeroUnused(out *kernel.Tensor) {
	eachRow(out, func(b, _, l int, row []float32) {
		if l >= s.batch.counts[b] {
			clear(row)
		}
	})
}

// check compares what the sequences say of themselves, and the free pages, and poisons these.
func (s *cacheStory) check() {
	s.t.Helper()
	used := map[int32]bool{}
	for i, x := range s.texts {
		m := s.models[i]
		if x.Len() != m.length || x.Start() != m.start {
			s.t.Fatalf("text %d: tokens %d to %d, want %d to %d", i, x.Start(), x.Len(), m.start, m.length)
		}
		if n := (m.length - m.start + s.config.PageSize - 1) / s.config.PageSize; len(x.Pages()) != n {
			s.t.Fatalf("text %d has %d pages for %d tokens", i, len(x.Pages()), m.length-m.start)
		}
		for _, p := range x.Pages() {
			used[p] = true
		}
	}
	if got, want := s.cache.FreePages(), s.config.Pages-len(used); got != want {
		s.t.Fatalf("%d pages are free, want %d", got, want)
	}
	s.poison()
}
