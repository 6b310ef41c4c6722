package contracttest

import (
	"math"
	"slices"

	"github.com/attn-go/attn/kernel"
)

// A Mask is an intersection of masks that is known in two ways: as the kernel.Mask that
// a call gets, and as a rule for every pair of a query and a key. The rules follow the
// documentation of the constructors in package kernel and share no code with them. The
// zero Mask hides nothing.
type Mask struct{ parts []part }

// A part is one mask. Which fields are used depends on its kind.
type part struct {
	kind        kind
	left, right int
	lengths     []int   // or prefixes
	query, key  []int32 // ids
	bools       []bool
	shape       [4]int
	strides     [3]int
	either      []Mask // of a union
}

type kind int

const (
	causal kind = iota
	window
	prefixLM
	keyLengths
	queryLengths
	segments
	visible
	hidden
	blockSparse
	visibleLast
	chunked
	keyRange
	queryRange
	union
)

// The constructors have the arguments of those in package kernel.

// Causal is kernel.Causal.
func Causal(offset int) Mask { return Mask{[]part{{kind: causal, right: offset}}} }

// Window is kernel.Window.
func Window(left, right int) Mask { return Mask{[]part{{kind: window, left: left, right: right}}} }

// Chunked is kernel.Chunked.
func Chunked(size int) Mask { return Mask{[]part{{kind: chunked, left: size}}} }

// KeyRange is kernel.KeyRange.
func KeyRange(from, to int) Mask { return Mask{[]part{{kind: keyRange, left: from, right: to}}} }

// QueryRange is kernel.QueryRange.
func QueryRange(from, to int) Mask { return Mask{[]part{{kind: queryRange, left: from, right: to}}} }

// PrefixLM is kernel.PrefixLM.
func PrefixLM(prefix []int) Mask { return Mask{[]part{{kind: prefixLM, lengths: prefix}}} }

// KeyLengths is kernel.KeyLengths.
func KeyLengths(lengths []int) Mask { return Mask{[]part{{kind: keyLengths, lengths: lengths}}} }

// QueryLengths is kernel.QueryLengths.
func QueryLengths(lengths []int) Mask { return Mask{[]part{{kind: queryLengths, lengths: lengths}}} }

// Segments is kernel.Segments.
func Segments(query, key []int32) Mask {
	return Mask{[]part{{kind: segments, query: query, key: key}}}
}

// Visible is kernel.Visible.
func Visible(data []bool, shape [4]int) Mask {
	return VisibleStrided(data, shape, contiguous(shape))
}

// VisibleStrided is kernel.VisibleStrided.
func VisibleStrided(data []bool, shape [4]int, strides [3]int) Mask {
	return Mask{[]part{{kind: visible, bools: data, shape: shape, strides: strides}}}
}

// Hidden is kernel.Hidden.
func Hidden(data []bool, shape [4]int) Mask { return HiddenStrided(data, shape, contiguous(shape)) }

// HiddenStrided is kernel.HiddenStrided.
func HiddenStrided(data []bool, shape [4]int, strides [3]int) Mask {
	return Mask{[]part{{kind: hidden, bools: data, shape: shape, strides: strides}}}
}

// VisibleLast is kernel.VisibleLast.
func VisibleLast(data []bool, shape [4]int) Mask {
	return Mask{[]part{{kind: visibleLast, bools: data, shape: shape, strides: contiguous(shape)}}}
}

// BlockSparse is kernel.BlockSparse.
func BlockSparse(keep []bool, queryBlock, keyBlock int) Mask {
	return Mask{[]part{{kind: blockSparse, bools: keep, left: queryBlock, right: keyBlock}}}
}

func contiguous(shape [4]int) [3]int {
	return [3]int{shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]}
}

// And returns the mask that hides what m or n hides.
func (m Mask) And(n Mask) Mask { return Mask{slices.Concat(m.parts, n.parts)} }

// Or returns the mask that hides what m and n both hide.
func (m Mask) Or(n Mask) Mask { return Mask{[]part{{kind: union, either: []Mask{m, n}}}} }

// Kernel returns the mask for a call.
func (m Mask) Kernel() (k kernel.Mask) {
	for i := range m.parts {
		k = k.And(m.parts[i].mask())
	}
	return k
}

func (p *part) mask() kernel.Mask {
	switch p.kind {
	case causal:
		return kernel.Causal(p.right)
	case window:
		return kernel.Window(p.left, p.right)
	case prefixLM:
		return kernel.PrefixLM(p.lengths)
	case keyLengths:
		return kernel.KeyLengths(p.lengths)
	case queryLengths:
		return kernel.QueryLengths(p.lengths)
	case segments:
		return kernel.Segments(p.query, p.key)
	case visible:
		return kernel.VisibleStrided(p.bools, p.shape, p.strides)
	case hidden:
		return kernel.HiddenStrided(p.bools, p.shape, p.strides)
	case blockSparse:
		return kernel.BlockSparse(p.bools, p.left, p.right)
	case visibleLast:
		return kernel.VisibleLast(p.bools, p.shape)
	case chunked:
		return kernel.Chunked(p.left)
	case keyRange:
		return kernel.KeyRange(p.left, p.right)
	case queryRange:
		return kernel.QueryRange(p.left, p.right)
	case union:
		return p.either[0].Kernel().Or(p.either[1].Kernel())
	}
	panic("unknown mask")
}

