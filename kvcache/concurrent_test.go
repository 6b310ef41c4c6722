package kvcache_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// Goroutines do to a cache at once what its documentation allows, above all for the race
// detector: some fork one sequence and read it, others let the forks, which share its
// last page, grow and attend, and free them.
func TestConcurrent(t *testing.T) {
	c := smallConfig()
	c.Layers, c.Pages = 1, 300
	h := newHarness(t, c)
	prefix := h.begin()
	h.grow([]int{prefix}, []int{100})
	var wg sync.WaitGroup
	for reader := range 3 {
		wg.Go(func() {
			mine := h.private(testutil.Goroutine(t), testutil.Rand(reader), prefix)
			for range contracttest.Repeats(12) {
				mine.attend(2, threads(1+reader%2), 0)
			}
		})
	}
	for writer := range 4 {
		wg.Go(func() {
			t := testutil.Goroutine(t)
			for round := range contracttest.Repeats(12) {
				mine := h.private(t, testutil.Rand(writer*100+round), prefix)
				f := mine.fork(0, 90+round%11)
				g := mine.fork(f, mine.sequences[f].Len()-round%3)
				for range 6 {
					mine.grow([]int{g, f}, []int{2, 3})
					mine.attend(2, threads(1), f, g)
				}
				mine.sequences[f].Free()
				mine.grow([]int{g}, []int{17})
				mine.attend(1, threads(2), g)
				mine.sequences[g].Free()
			}
		})
	}
	wg.Wait()
	h.check()
}

// private returns a harness of one goroutine, whose sequence 0 is a sequence of h.
func (h *harness) private(t testing.TB, random testutil.Rand, number int) *harness {
	b, err := h.cache.NewBatch()
	if err != nil {
		t.Fatal(err)
	}
	m := h.models[number]
	mine := m.fork(&h.config, m.length)
	mine.fresh = m.fresh
	return &harness{t: t, config: h.config, cache: h.cache, batch: b, random: random,
		sequences: []*kvcache.Sequence{h.sequences[number]}, models: []*model{mine}}
}

// Views of sequences that do not change may be used while their batch is asked for more.
func TestViewsAreReadConcurrently(t *testing.T) {
	c := smallConfig()
	h := newHarness(t, c)
	a := h.begin()
	h.grow([]int{a}, []int{50})
	h.set(a)
	k, v := h.batch.View(0)
	o := kernel.Options{Scoring: h.batch.Scoring()}
	q := kernel.BHLD(testutil.Floats(2*50*12), 1, 2, 50, 12)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			t := testutil.Goroutine(t)
			for range contracttest.Repeats(12) {
				out := kernel.BHLD(make([]float32, 2*50*8), 1, 2, 50, 8)
				if err := kernel.Attention(out, q, k, v, &o); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for range contracttest.Repeats(12) {
		h.batch.View(1)
		h.batch.Scoring()
	}
	wg.Wait()
}

// Steps of a warm cache with a window allocate nothing.
func TestStepsAllocateNothing(t *testing.T) {
	for _, dtype := range contracttest.KeyTypes() {
		c := smallConfig()
		c.Layers, c.KeyType, c.ValueType, c.Window, c.Pages = 1, dtype, dtype, 50, 40
		h := newHarness(t, c)
		a, b := h.begin(), h.begin()
		h.grow([]int{a, b}, []int{100, 90})
		rows := func(d int) kernel.Tensor { return kernel.BHLD(testutil.Floats(2*2*d), 2, 2, 1, d) }
		k, v, q, out := rows(12), rows(8), rows(12), rows(8)
		testutil.CheckNoMallocs(t, fmt.Sprint(dtype), contracttest.Repeats(200), func() {
			if err := h.batch.Append(k, v); err != nil {
				t.Fatal(err)
			}
			h.batch.Positions()
			keys, values := h.batch.View(0)
			o := kernel.Options{Scoring: h.batch.Scoring()}
			o.Threads = 1
			if err := kernel.Attention(out, q, keys, values, &o); err != nil {
				t.Fatal(err)
			}
		})
	}
}
