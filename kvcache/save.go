package kvcache

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Save appends to dst the keys and values of the n tokens from position from on: layer by layer,
// keys before values. Each head has its rows in the order of the tokens; the scales follow after
// the rows of all heads, in the same order. Numbers of several bytes are little-endian. So the
// bytes depend neither on the pages, their layout or the forks, nor on the CPU, and [Sequence.Load]
// of a cache with the same heads, sizes, types and groups takes them on every machine. Values that
// are part of the keys are not written twice.
//
// Save counts as reading the sequence. Tokens that it does not keep are a [*kernel.Error].
func (s *Sequence) Save(dst []byte, from, n int) ([]byte, error) {
	if f := s.checkSave(from, n); f != nil {
		return dst, (*kernel.Error)(f.In("kvcache.Sequence.Save"))
	}
	at := len(dst)
	dst = slices.Grow(dst, n*s.cache.tokenBytes())[:at+n*s.cache.tokenBytes()]
	s.eachRow(from, n, func(row []byte, width int) {
		copy(dst[at:], row)
		toLittleEndian(dst[at:at+len(row)], width)
		at += len(row)
	})
	return dst, nil
}

// checkSave reports tokens that cannot be saved.
func (s *Sequence) checkSave(from, n int) *check.Failure {
	if f := s.check("sequence"); f != nil {
		return f
	}
	if from < s.start || from > s.length {
		return &check.Failure{Where: "from", Got: fmt.Sprint(from), Want: fmt.Sprintf("%d to %d", s.start, s.length)}
	}
	most := min(s.length-from, math.MaxInt/max(1, s.cache.tokenBytes()))
	if n < 0 || n > most {
		return &check.Failure{Where: "n", Got: fmt.Sprint(n), Want: fmt.Sprintf("0 to %d", most)}
	}
	return nil
}

// Load stores what [Sequence.Save] has written as the keys and values of the tokens of the last
// step in all layers, in place of [Batch.Store]: after [Batch.Extend] by as many tokens. Data of
// another length is a [*kernel.Error], and so is a sequence that has dropped some of the tokens.
func (s *Sequence) Load(data []byte) error {
	f := s.check("sequence")
	if f == nil && s.firstFresh() > 0 {
		f = &check.Failure{Where: "sequence", Got: "one that has dropped tokens of the last step", Want: "one that keeps all of them"}
	}
	if f == nil {
		if want := ints.MulSat(s.fresh, s.cache.tokenBytes()); len(data) != want {
			f = &check.Failure{Where: "data", Got: fmt.Sprintf("%d bytes", len(data)), Want: fmt.Sprintf("%d, of the %d tokens of the last step", want, s.fresh)}
		}
	}
	if f != nil {
		return (*kernel.Error)(f.In("kvcache.Sequence.Load"))
	}
	s.eachRow(s.length-s.fresh, s.fresh, func(row []byte, width int) {
		n := copy(row, data)
		toLittleEndian(row, width)
		data = data[n:]
	})
	return nil
}

// eachRow calls f with the memory of the rows of n tokens, in the order of Save, and the bytes of a
// number in it.
func (s *Sequence) eachRow(from, n int, f func(row []byte, width int)) {
	for layer := range s.cache.keys {
		s.rowsOf(&s.cache.keys[layer], from, n, f)
		if !s.cache.places[layer].valuesArePart {
			s.rowsOf(&s.cache.values[layer], from, n, f)
		}
	}
}

// rowsOf is eachRow for one tensor.
func (s *Sequence) rowsOf(t *view.Tensor, from, n int, f func(row []byte, width int)) {
	data, bytes, d := t.Bytes(), t.DType().Bytes, t.Dim(3)
	width := max(1, bytes(2)/2) // two elements of 4 bits share a byte
	size := s.cache.pageSize
	for h := range t.Dim(1) {
		for at := from - s.start; at < from-s.start+n; {
			row := at % size
			rows := min(size-row, from-s.start+n-at)
			first := bytes(t.At(int(s.pages[at/size]), h, row))
			if at += rows; t.Stride(2) == d {
				f(data[first:][:rows*bytes(d)], width)
				continue
			}
			for i := range rows {
				f(data[first+i*bytes(t.Stride(2)):][:bytes(d)], width)
			}
		}
	}
	if scales := t.Scales(); scales != nil {
		s.rowsOf(scales, from, n, f)
	}
}

// tokenBytes returns the bytes that Save writes for a token, at most math.MaxInt.
func (c *Cache) tokenBytes() (sum int) {
	add := func(t *view.Tensor) {
		for ; t != nil; t = t.Scales() {
			sum = ints.AddSat(sum, ints.MulSat(t.Dim(1), t.DType().Bytes(t.Dim(3))))
		}
	}
	for layer := range c.keys {
		if add(&c.keys[layer]); !c.places[layer].valuesArePart {
			add(&c.values[layer])
		}
	}
	return sum
}

// bigEndian tells whether this machine keeps the highest byte of a number first.
var bigEndian = func() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 0
}()

// toLittleEndian turns numbers of this machine into little-endian ones, and back.
func toLittleEndian(data []byte, width int) {
	if !bigEndian || width == 1 {
		return
	}
	for ; len(data) >= width; data = data[width:] {
		slices.Reverse(data[:width])
	}
}
