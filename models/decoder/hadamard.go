package decoder

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// A hadamard says what is rotated before it goes to the cache. H is the Hadamard matrix of
// a block, its own inverse: (q·H)·(k·H) is q·k, and the weighted sum of rows v·H, times H,
// is that of the rows v.
type hadamard struct {
	block        int // elements
	keys, values bool
}

func (r *hadamard) any() bool { return r.keys || r.values }

// leastBlock is the least that numeric.Hadamard takes.
const leastBlock = 16

// hadamardOf returns what is rotated for a model with heads of a size.
func (o *Options) hadamardOf(headSize int) hadamard {
	block := headSize & -headSize
	if o.Unrotated || !o.CachesInt4() || block < leastBlock {
		return hadamard{}
	}
	return hadamard{block, isInteger(o.CacheType), isInteger(o.ValueType())}
}

// ValueType returns the type of the values that are kept: CacheValueType, or CacheType without one.
func (o *Options) ValueType() kernel.DType {
	if o.CacheValueType == kernel.Float32 {
		return o.CacheType
	}
	return o.CacheValueType
}

func isInteger(t kernel.DType) bool { return t == kernel.Int8 || t == kernel.Int4 }

// CachesInt4 reports whether keys or values that are kept are Int4, to which Unrotated applies.
func (o *Options) CachesInt4() bool {
	return o.CacheType == kernel.Int4 || o.ValueType() == kernel.Int4
}

// rotateForCache rotates the queries and keys of some rows, and their values, as far as the
// cache wants that.
func (s *Session) rotateForCache(lo, hi int) error {
	c, r := &s.model.config, &s.model.hadamard
	first, end, width := 0, c.Heads+2*c.KVHeads, (c.Heads+2*c.KVHeads)*c.HeadSize
	if !r.keys {
		first = c.Heads + c.KVHeads
	}
	if !r.values {
		end = c.Heads + c.KVHeads
	}
	for row := lo; row < hi; row++ {
		if err := numeric.Hadamard(s.qkv[row*width+first*c.HeadSize:row*width+end*c.HeadSize], r.block, s.oneThread()); err != nil {
			return err
		}
	}
	return nil
}

// rotateBack rotates what attention has made of rotated values.
func (s *Session) rotateBack(x []float32) error {
	if !s.model.hadamard.values {
		return nil
	}
	return numeric.Hadamard(x, s.model.hadamard.block, s.model.options.Exec)
}