// IsSet tells whether the mask may hide a key.
func (m Mask) IsSet() bool { return len(m.parts) > 0 }

// CountsKeys tells whether the mask counts the keys of a call instead of naming their
// positions, so that it means something else for a part of the keys.
func (m Mask) CountsKeys() bool {
	return slices.ContainsFunc(m.parts, func(p part) bool {
		if p.kind == union {
			return p.either[0].CountsKeys() || p.either[1].CountsKeys()
		}
		return !slices.Contains([]kind{causal, window, prefixLM, queryLengths, chunked, keyRange, queryRange}, p.kind)
	})
}

// A Mover copies the slices of a mask to other memory.
type Mover interface {
	Ints([]int) []int
	IDs([]int32) []int32
	Bools([]bool) []bool
}

// Moved returns the same mask with all its slices in other memory, each of them no
// longer than the mask needs.
func (m Mask) Moved(to Mover) Mask {
	parts := slices.Clone(m.parts)
	for i := range parts {
		p := &parts[i]
		if p.kind == visible || p.kind == hidden || p.kind == visibleLast {
			p.bools = p.bools[:p.extent()]
		}
		p.either = slices.Clone(p.either)
		for x, m := range p.either {
			p.either[x] = m.Moved(to)
		}
		p.lengths, p.query, p.key, p.bools = to.Ints(p.lengths), to.IDs(p.query), to.IDs(p.key), to.Bools(p.bools)
	}
	return Mask{parts}
}

// extent returns how many bools there are up to the last one that is used.
func (p *part) extent() int {
	n := p.shape[3]
	for i, s := range p.strides {
		switch {
		case p.shape[i] == 0:
			return 0
		case p.shape[i] > 1:
			n += (p.shape[i] - 1) * s
		}
	}
	return n
}

// A pair is a query and a key of a call.
type pair struct {
	b, h, i, j     int
	queryAt, keyAt int // their positions
	queries, keys  int // of the longest batch row
	length         int // how many keys of this batch row may be read
}

// sees applies every mask to one query and one key.
func (m Mask) sees(x pair) bool {
	for i := range m.parts {
		if !m.parts[i].sees(x) {
			return false
		}
	}
	return true
}

func (p *part) sees(x pair) bool {
	q, k := int64(x.queryAt), int64(x.keyAt)
	left, right := int64(p.left), int64(p.right)
	switch p.kind {
	case causal:
		return k-q <= right
	case window:
		return (left < 0 || q-k <= left) && (right < 0 || k-q <= right)
	case prefixLM:
		return k <= q || k < int64(perBatch(p.lengths, x.b))
	case keyLengths:
		return x.j < p.lengths[x.b]
	case queryLengths:
		return x.i < p.lengths[x.b]
	case segments:
		return p.query[x.b*x.queries+x.i] == p.key[x.b*x.keys+x.j]
	case visible, hidden:
		return x.j < p.shape[3] && p.bools[broadcast(p.shape, p.strides, x.b, x.h, x.i)+x.j] == (p.kind == visible)
	case blockSparse:
		query, key := min(p.left, x.queries), min(p.right, x.keys)
		columns := (x.keys + key - 1) / key
		return p.bools[x.i/query*columns+x.j/key]
	case visibleLast:
		if x.j >= x.length {
			return false
		}
		column := x.j - x.length + p.shape[3]
		return column < 0 || p.bools[broadcast(p.shape, p.strides, x.b, x.h, x.i)+column]
	case chunked:
		return k <= q && math.Floor(float64(k)/float64(left)) == math.Floor(float64(q)/float64(left))
	case keyRange:
		return left <= k && k < right
	case queryRange:
		return left <= q && q < right
	case union:
		return p.either[0].sees(x) || p.either[1].sees(x)
	}
	panic("unknown mask")
}

// length returns how many of the keys of batch row b may be read.
func (m Mask) length(b, keys int) int {
	for _, p := range m.parts {
		if p.kind == keyLengths {
			keys = min(keys, p.lengths[b])
		}
	}
	return keys
}

// broadcast returns the index of element (index..., 0), where dimensions of 1 stand
// for all.
func broadcast(shape [4]int, strides [3]int, index ...int) int {
	at := 0
	for x, n := range index {
		if shape[x] != 1 {
			at += n * strides[x]
		}
	}
	return at
}

// perBatch returns the value of batch row b: values holds one for all rows, one for
// each, or none, which means 0.
func perBatch(values []int, b int) int {
	switch len(values) {
	case 0:
		return 0
	case 1:
		return values[0]
	}
	return values[b]
}
