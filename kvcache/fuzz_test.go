package kvcache_test

import (
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// FuzzCache draws a cache and what is done to it, and compares it with slices. Every
// operation is a kind and a number.
func FuzzCache(f *testing.F) {
	f.Add(uint8(0), uint8(16), uint8(0), []byte{0, 0, 1, 40, 6, 0, 2, 30, 1, 5, 6, 0})
	f.Add(uint8(5), uint8(3), uint8(20), []byte{0, 0, 0, 0, 1, 70, 2, 60, 1, 2, 4, 9, 1, 9, 6, 1, 5, 0, 1, 3, 6, 7})
	f.Add(uint8(3), uint8(64), uint8(0), []byte{0, 0, 1, 255, 1, 200, 2, 255, 2, 100, 3, 50, 1, 1, 6, 3, 5, 1, 1, 30, 6, 2})
	f.Add(uint8(5), uint8(3), uint8(20), []byte("\x00\x00\xf6\xf6\xf6\xf6\xf6\xf6\x00\x00\x01'A000000000000000"))
	f.Add(uint8(16), uint8(5), uint8(0), []byte{0, 0, 1, 40, 6, 0, 2, 30, 1, 5, 3, 12, 1, 1, 6, 0, 5, 9, 6, 1})
	f.Fuzz(func(t *testing.T, kind, size, window uint8, ops []byte) {
		if len(ops) > 60 {
			t.Skip("too long for a fuzz step")
		}
		c := kvcache.Config{Layers: 1 + int(kind>>3&1), Heads: 2, HeadSize: 6, ValueSize: 3, KeyType: kernel.DType(kind & 3), ValueType: kernel.DType(kind & 3),
			Layout: kvcache.PageLayout(kind >> 2 & 1), PageSize: max(1, int(size)), Window: int(window)}
		if kind>>4&1 == 1 {
			c.KeyType, c.ValueType, c.ValueSize = kernel.Int4, kernel.Int4, 4
		}
		c.Pages = 60 + 1500/c.PageSize
		h := newHarness(t, c)
		for i := 0; i+1 < len(ops); i += 2 {
			h.fuzz(ops[i], int(ops[i+1]))
		}
	})
}

// fuzz does one operation, to the sequences that its number means, if there are any.
func (h *harness) fuzz(kind byte, x int) {
	h.t.Helper()
	if kind %= 8; kind == 0 && len(h.sequences) < 5 || len(h.sequences) == 0 {
		h.begin()
		return
	}
	number := x % len(h.sequences)
	m, s := h.models[number], h.sequences[number]
	at := m.start + x*(m.length-m.start)/255 // some position
	switch kind {
	case 1:
		h.fuzzGrow(x)
	case 2, 3:
		if least := m.start + h.config.Window; m.start > 0 && at < least {
			at = m.length
			if m.length < least { // dropped by hand
				contracttest.CheckArgument(h.t, "dropped", s.Truncate(m.length-1), "n", "tokens from")
			}
		}
		if kind == 2 && len(h.sequences) < 8 {
			h.fork(number, at)
		} else {
			h.truncate(number, at)
		}
	case 4:
		h.drop(number, at)
	case 5:
		s.Free()
		h.sequences, h.models = slices.Delete(h.sequences, number, number+1), slices.Delete(h.models, number, number+1)
	case 6:
		if m.start <= m.length-m.fresh && h.cache.FreePages() > m.fresh/h.config.PageSize+1 {
			var rows []int
			for r := range m.fresh {
				if (x+r*r)%3 > 0 {
					rows = append(rows, r)
				}
			}
			h.keep(number, rows...)
		}
	default:
		h.attend(1+x%2, threads(1+x%3), h.some(x)...)
	}
	h.check()
}

// some returns the sequences that the bits of x stand for, at least one.
func (h *harness) some(x int) (numbers []int) {
	for i := range h.sequences {
		if x>>i&1 != 0 {
			numbers = append(numbers, i)
		}
	}
	if numbers == nil {
		return []int{0}
	}
	return numbers
}

// fuzzGrow lets some sequences grow and attends, if there are enough pages. One time in
// four, tokens are dropped before they are stored.
func (h *harness) fuzzGrow(x int) {
	numbers := h.some(x >> 2)
	var counts []int
	need := 0
	for i, number := range numbers {
		n := (x*(i+3) + i) % 80
		if h.models[number].length+n > 1500 {
			n = 0
		}
		counts = append(counts, n)
		need += n/h.config.PageSize + 2
	}
	if need > h.cache.FreePages() {
		return
	}
	h.extend(numbers, counts)
	if x&3 == 3 {
		m := h.models[numbers[0]]
		h.drop(numbers[0], m.length-m.fresh/2)
	}
	h.store(numbers)
	h.attend(1+x%3, threads(0), numbers...)
}
