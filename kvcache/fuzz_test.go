package kvcache_test

import (
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// FuzzCache draws a cache and what is done to it, and compares it with slices: every op is
// a kind and a number.
func FuzzCache(f *testing.F) {
	f.Add(uint8(0), uint8(16), uint8(0), []byte{0, 0, 1, 40, 6, 0, 2, 30, 1, 5, 6, 0})
	f.Add(uint8(5), uint8(3), uint8(20), []byte{0, 0, 0, 0, 1, 70, 2, 60, 1, 2, 4, 9, 1, 9, 6, 1, 5, 0, 1, 3, 6, 7})
	f.Add(uint8(3), uint8(64), uint8(0), []byte{0, 0, 1, 255, 1, 200, 2, 255, 2, 100, 3, 50, 1, 1, 6, 3, 5, 1, 1, 30, 6, 2})
	f.Fuzz(func(t *testing.T, kind, size, window uint8, ops []byte) {
		if len(ops) > 60 {
			t.Skip("too long for a fuzz step")
		}
		c := kvcache.Config{Layers: 1 + int(kind>>3&1), Heads: 2, HeadSize: 6, ValueSize: 3, Type: kernel.DType(kind & 3),
			Layout: kvcache.PageLayout(kind >> 2 & 1), PageSize: max(1, int(size)), Window: int(window)}
		c.Pages = 60 + 1500/c.PageSize
		s := newCacheStory(t, c)
		for i := 0; i+1 < len(ops); i += 2 {
			s.fuzz(ops[i], int(ops[i+1]))
		}
	})
}

// fuzz does one op, to the texts that its number means, if there are any.
func (s *cacheStory) fuzz(kind byte, x int) {
	s.t.Helper()
	if kind %= 7; kind == 0 && len(s.texts) < 5 || len(s.texts) == 0 {
		s.begin()
		return
	}
	text := x % len(s.texts)
	m := s.models[text]
	switch kind {
	case 1:
		s.fuzzGrow(x)
	case 2, 3:
		n := m.start + x*(m.length-m.start)/255
		if least := m.start + s.config.Window; m.start > 0 && n < least {
			n = m.length
			if m.length < least { // dropped by hand
				wantArgument(s.t, "dropped", s.texts[text].Truncate(least-1), "n", "tokens from")
			}
		}
		if kind == 2 && len(s.texts) < 8 {
			s.fork(text, n)
		} else {
			s.truncate(text, n)
		}
	case 4:
		n := m.start + x*(m.length-m.start)/255
		s.must(s.texts[text].Drop(n))
		m.start += (n - m.start) / s.config.PageSize * s.config.PageSize
	case 5:
		s.texts[text].Free()
		s.texts, s.models = append(s.texts[:text], s.texts[text+1:]...), append(s.models[:text], s.models[text+1:]...)
	default:
		s.attend(1+x%2, kernel.Options{Exec: kernel.Exec{Threads: 1 + x%3}}, s.some(x)...)
	}
	s.check()
}

// some returns the texts that the bits of x stand for, at least one.
func (s *cacheStory) some(x int) (texts []int) {
	for i := range s.texts {
		if x>>i&1 != 0 {
			texts = append(texts, i)
		}
	}
	if texts == nil {
		return []int{0}
	}
	return texts
}

// fuzzGrow lets some texts grow and attends, if there are pages enough.
func (s *cacheStory) fuzzGrow(x int) {
	texts := s.some(x >> 2)
	var counts []int
	for i, text := range texts {
		n := (x*(i+3) + i) % 80
		if s.models[text].length+n > 1500 {
			n = 0
		}
		counts = append(counts, n)
	}
	need := 0
	for _, n := range counts {
		need += n/s.config.PageSize + 2
	}
	if need > s.cache.FreePages() {
		return
	}
	s.grow(texts, counts)
	s.attend(1+x%3, kernel.Options{}, texts...)
}
