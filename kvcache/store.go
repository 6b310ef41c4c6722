package kvcache

import (
	"cmp"
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Store stores a layer's keys and values of the tokens that the last Extend made room
// for: k [B, Hkv, n, D] and v [B, Hkv, n, Dv] in float32, where n is the largest of the
// counts. Of each sequence as many rows are stored as it grew by. k and v may be ragged.
// For a layer whose values are a part of its keys, pass the zero Tensor as v. No element of
// k or v lies between the first and the last element that is stored in a page.
//
// The numbers are rounded to the cache's type as by [numeric.ToF16], [numeric.ToBF16],
// [numeric.ToF8E4M3] and [numeric.ToF8E5M2], or quantized as by [numeric.QuantizeInt8] and
// [numeric.QuantizeInt4]. Numbers of float32 and bfloat16 whose magnitude is below 2^-126
// are then +0: on some CPUs attention over such numbers takes 100 times as long. NaN and
// infinity cannot be quantized: after that error the tokens of the layer are undefined,
// until they are stored again.
//
// Keys are stored as attention uses them. If the model rotates them, do so before, with
// the positions that [Batch.Positions] returns.
//
// An error is a [*kernel.Error].
func (b *Batch) Store(layer int, k, v kernel.Tensor) error {
	return b.store(layer, (*view.Tensor)(&k), (*view.Tensor)(&v))
}

func (b *Batch) store(layer int, k, v *view.Tensor) error {
	b.refresh()
	t, f := tier.Default()
	if f == nil {
		f = b.checkStore(layer, k, v)
	}
	if f != nil {
		return (*kernel.Error)(f.In("kvcache.Batch.Store"))
	}
	if view.Races {
		b.announce(k, v, &b.cache.keys[layer], &b.cache.values[layer])
	}
	for i, s := range b.sequences {
		if err := storeTokens(t, &b.cache.keys[layer], s, "k", k, i); err != nil {
			return err
		}
		if !v.IsSet() {
			continue
		}
		if err := storeTokens(t, &b.cache.values[layer], s, "v", v, i); err != nil {
			return err
		}
	}
	return nil
}

// announce tells the race detector what Store reads and writes.
func (b *Batch) announce(k, v, keys, values *view.Tensor) {
	for i, s := range b.sequences {
		for l := s.firstFresh(); l < s.fresh; {
			page, row, n := s.place(l)
			keys.AnnounceRows(view.Write, page, row, row+n)
			k.AnnounceRows(view.Read, i, l, l+n)
			if v.IsSet() {
				values.AnnounceRows(view.Write, page, row, row+n)
				v.AnnounceRows(view.Read, i, l, l+n)
			}
			l += n
		}
	}
}

// checkStore reports the first argument of Store that does not fit.
func (b *Batch) checkStore(layer int, k, v *view.Tensor) *check.Failure {
	if n := b.layers(); layer < 0 || layer >= n {
		return &check.Failure{Where: "layer", Got: fmt.Sprint(layer), Want: fmt.Sprintf("0 to %d", n-1)}
	}
	for _, s := range b.sequences {
		if f := s.check("sequences"); f != nil {
			return f
		}
	}
	keys, values, at := &b.cache.keys[layer], &b.cache.values[layer], &b.cache.places[layer]
	if f := b.checkRows("k", k, keys); f != nil {
		return f
	}
	switch {
	case v.IsSet() && at.valuesArePart:
		return &check.Failure{Where: "v", Got: v.Describe(), Want: "the zero Tensor, as the values of the layer are a part of its keys"}
	case !v.IsSet() && at.values.Overlaps(at.keys):
	default:
		if f := b.checkRows("v", v, values); f != nil {
			return f
		}
	}
	return cmp.Or(b.checkOverlap("k", k, layer), b.checkOverlap("v", v, layer))
}

// checkOverlap reports rows that share memory with tokens that Store writes: it would read
// what it has written.
func (b *Batch) checkOverlap(arg string, t *view.Tensor, layer int) *check.Failure {
	in, at := t.Memory(), &b.cache.places[layer]
	if !in.Overlaps(at.keys) && !in.Overlaps(at.values) && !in.Overlaps(at.keyScales) && !in.Overlaps(at.valueScales) {
		return nil // as always if the memory is the cache's own
	}
	keys, values := &b.cache.keys[layer], &b.cache.values[layer]
	for _, memory := range [...]*view.Tensor{keys, values, keys.Scales(), values.Scales()} {
		if memory == nil {
			continue
		}
		for _, s := range b.sequences {
			for l := s.firstFresh(); l < s.fresh; {
				page, row, n := s.place(l)
				if in.Overlaps(memory.MemoryOfRows(page, row, n)) {
					return &check.Failure{Where: arg, Got: "memory that overlaps the tokens to be stored in the cache", Want: "memory of its own"}
				}
				l += n
			}
		}
	}
	return nil
}

// checkRows reports rows that cannot be stored to memory.
func (b *Batch) checkRows(arg string, t, memory *view.Tensor) *check.Failure {
	if f := t.CheckFloats(arg); f != nil {
		return f
	}
	if want := [4]int{len(b.sequences), memory.Dim(1), b.steps, memory.Dim(3)}; t.Shape() != want {
		return &check.Failure{Where: arg, Got: t.Describe(), Want: fmt.Sprintf("shape %v", want)}
	}
	for i, n := range b.counts {
		if got := t.Length(i); got < n {
			return &check.Failure{Where: arg, Got: fmt.Sprintf("%d rows for sequence %d", got, i), Want: fmt.Sprintf("the %d that it grew by", n)}
		}
	}
	return nil
}

// Append is Extend and Store for a cache of one layer: all sequences grow by the length
// of k and v. After an error they have the length that they had before.
func (b *Batch) Append(k, v kernel.Tensor) error {
	if n := b.layers(); n != 1 {
		return &kernel.Error{Where: "kvcache.Batch.Append: the batch", Got: fmt.Sprintf("one of a cache of %d layers", n), Want: "one of a cache of one layer, or Extend and Store"}
	}
	n := k.Shape()[2]
	if err := b.Extend(n); err != nil {
		return err
	}
	err := b.Store(0, k, v)
	if err != nil {
		for _, s := range b.sequences {
			s.cut(s.length - n)
		}
	}
	return err
}

// storeTokens writes the rows of batch row b of src, float32, as the newest tokens of s. arg is
// the name of src.
func storeTokens(t *tier.Tier, dst *view.Tensor, s *Sequence, arg string, src *view.Tensor, b int) error {
	for l := s.firstFresh(); l < s.fresh; {
		page, row, n := s.place(l)
		if !dst.DType().IsScaled() {
			storeRows(t, dst, page, row, src, b, l, n)
		} else if !quantizeRows(t, dst, page, row, src, b, l, n) {
			return notFinite(arg, src, b, l, n)
		}
		l += n
	}
	return nil
}

// storeRows writes n rows of all heads, from row l of batch row b of src on, to a page
// from row on. It goes through src in the order of its memory.
func storeRows(t *tier.Tier, dst *view.Tensor, page, row int, src *view.Tensor, b, l, n int) {
	type dimension struct{ n, dst, src int } // size and strides
	outer, inner := dimension{dst.Dim(1), dst.Stride(1), src.Stride(1)}, dimension{n, dst.Stride(2), src.Stride(2)}
	if outer.src < inner.src {
		outer, inner = inner, outer
	}
	d := dst.Dim(3)
	if inner.dst == d && inner.src == d { // all inner rows are one
		d *= inner.n
		outer, inner = dimension{n: 1}, outer
	}
	to, from := dst.At(page, 0, row), src.F32()[src.Index(b, 0, l):]
	for i := range outer.n {
		to, from := to+i*outer.dst, from[i*outer.src:]
		if dst.DType() == view.Float32 {
			rows.Flush(t, dst.F32()[to:], inner.dst, from, inner.src, inner.n, d)
			continue
		}
		narrowRows(t, dst, to, inner.dst, from, inner.src, inner.n, d)
	}
}

// narrowRows writes n rows of d numbers, lds apart, as rows of a tensor of a narrower type, ldd
// apart, the first of which begins at to.
func narrowRows(t *tier.Tier, dst *view.Tensor, to, ldd int, src []float32, lds, n, d int) {
	narrow, size := t.Convert().Narrow[dst.DType()], dst.DType().Size()
	for r := 0; r < n; {
		m := min(n-r, max(1, rows.MaxConvert/d))
		narrow(dst.Bytes()[(to+r*ldd)*size:], ldd*size, src[r*lds:], lds, m, d)
		r += m
	}
	for r := 0; dst.DType() == view.BFloat16 && r < n; r++ {
		rows.FlushBF16(dst.U16()[to+r*ldd:][:d])
	}
}

// quantizeRows is storeRows for types with scales. It reports whether all numbers are finite.
func quantizeRows(t *tier.Tier, dst *view.Tensor, page, row int, src *view.Tensor, b, l, n int) bool {
	s, d, heads := dst.Scales(), dst.Dim(3), dst.Dim(1)
	from := src.F32()
	if n == 1 { // the heads of a token are the rows of one call
		scales := s.F32()[s.At(page, 0, row):]
		return quantize(t, dst, dst.At(page, 0, row), dst.Stride(1), scales, s.Stride(1), from[src.Index(b, 0, l):], src.Stride(1), heads, d)
	}
	for h := range heads {
		scales := s.F32()[s.At(page, h, row):]
		if !quantize(t, dst, dst.At(page, h, row), dst.Stride(2), scales, s.Stride(2), from[src.Index(b, h, l):], src.Stride(2), n, d) {
			return false
		}
	}
	return true
}

// quantize quantizes n rows to element to of dst and what is ldd, 2·ldd, ... behind it, as many per
// call as do not take long.
func quantize(t *tier.Tier, dst *view.Tensor, to, ldd int, scales []float32, lsc int, src []float32, lds, n, d int) (ok bool) {
	convert, group, bytes := t.Convert(), dst.Group(), dst.DType().Bytes
	for r := 0; r < n; {
		m := min(n-r, max(1, rows.MaxConvert/d))
		at, scales, src := to+r*ldd, scales[r*lsc:], src[r*lds:]
		if dst.DType() == view.Int4 {
			ok = convert.QuantizeInt4(dst.Bytes()[bytes(at):], bytes(ldd), scales, lsc, src, lds, group, m, d)
		} else {
			ok = convert.QuantizeInt8(dst.I8()[at:], ldd, scales, lsc, src, lds, group, m, d)
		}
		if !ok {
			return false
		}
		r += m
	}
	return true
}

// notFinite names the first number of n rows of all heads that cannot be quantized.
func notFinite(arg string, src *view.Tensor, b, l, n int) error {
	for h := range src.Dim(1) {
		for r := range n {
			for i, x := range src.Row(b, h, l+r) {
				if x-x != 0 {
					return &kernel.Error{Where: "kvcache.Batch.Store: " + arg, Got: fmt.Sprintf("%v as element %d of row (%d, %d, %d)", x, i, b, h, l+r), Want: "finite numbers"}
				}
			}
		}
	}
	return nil
}

// A slot is a row of a page.
type slot struct{ page, row int }

// copyRows copies n rows of all heads from one page to another, or to rows before them, with their
// scales.
func copyRows(t *view.Tensor, to, from slot, n int) {
	data, bytes, heads, d := t.Bytes(), t.DType().Bytes, t.Dim(1), t.Dim(3)
	if t.Stride(1) == d {
		heads, d = 1, heads*d
	}
	for h := range heads {
		ld := bytes(t.Stride(2))
		rows.Copy(data[bytes(t.At(to.page, h, to.row)):], ld, data[bytes(t.At(from.page, h, from.row)):], ld, n, bytes(d))
	}
	if s := t.Scales(); s != nil {
		copyRows(s, to, from, n)
	}
}
