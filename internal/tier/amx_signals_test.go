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

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
)

// TestTilesKeepState: what interrupts a thread changes no tile: the signals of a profile at 1 kHz and of preemption,
// garbage collections, and threads that end. Every result is compared. Only hardware with AMX shows that.
func TestTilesKeepState(t *testing.T) {
	if tileFault() != "" {
		t.Skip("NOT RUN: whether tiles survive signals was not tested, as " + TileUnit())
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
	product := Tiers[0].Weights().Blocks[ukernel.S8].GemmInt8
	for g := range 4 * runtime.GOMAXPROCS(0) {
		const m, k, lanes = 64, 384, ukernel.PanelLanes
		r := testutil.Rand(g)
		x, b := make([]uint32, m*k/32*ukernel.RowWords), make([]byte, ukernel.S8.BlockBytes(lanes)*k/32)
		var first []float32
		until(func() {
			if calls.Add(1); first == nil {
				for i := range x {
					x[i] = uint32(r.Uint64()) &^ 0xc0c0c0c0
				}
				for i := range b {
					b[i] = byte(r.Uint64()) &^ 0x40
				}
			}
			c := make([]float32, m*lanes)
			product(c, lanes, x, k/32*ukernel.RowWords, b, lanes, m, k, false)
			if first == nil {
				first = make([]float32, len(c))
				inGo.Weights().Blocks[ukernel.S8].GemmInt8(first, lanes, x, k/32*ukernel.RowWords, b, lanes, m, k, false)
			}
			if !slices.Equal(c, first) {
				wrong.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("%d calls, %d collections", calls.Load(), gcs())
	if wrong.Load() != 0 {
		t.Errorf("%d of %d results are wrong", wrong.Load(), calls.Load())
	}
}

func gcs() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}
