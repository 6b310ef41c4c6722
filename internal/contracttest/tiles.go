package contracttest

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
)

// EmulateTiles adds tiers with a unit for tiles, which is one in Go, until the test ends: what cuts
// and packs rows for it runs on any CPU. The test fails if no call has used it.
func EmulateTiles(t testing.TB) {
	if _, unavailable := tier.Default(); unavailable != nil { // chosen before there are more
		t.Fatal(unavailable)
	}
	var calls atomic.Int64
	before, last := tier.Tiers, len(tier.Tiers)-1
	list := slices.Clone(before[:last])
	for i := range before {
		if before[i].Lacks() != "" || i > 0 && i < last {
			continue
		}
		x := before[i].Copy()
		x.Name += "+tiles"
		x.SkinnyRows = min(x.SkinnyRows, 4)
		if x.Widest() < ukernel.PanelStep {
			x.Widths = []int{8, 16, 32}
		}
		x.Amend = func(table any, _ int) {
			if unit, ok := table.(*ukernel.Unit); ok {
				unit.GemmTiles = func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool) {
					calls.Add(1)
					testutil.GemmTiles(c, ldc, a, lda, b, lanes, m, k, load)
				}
			}
		}
		list = append(list, *x)
	}
	tier.Tiers = append(list, before[last])
	t.Cleanup(func() {
		tier.Tiers = before
		if calls.Load() == 0 {
			t.Error("no call has used tiles")
		}
	})
}
