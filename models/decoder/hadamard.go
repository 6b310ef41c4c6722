package decoder

import (
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	engine "github.com/attn-go/attn/models/internal/network"
)

// leastBlock is the least that numeric.Hadamard takes.
const leastBlock = 16

// hadamardOf returns what is rotated for a model with caches, in blocks that divide the heads of
// all: also values that are the first elements of keys.
func (o *Options) hadamardOf(all []kvcache.Config) engine.Hadamard {
	sizes := 0
	for _, c := range all {
		sizes |= c.HeadSize | c.ValueSize
	}
	block := sizes & -sizes
	if o.Unrotated || !o.CachesInt4() || block < leastBlock {
		return engine.Hadamard{}
	}
	return engine.Hadamard{Block: block, Keys: isInteger(o.CacheType), Values: isInteger(o.ValueType())}
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
