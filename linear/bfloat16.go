package linear

import (
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/elementwise"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// Products in bfloat16. A panel has [K/2][lanes] words of two weights, so that one load brings the
// even and the odd one, to kernels that widen them and to units for tiles alike. Rows of x are
// rounded to float32 in scratch memory, and continued with zeros up to whole segments, as the
// weights are.

// RoundBFloat16 packs weights and a bias as [New] does, for products in bfloat16: the weights, and
// the rows of x in each call, are rounded to the nearest bfloat16, to +0 if that is below 2^-56 in
// magnitude, before they are multiplied. Package contract has the text. Weights take 16 bits, and
// calls take about as long as with float32; on CPUs with a unit for tiles (AMX) they take less. A
// factor has an error of up to 2^-9 of it. The result has the same bits on every CPU.
//
// [Linear.Rows] has the rounded weights, and [Linear.DType] is BFloat16. exec and errors are as for
// New.
func RoundBFloat16(w Matrix, bias []float32, exec kernel.Exec) (*Linear, error) {
	t, err := elementwise.Begin("linear.RoundBFloat16", &exec, checkRound(&w, bias))
	if err != nil {
		return nil, err
	}
	if view.Races {
		w.announce(view.Read)
	}
	l := &Linear{n: w.rows, k: w.cols, dtype: view.BFloat16, rounds: true}
	l.pairs = hugepages.Share[uint32](l.lanes() * l.depth() / 2)
	l.eachPanel(t, &exec, func(p int) { l.packPairs(t, &w, p) })
	l.bias = l.paddedBias(bias)
	return l, nil
}

// checkRound reports the first argument of RoundBFloat16 that does not fit. Inputs fill whole
// segments.
func checkRound(w *Matrix, bias []float32) *check.Failure {
	if f := checkNew(w, bias); f != nil {
		return f
	}
	segments := ints.CeilDiv(w.cols, ukernel.BlockSteps)
	if size := ints.MulSat(ints.MulSat(ints.AddSat(w.rows, ukernel.PanelStep-1), segments), 2*ukernel.BlockSteps); !hugepages.Fits(size, 1) {
		return check.TooLarge("w", w.failure("w", "").Got)
	}
	return nil
}

// pairOf is the word of two numbers that are bfloat16.
func pairOf(even, odd float32) uint32 {
	return math.Float32bits(even)>>16 | math.Float32bits(odd)&0xffff0000
}

// packPairs rounds the weights of panel p.
func (l *Linear) packPairs(t *tier.Tier, w *Matrix, p int) {
	lanes := l.panelWidth(p)
	panel := l.pairs[l.panelStart(p):][:lanes*l.depth()/2]
	var row [ukernel.BlockSteps]float32
	for lane := range min(lanes, l.n-p*ukernel.PanelLanes) {
		for k := 0; k < l.k; k += len(row) {
			clear(row[:])
			for i := range min(len(row), l.k-k) {
				row[i] = w.float(p*ukernel.PanelLanes+lane, k+i)
			}
			t.Convert().RoundBF16(row[:], row[:])
			for i := 0; i < len(row); i += 2 {
				panel[(k+i)/2*lanes+lane] = pairOf(row[i], row[i+1])
			}
		}
	}
}

const (
	// roundedPanels is the most panels of a task: with fewer, rows are rounded more often.
	roundedPanels = 16

	// roundedBytes is the most that the rows of a task take if they are rounded once for all steps
	// and not by each of them.
	roundedBytes = 512 << 10
)

// roundedRows rounds some steps of rows of x, or all of them if there are few.
func (s *scratch) roundedRows(j *job, rows, steps interval) stepRows {
	all := steps
	if j.roundsOnce {
		all = interval{0, j.linear.depth()}
	}
	ld := all.len() + transposedGap
	if !j.roundsOnce || s.converted != rows {
		for i := range rows.len() {
			s.roundRow(j, s.rows[i*ld:][:all.len()], rows.lo+i, all)
		}
		s.converted = rows
	}
	return stepRows{s.rows[steps.lo-all.lo:], ld, 1, rows.len()}
}

// roundRow rounds some steps of row i of x. Those that x lacks are zeros.
func (s *scratch) roundRow(j *job, dst []float32, i int, steps interval) {
	at, n := i*j.x.rowStride+steps.lo*j.x.colStride, min(steps.hi, j.linear.k)-steps.lo
	clear(dst[n:])
	if n == 0 {
		return
	}
	dst = dst[:n]
	if j.x.colStride == 1 {
		rows.RoundBF16(j.tier, dst, j.x.f32[at:][:n])
		return
	}
	for k := range dst {
		dst[k] = j.x.f32[at+k*j.x.colStride]
	}
	rows.RoundBF16(j.tier, dst, dst)
}

// stepPairs returns the weights of some steps of panel p.
func (l *Linear) stepPairs(p int, steps interval) []uint32 {
	lanes := l.panelWidth(p)
	return l.pairs[l.panelStart(p)+steps.lo/2*lanes:][:steps.len()/2*lanes]
}

// pairRows sets r to some rows of a panel of pairs: as they lie, or widened.
func (s *scratch) pairRows(j *job, r *panelRows, pairs []uint32, steps interval) {
	if !j.widens && r.lanes == ukernel.PanelLanes && len(pairs) > 0 {
		r.pairs = pairs
		return
	}
	r.f32 = s.wide[:steps.len()*r.lanes]
	if n := steps.len() / 2; n > 0 {
		j.tier.Convert().WidenPairs(r.f32, r.f32[r.lanes:], 2*r.lanes, pairs, r.lanes, n, r.lanes)
	}
}
