package wire

import (
	"fmt"

	"github.com/attn-go/attn/kernel"
)

// BlockKeys is the number of keys of a block, by the numeric contract.
const BlockKeys = 256

// Limits of a geometry, so that no product of its numbers overflows. MaxHeads bounds query heads
// too.
const (
	MaxHeads    = 1 << 12
	maxHeadSize = 1 << 14
	maxBlock    = 1 << 30 // bytes of a block
)

// Geometry is the form of the keys and values of a sequence.
type Geometry struct {
	Type      kernel.DType
	Heads     int // key heads
	KeySize   int // head size of the keys
	ValueSize int // head size of the values
	Group     int // Int8: neighbours in a row that share a scale; other types: 0
}

// Check returns what is wrong with the geometry, or "".
func (g *Geometry) Check() string {
	switch {
	case g.Type > kernel.Int8:
		return fmt.Sprintf("element type %d does not exist", g.Type)
	case g.Heads < 1 || g.Heads > MaxHeads:
		return fmt.Sprintf("%d heads, want 1 to %d", g.Heads, MaxHeads)
	case min(g.KeySize, g.ValueSize) < 1 || max(g.KeySize, g.ValueSize) > maxHeadSize:
		return fmt.Sprintf("head sizes %d and %d, want 1 to %d", g.KeySize, g.ValueSize, maxHeadSize)
	case g.Type != kernel.Int8 && g.Group != 0:
		return fmt.Sprintf("groups of %d in %v, want none", g.Group, g.Type)
	case g.Type == kernel.Int8 && (g.Group < 1 || g.KeySize%g.Group != 0 || g.ValueSize%g.Group != 0):
		return fmt.Sprintf("groups of %d, want a divisor of the head sizes %d and %d", g.Group, g.KeySize, g.ValueSize)
	case int64(g.headBytes())*int64(g.Heads)*BlockKeys > maxBlock:
		return fmt.Sprintf("a block of more than %d bytes", maxBlock)
	}
	return ""
}

// Scales returns the numbers of scales of a row of keys and of a row of values in one head.
func (g *Geometry) Scales() (key, value int) {
	if g.Type != kernel.Int8 {
		return 0, 0
	}
	return g.KeySize / g.Group, g.ValueSize / g.Group
}

// RowBytes returns the bytes of a key and a value of all heads, with their scales.
func (g *Geometry) RowBytes() int { return g.Heads * g.headBytes() }

// headBytes returns the part of RowBytes that one head takes.
func (g *Geometry) headBytes() int {
	key, value := g.Scales()
	return (g.KeySize+g.ValueSize)*Size(g.Type) + (key+value)*4
}

// Size returns the number of bytes of an element.
func Size(t kernel.DType) int { return [...]int{4, 2, 2, 1}[t] }
