package decoder

import (
	"github.com/attn-go/attn/kernel"
	engine "github.com/attn-go/attn/models/internal/network"
)

// leastBlock is the least that numeric.Hadamard takes.
const leastBlock = 16

// hadamardOf returns what is rotated for a model with heads of a size, whose first elements are values, too, if inKeys is not 0.
func (o *Options) hadamardOf(headSize, inKeys int) engine.Hadamard {
	block := (headSize | inKeys) & -(headSize | inKeys)
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
