package contracttest

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
)

// emulated ends the name of a tier with an emulated unit.
const emulated = "+tiles"

// EmulateTiles adds a tier with a unit for tiles to each that runs here, until the test ends. The
// unit is one in Go, which allocates nothing: what cuts and packs rows for it runs on any CPU. The
// test fails if a tier has not used its GemmTiles. Under the race detector only the best tier has
// one, see EachTier.
func EmulateTiles(t testing.TB) { emulateTiles(t, false) }

// EmulateHalves is EmulateTiles for quantized attention, which uses ScoreHalves and GemmHalves
// instead.
func EmulateHalves(t testing.TB) { emulateTiles(t, true) }

// uses are calls of the functions of an emulated unit.
type uses struct{ tiles, scores, halves atomic.Int64 }

func emulateTiles(t testing.TB, halves bool) {
	if _, unavailable := tier.Default(); unavailable != nil { // chosen before there are more
		t.Fatal(unavailable)
	}
	calls := map[string]*uses{}
	before, last := tier.Tiers, len(tier.Tiers)-1
	list := slices.Clone(before[:last])
	for i := range before {
		if before[i].Lacks() != "" || testutil.Race && len(calls) > 0 {
			continue
		}
		x := before[i].Copy()
		x.Name += emulated
		n := new(uses)
		calls[x.Name] = n
		x.SkinnyRows, x.FarRows = min(x.SkinnyRows, 4), 0
		if x.Widest() < ukernel.PanelStep {
			x.Widths, x.MainLanes = []int{8, 16, 32}, 32
		} else if x.MainLanes%ukernel.PanelStep != 0 {
			x.MainLanes = ukernel.PanelStep // the unit takes whole steps
		}
		x.Amend = func(table any, _ int) {
			if lanes, ok := table.(*ukernel.LaneKernels); ok && halves {
				lanes.CodeScores = nil // which few rows would take
			}
			if unit, ok := table.(*ukernel.Unit); ok {
				unit.GemmTiles = func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool, next []byte) {
					n.tiles.Add(1)
					testutil.GemmTiles(c, ldc, a, lda, b, lanes, m, k, load, next)
				}
				unit.RoundHalves = testutil.RoundHalves
				unit.ScoreHalves = func(s []float32, a []uint16, lda int, first, other []uint32, scales []float32, lsc, m, k int, load bool, max []float32) {
					n.scores.Add(1)
					testutil.ScoreHalves(s, a, lda, first, other, scales, lsc, m, k, load, max)
				}
				unit.GemmHalves = func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool) {
					n.halves.Add(1)
					testutil.GemmHalves(c, ldc, a, lda, b, lanes, m, k, load)
				}
			}
		}
		list = append(list, *x)
	}
	tier.Tiers = append(list, before[last])
	t.Cleanup(func() {
		tier.Tiers = before
		for name, n := range calls {
			if !halves && n.tiles.Load() == 0 {
				t.Errorf("no call of tier %s has used GemmTiles", name)
			}
			if halves && (n.scores.Load() == 0 || n.halves.Load() == 0) {
				t.Errorf("tier %s has used ScoreHalves %d times and GemmHalves %d times", name, n.scores.Load(), n.halves.Load())
			}
		}
	})
}
