//go:build amd64 && !purego

package tier

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/attn-go/attn/asm"
)

// TileUnit says whether kernels use AMX, the unit for tiles of CPUs of Intel, or why not.
func TileUnit() string {
	if fault := tileFault(); fault != "" {
		return "AMX: " + fault
	}
	return "AMX: used"
}

// unusable tells whether kernels cannot use a feature: AMX needs more than a CPU that has it.
func unusable(feature string) bool {
	return lacks(feature) || strings.HasPrefix(feature, "AMX") && tileFault() != ""
}

// tileFault returns why kernels do not use AMX, "" if they do. The first call asks the operating
// system for permission, which lasts as long as the process, and tries the unit: a CPU or an
// emulator that gives other bits is not used.
var tileFault = sync.OnceValue(func() string {
	for _, f := range []string{"AMXTILE", "AMXINT8", "AMXBF16"} {
		switch {
		case slices.Contains(Off, f):
			return f + " is off by ATTN_FEATURES"
		case hostLacks(f):
			return "the CPU lacks " + f
		}
	}
	if fault := requestTiles(); fault != "" {
		return fault
	}
	var bytes func(c []int32, a, b []uint32)
	var bfloat16 func(c []float32, a, b []uint32)
	for i := range asm.Machine {
		if k := &asm.Machine[i].Kernels; k.TileInt8 != nil {
			bytes = k.TileInt8
		} else if k.TileBF16 != nil {
			bfloat16 = k.TileBF16
		}
	}
	return tryTiles(bytes, bfloat16)
})

// tryTiles returns what is wrong with the bits of a unit for tiles, "" if nothing is.
func tryTiles(bytes func(c []int32, a, b []uint32), bfloat16 func(c []float32, a, b []uint32)) string {
	a, b, ints, _ := tileNumbers(func(x uint32) uint32 { return x })
	want := slices.Clone(ints)
	bytes(ints, a, b)
	tileBytes(want, a, b)
	if !slices.Equal(ints, want) {
		return "not used, as its sums of products of int8 are wrong"
	}
	a, b, _, floats := tileNumbers(bfloat16Pair)
	sums := slices.Clone(floats)
	bfloat16(floats, a, b)
	tileBFloat16(sums, a, b)
	if !slices.Equal(floats, sums) {
		return "not used, as its sums of products of bfloat16 are in another order"
	}
	return ""
}

const tileSide = 16 // rows of a tile, and words of a row

// tileNumbers returns tiles of pseudo-random words, of which function of makes the multiplied ones
// and floats.
func tileNumbers(of func(uint32) uint32) (a, b []uint32, ints []int32, floats []float32) {
	state := uint64(1)
	next := func() uint32 {
		state = state*6364136223846793005 + 1442695040888963407
		return uint32(state >> 32)
	}
	for range tileSide * tileSide {
		a, b, ints = append(a, of(next())), append(b, of(next())), append(ints, int32(next()))
		floats = append(floats, math.Float32frombits(of(next())))
	}
	return a, b, ints, floats
}

// bfloat16Pair makes both halves of a word numbers from 2^-15 to 2^16 in magnitude, of any sign.
func bfloat16Pair(x uint32) uint32 {
	const exponents, least = 0x0f800f80, 112 << 7
	return x&(0x807f807f|exponents) + least<<16 + least
}

// tileBytes is ukernel.Machine.TileInt8.
func tileBytes(c []int32, a, b []uint32) {
	for i := range c {
		for g := range tileSide {
			x, y := a[i/tileSide*tileSide+g], b[g*tileSide+i%tileSide]
			for n := 0; n < 32; n += 8 {
				c[i] += int32(int8(x>>n)) * int32(int8(y>>n))
			}
		}
	}
}

// tileBFloat16 is ukernel.Machine.TileBF16. Products of bfloat16 are exact in float32, so an
// addition is the fma.
func tileBFloat16(c []float32, a, b []uint32) {
	for i := range c {
		var even, odd float32
		for g := range tileSide {
			x, y := a[i/tileSide*tileSide+g], b[g*tileSide+i%tileSide]
			even += math.Float32frombits(x<<16) * math.Float32frombits(y<<16)
			odd += math.Float32frombits(x&^0xffff) * math.Float32frombits(y&^0xffff)
		}
		c[i] += even + odd
	}
}
