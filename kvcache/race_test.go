package kvcache_test

import (
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// TestCacheConcurrent does to a cache all at once what its documentation allows, above all for
// the race detector: several goroutines fork one text and read it, others let the forks,
// which share its last page, grow and attend, and free them.
func TestCacheConcurrent(t *testing.T) {
	c := smallCache()
	c.Layers, c.Pages = 1, 300
	s := newCacheStory(t, c)
	prefix := s.begin()
	s.grow([]int{prefix}, []int{100})
	var wg sync.WaitGroup
	for reader := range 3 {
		wg.Go(func() {
			mine := s.private(rng(reader), prefix)
			for range repeats(12) {
				mine.attend(2, kernel.Options{Exec: kernel.Exec{Threads: 1 + reader%2}}, 0)
			}
		})
	}
	for writer := range 4 {
		wg.Go(func() {
			for round := range repeats(12) {
				mine := s.private(rng(writer*100+round), prefix)
				f := mine.fork(0, 90+round%11)
				g := mine.fork(f, mine.texts[f].Len()-round%3)
				for range 6 {
					mine.grow([]int{g, f}, []int{2, 3})
					mine.attend(2, kernel.Options{Exec: kernel.Exec{Threads: 1}}, f, g)
				}
				mine.texts[f].Free()
				mine.grow([]int{g}, []int{17})
				mine.attend(1, kernel.Options{Exec: kernel.Exec{Threads: 2}}, g)
				mine.texts[g].Free()
			}
		})
	}
	wg.Wait()
	s.check()
}

// private is a story of one goroutine about a text of another one's, which becomes its
// text 0.
func (s *cacheStory) private(random rng, text int) *cacheStory {
	b, err := s.cache.NewBatch()
	s.must(err)
	return &cacheStory{t: s.t, config: s.config, cache: s.cache, batch: b, random: random,
		texts: []*kvcache.Sequence{s.texts[text]}, models: []*textModel{s.models[text].fork(&s.config, s.models[text].length)}}
}

// TestCacheNoAllocations: steps of a warm cache allocate nothing, but for lists of pages that
// grow now and then.
func TestCacheNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, dtype := range []kernel.DType{kernel.Float32, kernel.Float16, kernel.Int8} {
		c := smallCache()
		c.Layers, c.Type, c.Window, c.Pages = 1, dtype, 50, 40
		s := newCacheStory(t, c)
		a, b := s.begin(), s.begin()
		s.grow([]int{a, b}, []int{100, 90})
		rows := func(n, d int) kernel.Tensor { return kernel.BHLD(random(2*2*n*d), 2, 2, n, d) }
		k, v, q, out := rows(1, 12), rows(1, 8), rows(1, 12), rows(1, 8)
		step := func() {
			if err := s.batch.Append(k, v); err != nil {
				t.Fatal(err)
			}
			s.batch.Positions()
			keys, values := s.batch.View(0)
			o := s.batch.Options()
			o.Threads = 1
			if err := kernel.Attention(out, q, keys, values, o); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 {
			step()
		}
		if n := warmAllocs(repeats(200), step); n != 0 {
			t.Errorf("%v: %v allocations per step", dtype, n)
		}
	}
}
