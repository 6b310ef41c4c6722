//go:build amd64 && !purego

package tier

import (
	"io"
	"math"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attn-go/attn/asm"
	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// TestTilesKeepState: what interrupts a thread changes no tile: the signals of a profile at 1 kHz
// and of preemption, garbage collections, and threads that end. Every result is compared. Only
// hardware with AMX shows that.
func TestTilesKeepState(t *testing.T) {
	if tileFault() != "" {
		t.Skip("NOT RUN: whether tiles survive signals was not tested, as " + TileUnit())
	}
	var laid []string // kernels that use tiles
	products := tileProducts()
	for _, k := range Tiers[0].List() {
		if slices.Contains(k.Needs, "AMXTILE") {
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
	used, reference := Tiers[0].set(0), tileReference()
	for g := range max(len(laid), 4*runtime.GOMAXPROCS(0)) {
		product := products[laid[g%len(laid)]](testutil.Rand(g))
		var first []float32
		until(func() {
			if calls.Add(1); first == nil {
				first = product(reference)
			}
			if !slices.EqualFunc(product(used), first, sameNumber) {
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

// tileReference is ref with the products that package fallback lacks.
func tileReference() *kernelSet {
	reference := *ref
	reference.Unit = referenceUnit(ref.Unit)
	return &reference
}

// TestTileProducts: each kernel that needs tiles has a product for TestTilesKeepState, whose
// numbers are of some use: tier generic and the best tier, with tiles or without, give the same.
func TestTileProducts(t *testing.T) {
	products := tileProducts()
	used, reference := Tiers[0].set(0), tileReference()
	if used.Unit.GemmTiles == nil {
		used.Unit = reference.Unit
	}
	for _, name := range slices.Concat(needTiles("Weights", asm.Weights), needTiles("Unit", asm.Unit)) {
		if products[name] == nil {
			t.Errorf("%s: no product", name)
			continue
		}
		product, numbers := products[name](testutil.Rand(1)), 0
		want := product(reference)
		for _, x := range want {
			if x != 0 && !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) {
				numbers++
			}
		}
		if 2*numbers < len(want) {
			t.Errorf("%s: %d of %d results are numbers, and not 0", name, numbers, len(want))
		}
		for range 2 {
			if !slices.EqualFunc(product(used), want, sameNumber) {
				t.Errorf("%s: the calls differ", name)
			}
		}
	}
}

// needTiles lists the kernels of a table that need tiles, on any CPU.
func needTiles[T any](table string, overrides []ukernel.Override[T]) (names []string) {
	for _, o := range overrides {
		if !slices.Contains(o.Needs, "AMXTILE") {
			continue
		}
		eachKernel(table, reflect.ValueOf(o.Kernels), func(name string, _ []int, k reflect.Value) {
			if !k.IsNil() {
				names = append(names, name)
			}
		})
	}
	return names
}

// sameNumber tells whether numbers have the same bits, or are both NaN.
func sameNumber(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

// A tileProduct makes the same call of a kernel that uses tiles, where there are some, each time.
type tileProduct = func(r testutil.Rand) func(p *kernelSet) []float32

// tileProducts are products of all kernels that may use tiles, and others.
func tileProducts() map[string]tileProduct {
	products := map[string]tileProduct{
		"Unit.GemmTiles": unitProduct(1, func(p *kernelSet) unitKernel {
			return func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool) {
				p.Unit.GemmTiles(c, ldc, a, lda, b, lanes, m, k, load, view.BytesOf(b))
			}
		}),
		"Unit.GemmHalves": unitProduct(2, func(p *kernelSet) unitKernel { return p.Unit.GemmHalves }),
		"Unit.ScoreHalves": unitProduct(2, func(p *kernelSet) unitKernel {
			return func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, _ int, load bool) {
				const k = contract.ColumnSegment
				p.Unit.ScoreHalves(c, a, lda, b, b[k/2*lanes:], testutil.Filled(m, 3), 1, m, k, load, make([]float32, lanes))
			}
		}),
	}
	for f := range ukernel.PackedFormat(ukernel.PackedFormats) {
		products["Weights.Blocks."+f.String()+".GemmInt8"] = int8Product(f)
	}
	return products
}

func int8Product(f ukernel.PackedFormat) tileProduct {
	return func(r testutil.Rand) func(p *kernelSet) []float32 {
		const m, k, lanes = 64, 384, ukernel.PanelLanes
		const ldx = k / ukernel.BlockSteps * ukernel.RowWords
		x, c := make([]uint32, m*ldx), int8Case{format: f, scales: testutil.Mantissas}
		for row := range slices.Chunk(x, ukernel.RowWords) {
			c.row(&r, row)
		}
		b := randomBlocks(newArena(), &r, f, c.scales, lanes, k)
		return func(p *kernelSet) []float32 {
			c := make([]float32, m*lanes)
			p.Weights.Blocks[f].GemmInt8(c, lanes, x, ldx, b, lanes, m, k, false)
			return c
		}
	}
}

// A unitKernel is a kernel of ukernel.Unit.
type unitKernel = func(c []float32, ldc int, a []uint16, lda int, b []uint32, lanes, m, k int, load bool)

// unitProduct returns a product with so many numbers of B for each of A.
func unitProduct(parts int, kernel func(p *kernelSet) unitKernel) tileProduct {
	return func(r testutil.Rand) func(p *kernelSet) []float32 {
		const m, k, lanes = 64, 384, ukernel.PanelLanes
		number := func() uint16 { return scalar.ToBF16(r.Float32()) }
		x, b := make([]uint16, m*k), make([]uint32, parts*k/2*lanes)
		for i := range x {
			x[i] = number()
		}
		for i := range b {
			b[i] = uint32(number()) | uint32(number())<<16
		}
		return func(p *kernelSet) []float32 {
			c := make([]float32, m*lanes)
			kernel(p)(c, lanes, x, k, b, lanes, m, k, false)
			return c
		}
	}
}

func gcs() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}
