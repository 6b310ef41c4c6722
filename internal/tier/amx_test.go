//go:build amd64 && !purego

package tier

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestTryTiles: a unit for tiles with other bits than those that kernels rely on is found, whatever
// it does.
func TestTryTiles(t *testing.T) {
	if fault := tryTiles(tileBytes, tileBFloat16); fault != "" {
		t.Error(fault)
	}
	saturated := func(c []int32, a, b []uint32) {
		tileBytes(c, a, b)
		for i := range c {
			c[i] = min(c[i], math.MaxInt16)
		}
	}
	unsigned := func(c []int32, a, b []uint32) {
		for i := range c {
			for g := range tileSide {
				for n := 0; n < 32; n += 8 {
					c[i] += int32(uint8(a[i/tileSide*tileSide+g]>>n)) * int32(int8(b[g*tileSide+i%tileSide]>>n))
				}
			}
		}
	}
	for i, bytes := range []func(c []int32, a, b []uint32){saturated, unsigned, func([]int32, []uint32, []uint32) {}} {
		if tryTiles(bytes, tileBFloat16) == "" {
			t.Errorf("sums of integers %d go unnoticed", i)
		}
	}
	type pairs [tileSide][2]float32 // products
	for name, add := range map[string]func(c float32, p *pairs) float32{
		"one chain": func(c float32, p *pairs) float32 {
			for _, x := range p {
				c = c + x[0] + x[1]
			}
			return c
		},
		"pairs": func(c float32, p *pairs) float32 {
			for _, x := range p {
				c += x[0] + x[1]
			}
			return c
		},
		"chains from c": func(c float32, p *pairs) float32 {
			odd := float32(0)
			for _, x := range p {
				c, odd = c+x[0], odd+x[1]
			}
			return c + odd
		},
		"c before the odd chain": func(c float32, p *pairs) float32 {
			even, odd := float32(0), float32(0)
			for _, x := range p {
				even, odd = even+x[0], odd+x[1]
			}
			return c + even + odd
		},
		"chains of halves": func(c float32, p *pairs) float32 {
			low, high := float32(0), float32(0)
			for i, x := range p {
				if i < tileSide/2 {
					low = low + x[0] + x[1]
				} else {
					high = high + x[0] + x[1]
				}
			}
			return c + (low + high)
		},
		"exact": func(c float32, p *pairs) float32 {
			sum := float64(c)
			for _, x := range p {
				sum += float64(x[0]) + float64(x[1])
			}
			return float32(sum)
		},
	} {
		bfloat16 := func(c []float32, a, b []uint32) {
			for i := range c {
				var p pairs
				for g := range p {
					x, y := a[i/tileSide*tileSide+g], b[g*tileSide+i%tileSide]
					p[g] = [2]float32{math.Float32frombits(x<<16) * math.Float32frombits(y<<16), math.Float32frombits(x&^0xffff) * math.Float32frombits(y&^0xffff)}
				}
				c[i] = add(c[i], &p)
			}
		}
		if tryTiles(tileBytes, bfloat16) == "" {
			t.Errorf("%s: goes unnoticed", name)
		}
	}
}

// TestTileUnit: features of AMX that are off, or that the CPU lacks, are named, and no kernel needs
// them then.
func TestTileUnit(t *testing.T) {
	fault := tileFault()
	t.Log(TileUnit())
	for _, tier := range archTiers() {
		for _, k := range tier.List() {
			for _, f := range k.Needs {
				if fault != "" && strings.HasPrefix(f, "AMX") {
					t.Errorf("%s of %s needs %s, but AMX: %s", k.Name, tier.Name, f, fault)
				}
			}
		}
	}
	if hostLacks("AMXTILE") && fault != "the CPU lacks AMXTILE" && !slices.Contains(Off, "AMXTILE") {
		t.Errorf("AMX: %s, on a CPU without", fault)
	}
}
