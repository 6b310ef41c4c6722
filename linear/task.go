package linear

import (
	"math"

	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/quantized"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// interval is the half-open range [lo, hi).
type interval struct{ lo, hi int }

func (i interval) len() int { return i.hi - i.lo }

// share returns part i of n things that parts share as evenly as possible.
func share(n, parts, i int) interval {
	size, more := n/parts, n%parts
	lo := i*size + min(i, more)
	if i < more {
		size++
	}
	return interval{lo, lo + size}
}

// task computes a range of rows times a range of panels.
func (s *scratch) task(j *job, i int) {
	rows := share(j.out.rows, j.rowRanges, i/j.panelRanges)
	panels := share(j.linear.panels(), j.panelRanges, i%j.panelRanges)
	if c := j.conversion(); c != nil {
		s.convertedTask(j, c, rows, panels)
		return
	}
	if !j.inOrder {
		s.allSteps(j, rows, panels)
		return
	}
	for p := panels.lo; p < panels.hi; p++ {
		s.allSteps(j, rows, interval{p, p + 1})
	}
}

// allSteps computes a range of rows times some panels: all of them by one step, then by the next.
func (s *scratch) allSteps(j *job, rows, panels interval) {
	for k := 0; ; k += j.steps {
		steps := interval{k, min(k+j.steps, j.linear.depth())}
		x := s.rowsOf(j, rows, steps)
		for p := panels.lo; p < panels.hi; p++ {
			c, ldc := s.sums(j, rows, p, p-panels.lo, steps.lo == 0 && j.accumulate)
			s.multiply(j, x, p, steps, c, ldc, j.next(panels, p, steps))
			if steps.hi == j.linear.depth() {
				finish(j, rows, interval{p, p + 1}, c, ldc)
			}
		}
		if steps.hi == j.linear.depth() {
			return
		}
	}
}

// sums returns where the sums of the rows of panel p lie, and the distance of the rows. That is the
// output. It is scratch memory if sums are apart, or if the output has too few columns. Panel p is
// the i-th of those that are apart at a time. With load that memory gets what the output has.
func (s *scratch) sums(j *job, rows interval, p, i int, load bool) (c []float32, ldc int) {
	if !j.inPlace(p) {
		first, lanes := p*ukernel.PanelLanes, j.linear.panelWidth(p)
		c = s.edge
		if j.apart {
			c = c[i*ukernel.PanelLanes*rows.len():]
		}
		for r := 0; load && r < rows.len(); r++ {
			row := c[r*lanes:][:lanes]
			clear(row[copy(row, j.out.f32[(rows.lo+r)*j.out.rowStride+first:][:j.linear.n-first]):])
		}
		return c, lanes
	}
	return j.out.f32[rows.lo*j.out.rowStride+p*ukernel.PanelLanes:], j.out.rowStride
}

// inPlace tells whether the sums of panel p lie in the output.
func (j *job) inPlace(p int) bool {
	return p*ukernel.PanelLanes+j.linear.panelWidth(p) <= j.linear.n && !j.apart
}

// multiply adds some steps, in whole segments, of the rows x to the sums c of panel p. Kernels may
// prefetch next.
func (s *scratch) multiply(j *job, x stepRows, p int, steps interval, c []float32, ldc int, next []byte) {
	part := s.panelRows(j, p, steps, x.n)
	for lo := 0; lo < x.n; {
		m := ukernel.RowsPerCall(x.n-lo, ukernel.PanelLanes*steps.len())
		part.multiply(j.tier, c[lo*ldc:], ldc, x.f32[min(lo*x.rs, len(x.f32)):], x.rs, x.cs, m, steps.len(), steps.lo > 0 || j.accumulate, next)
		next = nil // it is prefetched
		lo += m
	}
}

// panelRows are some rows of a panel.
type panelRows struct {
	lanes  int
	ld     int // the distance of the rows of f32
	dtype  view.DType
	rounds bool                 // the product is in bfloat16
	packed ukernel.PackedFormat // of blocks
	f32    []float32            // of Float32
	u16    []uint16             // of another type
	pairs  []uint32             // of RoundBFloat16
	blocks []byte               // of quantized weights
	words  []uint32             // the same, unpacked
}

// panelRows returns some rows of panel p for n rows of x: as they lie, widened or packed.
func (s *scratch) panelRows(j *job, p int, steps interval, n int) panelRows {
	l := j.linear
	lanes := l.panelWidth(p)
	r := panelRows{lanes: lanes, ld: lanes, dtype: l.dtype, rounds: l.rounds}
	if l.format != 0 {
		s.blockRows(j, &r, l.stepBlocks(p, steps), steps)
		return r
	}
	if j.isProduct() {
		r.f32, r.ld = s.productRows(j, p, steps, n)
		return r
	}
	if l.rounds {
		s.pairRows(j, &r, l.stepPairs(p, steps), steps)
		return r
	}
	at, size := l.panelStart(p)+steps.lo*r.lanes, steps.len()*r.lanes
	if l.dtype == view.Float32 {
		r.f32 = l.f32[at : at+size]
		return r
	}
	r.u16 = l.u16[at : at+size]
	if !j.widens && r.lanes == ukernel.PanelLanes {
		return r // the kernel widens them in registers
	}
	j.tier.Convert().Widen[l.dtype](s.wide, 0, view.BytesOf(r.u16), 0, 1, size)
	r.dtype, r.f32 = view.Float32, s.wide[:size]
	return r
}

// blockRows sets r to the blocks of some rows of a panel of quantized weights: as they lie, or
// widened or unpacked.
func (s *scratch) blockRows(j *job, r *panelRows, blocks []byte, steps interval) {
	r.blocks, r.packed = blocks, j.linear.packed
	if !j.widens && r.lanes == ukernel.PanelLanes {
		return // the kernel widens them in registers
	}
	if j.unpacks && r.lanes == ukernel.PanelLanes {
		r.words = s.codes[:unpackedWords(r.lanes, steps.len())]
		j.tier.Weights().Blocks[r.packed].Unpack(r.words, r.blocks, r.lanes, steps.len())
		return
	}
	n := steps.len() * r.lanes
	j.tier.Weights().Blocks[r.packed].Widen(s.wide[:n], r.blocks, r.lanes, steps.len())
	r.blocks, r.f32 = nil, s.wide[:n]
}

// unpackedWords is the size of some steps of a panel, unpacked.
func unpackedWords(lanes, steps int) int {
	return ukernel.UnpackedRows * lanes * steps / ukernel.BlockSteps
}

// multiply adds the product of m rows of A with the k rows of the panel to c, or
// writes it if load is false.
func (r *panelRows) multiply(t *tier.Tier, c []float32, ldc int, a []float32, rs, cs, m, k int, load bool, next []byte) {
	switch {
	case r.lanes < ukernel.PanelLanes || r.rounds && r.pairs == nil:
		r.multiplyStrips(t, c, ldc, a, rs, cs, m, k, load)
	case r.pairs != nil:
		t.Weights().GemmPairs(c, ldc, a, rs, cs, r.pairs, r.lanes, m, k, load, next)
	case r.words != nil:
		t.Weights().GemmUnpacked(c, ldc, a, rs, cs, r.words, m, k, load, next)
	case r.blocks != nil:
		t.Weights().Blocks[r.packed].Gemm(c, ldc, a, rs, cs, r.blocks, m, k, load)
	case r.dtype == view.Float32:
		t.Weights().Gemm(c, ldc, a, rs, cs, r.f32, r.ld, m, k, load, next)
	case r.dtype == view.Float16:
		t.Weights().GemmF16(c, ldc, a, rs, cs, r.u16, r.lanes, m, k, load, next)
	case r.dtype == view.BFloat16:
		t.Weights().GemmBF16(c, ldc, a, rs, cs, r.u16, r.lanes, m, k, load, next)
	}
}

// multiplyStrips multiplies with a panel that is not whole, or for which there is no kernel, by
// query tile kernels of the fewest and most equal widths.
func (r *panelRows) multiplyStrips(t *tier.Tier, c []float32, ldc int, a []float32, rs, cs, m, k int, load bool) {
	for lane := 0; lane < r.lanes; {
		left := r.lanes - lane
		product, width := t.Products(ints.CeilDiv(left, ints.CeilDiv(left, t.Widest())))
		if b := r.f32[min(lane, len(r.f32)):]; r.rounds {
			product.GemmEvenOdd(c[lane:], ldc, a, rs, cs, b, r.ld, m, k, load)
		} else {
			product.Gemm(c[lane:], ldc, a, rs, cs, b, r.ld, m, k, ukernel.InputSegment, load)
		}
		lane += width
	}
}

// finish is the epilogue of the rows' columns c of some panels: bias and activation. It moves them
// to out if they are elsewhere.
func finish(j *job, rows, panels interval, c []float32, ldc int) {
	first := panels.lo * ukernel.PanelLanes
	lanes := min(panels.hi*ukernel.PanelLanes, j.linear.lanes()) - first
	n, to, ldt := min(lanes, j.linear.n-first), c, ldc
	if n == lanes && j.out.dtype == view.Float32 {
		to, ldt = j.out.f32[rows.lo*j.out.rowStride+first:], j.out.rowStride
	}
	bias := j.linear.bias[first : first+lanes]
	switch {
	case j.activation == nil:
		step := rows.len()
		if j.apart && j.collides() {
			step = movedRows
		}
		for i := 0; i < rows.len(); i += step {
			j.tier.Weights().AddBias(to[i*ldt:], ldt, c[i*ldc:], ldc, min(step, rows.len()-i), bias)
		}
	default:
		j.tier.Weights().AddBias(c, ldc, c, ldc, rows.len(), bias)
		j.activate(to, ldt, c, ldc, rows.len(), n)
	}
	if j.out.dtype == view.BFloat16 {
		all, at := c[:rows.len()*lanes], rows.lo*j.out.rowStride+first
		j.tier.Convert().RoundBF16(all, all) // with zeros for what is too small
		j.tier.Convert().Narrow[view.BFloat16](view.BytesOf(j.out.u16[at:]), 2*j.out.rowStride, c, ldc, rows.len(), n)
		return
	}
	if n < lanes {
		for i := range rows.len() {
			copy(j.out.f32[(rows.lo+i)*j.out.rowStride+first:][:n], c[i*lanes:])
		}
	}
}

// activate writes the activation of n columns of m rows c to dst, which may be c.
func (j *job) activate(dst []float32, ldd int, c []float32, ldc, m, n int) {
	if ldd == n && ldc == n { // rows without gaps
		j.activation(dst[:m*n], c[:m*n])
		return
	}
	for i := range m {
		j.activation(dst[i*ldd:][:n], c[i*ldc:][:n])
	}
}

// next returns the weights that follow in the order of [scratch.allSteps] on some steps of panel p,
// as they lie, to be prefetched. After the last steps of a range of panels, these are the first
// steps of the panel after it, which belong to the next task.
func (j *job) next(panels interval, p int, steps interval) []byte {
	l := j.linear
	switch {
	case j.isProduct():
		return nil // they are yet to be packed
	case p+1 < panels.hi:
		p++
	case steps.hi < l.depth():
		p, steps = panels.lo, interval{steps.hi, min(steps.hi+j.steps, l.depth())}
	case panels.hi < l.panels():
		p, steps = panels.hi, interval{0, min(j.steps, l.depth())}
	default:
		return nil
	}
	if l.format != 0 {
		return l.stepBlocks(p, steps)
	}
	if l.rounds {
		return view.BytesOf(l.stepPairs(p, steps))
	}
	at, n := l.panelStart(p)+steps.lo*l.panelWidth(p), steps.len()*l.panelWidth(p)
	if l.dtype == view.Float32 {
		return view.BytesOf(l.f32[at : at+n])
	}
	return view.BytesOf(l.u16[at : at+n])
}

// stepBlocks returns the blocks of some steps of panel p, in whole blocks, and from the start of a
// segment on.
func (l *Linear) stepBlocks(p int, steps interval) []byte {
	lanes := l.panelWidth(p)
	return l.panelBlocks(p)[l.packed.PanelBytes(lanes, steps.lo):l.packed.PanelBytes(lanes, steps.hi)]
}

// Quantized weights lie in blocks of 32 inputs. The last block of a layer may have fewer: zeros
// fill it, and rows of x are copied and end in as many -0. The product of both is -0, which changes
// no sum, not even a sum that is -0: the bits are as of a chain that ends at K. So do pairs of
// bfloat16, in segments of 32.

// depth is the number of rows of a packed panel: the inputs, in whole blocks.
func (l *Linear) depth() int {
	if l.format == 0 && !l.rounds {
		return l.k
	}
	return ints.RoundUp(l.k, ukernel.BlockSteps)
}

// hasTail tells whether the last block has fewer inputs.
func (l *Linear) hasTail() bool { return l.depth() != l.k }

// mayHaveTail tells whether layers of a format may have any number of inputs.
func (f Format) mayHaveTail() bool { return f == Q8_0 || f == Affine }

// packedAs tells whether layers of the format may be packed as p.
func (f Format) packedAs(p ukernel.PackedFormat) bool {
	if f == Affine {
		return quantized.AffineAs(p)
	}
	return p == f.row().Packed
}

// paddedRows copies the last steps of n rows, which begin at x.
func (s *scratch) paddedRows(j *job, x []float32, n int, steps interval) stepRows {
	ld := steps.len()
	for i := range n {
		j.copyRow(s.rows[i*ld:][:ld], x[i*j.x.rowStride:], j.linear.k-steps.lo)
	}
	return stepRows{s.rows, ld, 1, n}
}

// copyRow copies k numbers of a row, which begins at x, and fills dst with -0.
func (j *job) copyRow(dst, x []float32, k int) {
	if j.x.colStride == 1 {
		copy(dst[:k], x)
	} else {
		for i := range k {
			dst[i] = x[i*j.x.colStride]
		}
	}
	for i := k; i < len(dst); i++ {
		dst[i] = float32(math.Copysign(0, -1))
	}
}
