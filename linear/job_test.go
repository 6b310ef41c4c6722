package linear

import (
	"math"
	"sync/atomic"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Parts are as even as possible and leave nothing out.
func TestShare(t *testing.T) {
	for n := range 40 {
		for parts := 1; parts < 12; parts++ {
			at := 0
			for i := range parts {
				p := share(n, parts, i)
				if p.lo != at || p.len() != n/parts && p.len() != ints.CeilDiv(n, parts) {
					t.Fatalf("part %d of %d of %d things is %v, after %d", i, parts, n, p, at)
				}
				at = p.hi
			}
			if at != n {
				t.Fatalf("%d parts of %d things end at %d", parts, n, at)
			}
		}
	}
}

// Kernels get whole segments of the contract, but for the last one: a sum of parts of a
// segment would have other bits. To widen as many steps takes one call, which must be short.
func TestStepsAreSegments(t *testing.T) {
	steps := map[string]int{"skinnySteps": skinnySteps}
	for i := range tier.Tiers {
		steps["WeightSteps of "+tier.Tiers[i].Name] = tier.Tiers[i].WeightSteps
	}
	for what, n := range steps {
		if n == 0 || n%ukernel.InputSegment != 0 || !ukernel.IsOneCall(ukernel.PanelLanes, n) {
			t.Errorf("%s: %d is no multiple of %d, or too many for one call", what, n, ukernel.InputSegment)
		}
	}
}

// No task is larger than the caches bear, no task is empty, and there are enough for the
// threads.
func TestPlan(t *testing.T) {
	eager := tier.Tiers[0]
	eager.ThreadFMAs = 1
	for _, m := range []int{1, 5, 47, 48, 49, 96, 320, 321, 1000, 5000} {
		for _, n := range []int{1, 48, 49, 500, 5000} {
			for _, option := range []int{1, 2, 3, 16} {
				limit := parallel.Limit(option)
				j := job{linear: &Linear{n: n, k: 64}, out: Matrix{rows: m, cols: n}}
				j.plan(&eager, option)
				panels := j.linear.panels()
				rowsOf, panelsOf := ints.CeilDiv(m, j.rowRanges), ints.CeilDiv(panels, j.panelRanges)
				if rowsOf > maxRows || panelsOf > maxPanels || j.rowRanges > m || j.panelRanges > panels {
					t.Errorf("[%d %d] limit=%d: %d ranges of rows, %d of panels", m, n, limit, j.rowRanges, j.panelRanges)
				}
				most := panels * ints.CeilDiv(m, minRows) // tasks
				if tasks := j.rowRanges * j.panelRanges; j.threads != min(limit, tasks) || limit > 1 && tasks < min(limit, most) {
					t.Errorf("[%d %d] limit=%d: %d threads for %d tasks", m, n, limit, j.threads, tasks)
				}
			}
		}
	}
}

// Converted rows are cut into as many ranges for each thread, if there are enough: it then converts
// its own alone.
func TestConvertedPlan(t *testing.T) {
	eager := tier.Tiers[0]
	eager.ThreadFMAs = 1
	for _, threads := range []int{2, 3} {
		for m, want := range map[int]int{1: 1, minRows*threads - 1: 1, minRows * threads: threads, 288 * threads: threads, 289 * threads: 2 * threads} {
			j := job{linear: &Linear{n: 5000, k: 64, format: Q8_0}, out: Matrix{rows: m, cols: 5000}, int8: true}
			if j.plan(&eager, threads); j.rowRanges != want {
				t.Errorf("%d threads: %d rows are %d ranges, want %d", threads, m, j.rowRanges, want)
			}
		}
	}
}

// Tiers whose kernels need the part of a panel in L1 get smaller blocks, which take one panel
// after the other as long as they stay small. Widened weights are worth larger ones.
func TestOrderedPlan(t *testing.T) {
	const m, n = 1000, 500
	for i := range tier.Tiers {
		tier := &tier.Tiers[i]
		plan := func(l Linear) (rowsOf int, inOrder bool) {
			j := job{linear: &l, out: Matrix{rows: m, cols: n}}
			j.plan(tier, 1)
			return ints.CeilDiv(m, j.rowRanges), j.inOrder
		}
		ordered := tier.WeightSteps == ukernel.InputSegment
		if rows, inOrder := plan(Linear{n: n, k: 2048}); ordered != (rows <= orderedRows) || inOrder != ordered {
			t.Errorf("%s: blocks of %d rows, in order: %v", tier.Name, rows, inOrder)
		}
		if rows, inOrder := plan(Linear{n: n, k: 4096}); ordered != (rows <= orderedRows) || inOrder {
			t.Errorf("%s, many inputs: blocks of %d rows, in order: %v", tier.Name, rows, inOrder)
		}
		if rows, inOrder := plan(Linear{n: n, k: 256, format: Q8_0, packed: Q8_0.row().Packed}); rows <= orderedRows || inOrder {
			t.Errorf("%s, widened: blocks of %d rows, in order: %v", tier.Name, rows, inOrder)
		}
	}
}

// Few rows multiply with quantized weights as they lie, or unpacked. For more rows they are widened
// before.
func TestQuantizedKernels(t *testing.T) {
	const n = 48
	for i := range tier.Tiers {
		tier := tier.Tiers[i].Copy()
		if tier.QuantizedRows < 1 {
			t.Errorf("%s: not even for one row", tier.Name)
		}
		var products, widenings, unpackings, unpacked int
		gemm := func([]float32, int, []float32, int, int, []byte, int, int, bool) { products++ }
		widen := func([]float32, []byte, int, int) { widenings++ }
		unpack := func([]uint32, []byte, int, int) { unpackings++ }
		gemmUnpacked := func([]float32, int, []float32, int, int, []uint32, int, int, bool, []byte) { unpacked++ }
		tier.ISAs = nil // it runs on every CPU
		tier.Amend = func(table any, _ int) {
			if w, ok := table.(*ukernel.WeightKernels); ok {
				for f := range w.Blocks {
					w.Blocks[f] = ukernel.BlockKernels{Gemm: gemm, Widen: widen, Unpack: unpack}
				}
				w.GemmUnpacked = gemmUnpacked
			}
		}
		for f := range Format(64) {
			k, bytes := f.Block()
			if k == 0 {
				continue
			}
			l, err := FromBlocks(f, make([]byte, n*bytes), n, k, nil, kernel.Exec{})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []int{1, max(1, tier.UnpackRows), tier.UnpackRows + 1, tier.QuantizedRows, tier.QuantizedRows + 1} {
				products, widenings, unpackings, unpacked = 0, 0, 0, 0
				j := newJob()
				j.linear, j.out, j.x = l, DenseMatrix(make([]float32, m*n), m, n), DenseMatrix(make([]float32, m*k), m, k)
				j.run(tier, &Options{})
				direct, unpacks := !l.packed.Unpacks() && m <= tier.QuantizedRows, l.packed.Unpacks() && m <= tier.UnpackRows
				if (products > 0) != direct || (unpackings > 0) != unpacks || unpacked != unpackings || (widenings > 0) != (!direct && !unpacks) {
					t.Errorf("%s, %v, %d rows: %d products, %d unpackings, %d products then and %d widenings", tier.Name, f, m, products, unpackings, unpacked, widenings)
				}
			}
		}
	}
}

// Kernels that unpack and the product of what they write need different features of a CPU. A tier
// that lacks the first widens.
func TestUnpackIsMissing(t *testing.T) {
	of, widened := tier.Reference().Copy(), 0
	of.UnpackRows = 4
	of.Amend = func(table any, _ int) {
		if w, ok := table.(*ukernel.WeightKernels); ok {
			w.Blocks[Q6_K.row().Packed].Widen = func([]float32, []byte, int, int) { widened++ }
			w.GemmUnpacked = func([]float32, int, []float32, int, int, []uint32, int, int, bool, []byte) {
				t.Error("a product of unpacked weights")
			}
		}
	}
	const n, k = 48, 256
	_, bytes := Q6_K.Block()
	l, err := FromBlocks(Q6_K, make([]byte, n*bytes), n, k, nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	j := newJob()
	j.linear, j.out, j.x = l, DenseMatrix(make([]float32, n), 1, n), DenseMatrix(make([]float32, k), 1, k)
	if j.run(of, &Options{}); widened == 0 {
		t.Error("weights are not widened")
	}
}

// TestLowerRows: weights of a grouped format with up to LowerRows rows of float32 take the kernels
// of the tier below with their steps, and the threads that the tier's own numbers say. No other
// product does, and none of a tier that a test amends.
func TestLowerRows(t *testing.T) {
	contracttest.AllowThreads(t)
	const n, most, threads = 500, 5, 3
	grouped, single := Linear{n: n, k: 256, format: Q6_K, packed: Q6_K.row().Packed}, Linear{n: n, k: 256, format: Q8_0, packed: Q8_0.row().Packed}
	ran := false
	for i := range tier.Tiers {
		of := tier.Tiers[i].Copy()
		lower := of.Lower()
		if lower == nil {
			continue
		}
		ran = true
		never, amended := of.Copy(), of.Copy()
		of.LowerRows, of.ThreadFMAs, of.WeightSteps = most, 1, 7*ukernel.InputSegment
		never.LowerRows = 0
		amended.LowerRows, amended.Amend = most, func(any, int) {}
		for _, c := range []struct {
			what   string
			tier   *tier.Tier
			linear *Linear
			m      int
			int8   bool
			lower  bool
		}{
			{"one row", of, &grouped, 1, false, true},
			{"most rows", of, &grouped, most, false, true},
			{"one row more", of, &grouped, most + 1, false, false},
			{"LowerRows=0", never, &grouped, 1, false, false},
			{"quantized rows", of, &grouped, 1, true, false},
			{"a format with one scale", of, &single, 1, false, false},
			{"float32", of, &Linear{n: n, k: 256}, 1, false, false},
			{"an amended tier", amended, &grouped, 1, false, false},
		} {
			j := job{linear: c.linear, out: Matrix{rows: c.m, cols: n}, int8: c.int8}
			j.plan(c.tier, threads)
			want := c.tier
			if c.lower {
				want = lower
			}
			if j.tier != want || c.lower && j.steps != lower.WeightSteps {
				t.Errorf("%s, %s: the kernels are those of %s with %d steps, want %s", c.tier.Name, c.what, j.tier.Name, j.steps, want.Name)
			}
			if c.lower && j.threads != threads {
				t.Errorf("%s, %s: %d threads, want %d", c.tier.Name, c.what, j.threads, threads)
			}
		}
	}
	if !ran {
		t.Skip("NOT RUN: no tier of this build is laid on another one with assembly")
	}
}

// A product of little work runs on one thread, even if workers spin.
func TestSmallWorkRunsOnOneThread(t *testing.T) {
	for i := range tier.Tiers {
		j := job{linear: &Linear{n: 16, k: 16}, out: Matrix{rows: 1, cols: 16}}
		if j.plan(&tier.Tiers[i], 8); j.threads != 1 {
			t.Errorf("%s: %d threads", tier.Tiers[i].Name, j.threads)
		}
	}
}

// Every thread computes a part: none starts a second task before all have one. The bits are as on
// one thread.
func TestThreadsShareTheWork(t *testing.T) {
	const m, n, k, threads = 100, 100, 150, 3
	tier, unavailable := tier.Default()
	if unavailable != nil {
		t.Fatal(unavailable)
	}
	eager := *tier
	eager.ThreadFMAs = 1
	w, x := testutil.Floats(n*k), testutil.Floats(m*k)
	for _, dtype := range []view.DType{view.Float32, view.Float16, view.BFloat16} {
		weights := DenseMatrix(w, n, k)
		if dtype != view.Float32 {
			weights.f32, weights.dtype, weights.u16 = nil, dtype, make([]uint16, n*k)
			for i := range weights.u16 { // finite in both formats
				weights.u16[i] = uint16(math.Float32bits(w[i])>>16) &^ 0x4000
			}
		}
		l, err := New(weights, nil, kernel.Exec{})
		if err != nil {
			t.Fatal(err)
		}
		want, got := make([]float32, m*n), make([]float32, m*n)
		var opts Options
		opts.Threads = 1
		if err := l.Apply(DenseMatrix(want, m, n), DenseMatrix(x, m, k), opts); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			clear(got)
			var first atomic.Int32
			all := testutil.NewBarrier(threads)
			j := new(job)
			j.goroutines.Init(&scratches, func(s *scratch) { s.fit(j) }, func(s *scratch, i int) {
				if first.Add(1) <= threads {
					all.Wait() // so whoever has a task does not take another one
				}
				s.task(j, i)
			})
			j.linear, j.out, j.x = l, DenseMatrix(got, m, n), DenseMatrix(x, m, k)
			opts.Threads = threads
			j.run(&eager, &opts)
			if j.threads != threads {
				t.Fatalf("%d threads, want %d", j.threads, threads)
			}
			testutil.CheckBits(t, dtype.String(), got, want)
		}
	}
}
