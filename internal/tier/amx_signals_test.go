//go:build amd64 && !purego

package tier

import (
	"io"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// TestTilesKeepState: what interrupts a thread changes no tile: the signals of a profile at 1 kHz
// and of preemption, garbage collections, and threads that end. Every result is compared. Only
// hardware with AMX shows that.
func TestTilesKeepState(t *testing.T) {
	if tileFault() != "" {
		t.Skip("NOT RUN: whether tiles survive signals was not tested, as " + TileUnit())
	}
	var laid []string // kernels that use tiles
	for _, k := range Tiers[0].List() {
		if tileProducts[k.Name] != nil && slices.Contains(k.Needs, "AMXTILE") {
			laid = append(laid, k.Name)
		}
	}
	if len(laid) == 0 {
		t.Skip("NOT RUN: whether tiles survive signals was not tested, as no kernel of tier " + Tiers[0].Name + " uses them")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	runtime.SetCPUProfileRate(1000) // which StartCPUProfile then complains about, and keeps
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		defer pprof.StopCPUProfile()
	}
	length := 20 * time.Second
	if testing.Short() {
		length = time.Second
	}
	end := time.Now().Add(length)
	var wg sync.WaitGroup
	var calls, wrong atomic.Int64
	until := func(f func()) {
		wg.Go(func() {
			for time.Now().Before(end) {
				f()
			}
		})
	}
	until(runtime.GC)
	until(func() { // threads that end with their goroutines
		var threads sync.WaitGroup
		for range 4 {
			threads.Go(func() { runtime.LockOSThread(); time.Sleep(time.Millisecond) })
		}
		threads.Wait()
	})
	used, reference := Tiers[0].set(0), *ref
	reference.Unit.GemmTiles = testutil.GemmTiles // which package fallback lacks
	for g := range 4 * runtime.GOMAXPROCS(0) {
		product := tileProducts[laid[g%len(laid)]](testutil.Rand(g))
		var first []float32
		until(func() {
			if calls.Add(1); first == nil {
				first = product(&reference)
			}
			if !slices.Equal(product(used), first) {
				wrong.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("%d calls of %v, %d collections", calls.Load(), laid, gcs())
	if wrong.Load() != 0 {
		t.Errorf("%d of %d results are wrong", wrong.Load(), calls.Load())
	}
}

// tileProducts make calls of kernels that use tiles where there are some. Each call has the same
// arguments.
var tileProducts = map[string]func(r testutil.Rand) func(p *kernelSet) []float32{
	"Weights.Blocks.S8.GemmInt8": func(r testutil.Rand) func(p *kernelSet) []float32 {
		const m, k, lanes = 64, 384, ukernel.PanelLanes
		x, b := make([]uint32, m*k/32*ukernel.RowWords), make([]byte, ukernel.S8.BlockBytes(lanes)*k/32)
		for i := range x {
			x[i] = uint32(r.Uint64()) &^ 0xc0c0c0c0
		}
		for i := range b {
			b[i] = byte(r.Uint64()) &^ 0x40
		}
		return func(p *kernelSet) []float32 {
			c := make([]float32, m*lanes)
			p.Weights.Blocks[ukernel.S8].GemmInt8(c, lanes, x, k/32*ukernel.RowWords, b, lanes, m, k, false)
			return c
		}
	},
	"Unit.GemmTiles": func(r testutil.Rand) func(p *kernelSet) []float32 {
		const m, k, lanes = 64, 384, ukernel.PanelLanes
		number := func() uint16 { return scalar.ToBF16(r.Float32()) }
		x, b := make([]uint16, m*k), make([]uint32, k/2*lanes)
		for i := range x {
			x[i] = number()
		}
		for i := range b {
			b[i] = uint32(number()) | uint32(number())<<16
		}
		return func(p *kernelSet) []float32 {
			c := make([]float32, m*lanes)
			p.Unit.GemmTiles(c, lanes, x, k, b, lanes, m, k, false)
			return c
		}
	},
}

func gcs() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}
