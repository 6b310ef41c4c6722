package harness

import (
	"math"
	"testing"

	numeric "github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/gen/prove/equal"
	"github.com/attn-go/attn/gen/prove/expr"
)

// TestExtremes tries what is supposed of the extremes of a group, for all groups of up to four
// numbers that the order of their magnitudes tells apart: each is 0, one of four small ones, one of
// four others, infinite or NaN, with both signs.
func TestExtremes(t *testing.T) {
	var values []uint64
	for _, magnitude := range []uint64{0, 1, 2, 0x800000, numeric.LeastInt4 - 1, numeric.LeastInt4, 0x3f800000, 0x40000000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000} {
		values = append(values, magnitude, magnitude|1<<31)
	}
	for size := 1; size <= 4; size++ {
		extremesOfAll(t, values, size)
	}
}

func extremesOfAll(t *testing.T, values []uint64, size int) {
	t.Helper()
	g := expr.New()
	var group []*expr.Node
	for i := range size {
		group = append(group, g.Sym(32, string(rune('a'+i))))
	}
	far, any := g.Sym(32, "far"), g.Sym(1, "any")
	e := extremesOf(g, group)
	isSmall := small(g, e.largest)
	roots := []*expr.Node{e.finite, e.finite0, isSmall}
	var pairs [][2]*expr.Node
	for found, supposed := range e.given(g, far, any) {
		pairs = append(pairs, [2]*expr.Node{found, g.Copy(supposed, map[*expr.Node]*expr.Node{far: e.far, any: found})})
	}
	for _, p := range pairs {
		roots = append(roots, p[0], p[1])
	}
	batch := len(values)
	p, err := expr.Compile(batch, group, nil, roots...)
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for n := range int(math.Pow(float64(batch), float64(size-1))) {
		for i, x := range group {
			for k := range batch {
				p.Values(x)[k] = values[n%batch]
			}
			if n /= batch; i == size-1 {
				copy(p.Values(x), values)
			}
		}
		p.Run()
		for k := range batch {
			wrong := p.Values(e.finite)[k] != p.Values(e.finite0)[k]
			if p.Values(e.finite)[k] == 1 {
				for _, q := range pairs {
					wrong = wrong || p.Values(q[0])[k] != p.Values(q[1])[k]
				}
				for _, x := range group {
					wrong = wrong || p.Values(isSmall)[k] == 1 && !equal.Tiny.Has(p.Values(x)[k])
				}
			}
			if wrong {
				differ++
				for _, x := range group {
					t.Logf("%v is %#x", x, p.Values(x)[k])
				}
			}
		}
		if differ > 0 {
			t.Fatalf("the extremes of %d numbers are others", size)
		}
	}
}
