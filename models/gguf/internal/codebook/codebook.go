// Package codebook converts blocks of the types of GGUF files whose numbers are rows of a codebook,
// and of types with three values. Their blocks of 256 weights are described in
// ggml/src/ggml-common.h of github.com/ggml-org/llama.cpp, and their weights in ggml-quants.c
// there. Every product is exact in float32.
package codebook

import (
	_ "embed"
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/attn-go/attn/kernel"
)

// Weights is the number of weights of a block.
const Weights = 256

// A grid is a codebook: rows of numbers that stand for the integers of a block.
type grid struct {
	first, rows int // in grids
	values      []int8
}

// The codebooks. Rows of 8 numbers have 2 bits for each, and rows of 4 numbers 4 bits.
var (
	grid2XXS = grid{0, 256, []int8{8, 25, 43, 0}}
	grid2XS  = grid{256, 512, grid2XXS.values}
	grid2S   = grid{768, 1024, grid2XXS.values}
	grid3XXS = grid{1792, 256, []int8{4, 12, 20, 28, 36, 44, 52, 62, 0, 0, 0, 0, 0, 0, 0, 0}}
	grid3S   = grid{2048, 512, []int8{1, 3, 5, 7, 9, 11, 13, 15, 0, 0, 0, 0, 0, 0, 0, 0}}
	grid1S   = grid{2560, 2048, []int8{-8, 0, 8, 0}} // 8 times what ggml has, which adds or subtracts 1/8
)

//go:embed grids.bin
var grids []byte

// numbers has the rows of all grids, of up to 8 numbers each.
var numbers = sync.OnceValue(func() [][8]int8 {
	all := make([][8]int8, len(grids)/2)
	for _, g := range []grid{grid2XXS, grid2XS, grid2S, grid3XXS, grid3S, grid1S} {
		width := bits.Len(uint(len(g.values) - 1))
		for row := g.first; row < g.first+g.rows; row++ {
			x := binary.LittleEndian.Uint16(grids[2*row:])
			for i := range 16 / width {
				all[row][i] = g.values[x>>(i*width)&(1<<width-1)]
			}
		}
	}
	return all
})

// A block is numbers of weights, and a scale for each 16 of them: a weight is their product.
type block struct {
	q     [Weights]int8
	scale [Weights / 16]float32
}

// widen writes the weights.
func (x *block) widen(dst []float32) {
	for i, q := range x.q {
		dst[i] = float32(x.scale[i/16] * float32(q))
	}
}

// eight sets 8 numbers to a row of a grid, or to two of 4 numbers. Set bits of signs mark negative
// ones.
func (x *block) eight(at int, g *grid, row, second int, signs uint8) {
	all := numbers()
	q := all[g.first+row]
	if len(g.values) > 4 {
		copy(q[4:], all[g.first+second][:4])
	}
	for i, y := range q {
		if signs>>i&1 != 0 {
			y = -y
		}
		x.q[8*at+i] = y
	}
}

// even returns signs of which the last one makes the number of negative ones even.
func even(signs uint32) uint8 {
	s := uint8(signs & 127)
	return s | uint8(bits.OnesCount8(s)&1)<<7
}

// part sets the scale of some weights, as many as there are parts.
func (x *block) part(i, parts int, scale float32) {
	n := len(x.scale) / parts
	for j := range n {
		x.scale[i*n+j] = scale
	}
}

func half(b []byte) float32 { return kernel.F16(binary.LittleEndian.Uint16(b)).Float32() }

// nibble returns number i of 4 bits.
func nibble(b []byte, i int) float32 { return float32(b[i/2] >> (i % 2 * 4) & 15) }
