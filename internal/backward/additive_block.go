package backward

import (
	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

const (
	// queryBlock is the number of queries whose contributions to keys and values are summed up
	// before they are added.
	queryBlock = 256

	// pvLanes is how many keys a product with V of few queries takes at a time.
	pvLanes = 48

	// tanhFloats is how many tanh a call of the kernel computes: less than 50 µs.
	tanhFloats = 8 << 10

	// sumFloats is how many sums a call of the kernel adds to gradients: less than 50 µs.
	sumFloats = 64 << 10
)

// An additiveScratch is the memory of one goroutine.
type additiveScratch struct {
	floats []float32
	off    [ukernel.MaxLanes]int
	tops   [ukernel.MaxLanes]float32 // largest products, which nobody needs
	keys   [engine.BlockKeys]int     // that a query sees in a block
	seen   []bool                    // the keys that a query of the block sees

	visible mask.Span // from the first of them to the last

	p, dp, panel        []float32 // weights of a block of queries; their gradients [keys][lanes]; dout, packed
	dout                []float32 // of the block, as it counts
	x                   []float32 // gradients of the scores of a block of keys
	sumsK, sumsV        []float32
	sumsW, rowQ, rowW   []float32
	partQ, partW        []float32 // of a block of keys
	usage, seenUsage    parallel.Usage
	memory              parallel.Memory
	ldp                 int
	tile                *ukernel.TileKernels
	batch, head, kvHead int // of the block of queries
}

// fit makes the scratch large enough.
func (s *additiveScratch) fit(a *Additive) {
	d, dv, keys := a.d(), a.dv(), a.K.Dim(2)
	block := min(queryBlock, a.Q.Dim(2))
	s.tile = a.tier.Tile(min(block, a.tier.MainLanes))
	s.ldp = (keys + 3) &^ 3
	parts := [...]struct {
		s *[]float32
		n int
	}{
		{&s.p, block * s.ldp}, {&s.dp, keys * s.tile.Lanes}, {&s.panel, dv * s.tile.Lanes}, {&s.dout, block * dv},
		{&s.x, engine.BlockKeys}, {&s.sumsK, keys * d}, {&s.sumsV, pvLanes * dv},
		{&s.sumsW, d}, {&s.rowQ, d}, {&s.rowW, d}, {&s.partQ, d}, {&s.partW, d},
	}
	n := 0
	for _, p := range parts {
		n += p.n
	}
	parallel.Fit(&s.memory, &s.usage, &s.floats, n, parallel.Make[float32])
	parallel.Fit(&s.memory, &s.seenUsage, &s.seen, keys, parallel.Make[bool])
	at := 0
	for _, p := range parts {
		*p.s, at = s.floats[at:at+p.n:at+p.n], at+p.n
	}
}

// kv computes a KV head.
func (s *additiveScratch) kv(a *Additive, batch, kvHead int) {
	s.batch, s.kvHead = batch, kvHead
	for _, g := range [...]*view.Tensor{&a.DK, &a.DV} {
		for j := 0; g.IsSet() && j < g.Dim(2); j++ {
			rows.Start(g.Row(batch, kvHead, j), a.Accumulate)
		}
	}
	group, queries := a.Q.Dim(1)/a.K.Dim(1), a.Q.Dim(2)
	for s.head = kvHead * group; s.head < (kvHead+1)*group; s.head++ {
		for lo := 0; lo < queries; lo += queryBlock {
			s.block(a, lo, min(queryBlock, queries-lo))
		}
	}
}

// block computes n queries, from lo on.
func (s *additiveScratch) block(a *Additive, lo, n int) {
	s.takeWeights(a, lo, n)
	dv := a.dv()
	rows.FlushBelow(a.tier, s.dout, dv, a.DOut.Rows(s.batch, s.head, lo, n), a.DOut.Stride(2), n, dv, scalar.LeastGradient)
	if a.DV.IsSet() {
		s.values(a, n)
	}
	if !a.scores() {
		return
	}
	clear(s.sumsK[s.visible.Lo*a.d() : s.visible.Hi*a.d()])
	clear(s.sumsW)
	for i := 0; i < n; i += s.tile.Lanes {
		m := min(s.tile.Lanes, n-i)
		s.products(a, i, m)
		for lane := range m {
			s.queryRow(a, lo+i+lane, s.p[(i+lane)*s.ldp:], lane)
		}
	}
	s.finish(a)
}

// takeWeights copies the weights of n queries, from lo on, and finds which keys they see.
func (s *additiveScratch) takeWeights(a *Additive, lo, n int) {
	keys := a.K.Dim(2)
	clear(s.seen[:keys])
	for i := range n {
		row := s.p[i*s.ldp:][:s.ldp]
		clear(row[copy(row, a.P.Row(s.batch, s.head, lo+i)):])
		for j, p := range row[:keys] {
			if p != 0 {
				s.seen[j] = true
			}
		}
	}
	s.visible = mask.Span{Lo: 0, Hi: keys}
	for s.visible.Lo < keys && !s.seen[s.visible.Lo] {
		s.visible.Lo++
	}
	for s.visible.Hi > s.visible.Lo && !s.seen[s.visible.Hi-1] {
		s.visible.Hi--
	}
}

// seenFrom returns how many keys from j on follow each other that a query of the block sees, at
// most most or 1.
func (s *additiveScratch) seenFrom(j, most int) int {
	n := 0
	for n < max(most, 1) && j+n < s.visible.Hi && s.seen[j+n] {
		n++
	}
	return n
}

// values adds the products of the weights of a block of n queries and dout to the gradients
// of the values.
func (s *additiveScratch) values(a *Additive, n int) {
	dv := a.dv()
	dout := s.dout[:n*dv]
	most := max(1, min(pvLanes, ukernel.RowsPerCall(pvLanes, n*dv)))
	for j := s.visible.Lo; j < s.visible.Hi; j += most {
		m := min(most, s.visible.Hi-j)
		a.tier.Skinny().PV(s.sumsV, dv, dout, dv, s.p[j:], s.ldp, m, n, dv, false, dout, 0)
		for k := range m {
			if s.seen[j+k] {
				sums := s.sumsV[k*dv:][:dv]
				if hasNaN(sums) {
					s.exactValue(sums, n, j+k)
				}
				row := a.DV.Row(s.batch, s.kvHead, j+k)
				a.tier.Elementwise().Add(row, row, sums)
			}
		}
	}
}

// exactValue computes the sums of a value again, in which a dout of a query that does not see key j
// counts as +0 where it is not finite: 0 times NaN or infinity would be NaN.
func (s *additiveScratch) exactValue(sums []float32, n, j int) {
	clear(sums)
	for i := range n {
		p := s.p[i*s.ldp+j]
		for e, x := range s.dout[i*len(sums):][:len(sums)] {
			if p == 0 && x-x != 0 {
				x = 0
			}
			sums[e] = scalar.FMA(p, x, sums[e])
		}
	}
}

func hasNaN(x []float32) bool {
	for _, x := range x {
		if x != x {
			return true
		}
	}
	return false
}

// products sets dp to the products of the visible values with dout of n queries, from lo of
// the block on.
func (s *additiveScratch) products(a *Additive, lo, n int) {
	lanes, dv := s.tile.Lanes, a.dv()
	dout := s.dout[lo*dv : (lo+n)*dv]
	for e, m := 0, 0; e < dv; e += m {
		m = ukernel.ColumnsPerCall(dv-e, lanes)
		for lane := range lanes {
			s.off[lane] = min(lane, n-1)*dv + e
		}
		s.tile.Pack(s.panel[e*lanes:], lanes, dout, s.off[:lanes], n, m, 1)
	}
	skinny := n <= a.tier.SkinnyRows && dv >= ukernel.SkinnyColumns && dv <= engine.MaxSkinnyWidth
	for j, m := s.visible.Lo, 0; j < s.visible.Hi; j += m {
		m = ukernel.RowsPerCall(s.visible.Hi-j, lanes*dv)
		v, stride := a.V.Rows(s.batch, s.kvHead, j, m), a.V.Stride(2)
		if skinny && m >= ukernel.SkinnyKeys {
			a.tier.Skinny().QK(s.dp[j*lanes:], v, stride, s.panel, n, m, dv, s.tops[:lanes], v, 0)
		} else {
			s.tile.Gemm(s.dp[j*lanes:], lanes, v, stride, 1, s.panel, lanes, m, dv, ukernel.ColumnSegment, false)
		}
	}
}

// queryRow computes query i, whose weights are p and whose gradients of weights are a lane of dp.
func (s *additiveScratch) queryRow(a *Additive, i int, p []float32, lane int) {
	lanes, sum := s.tile.Lanes, 0.0
	for j := s.visible.Lo; j < s.visible.Hi; j++ {
		if p[j] != 0 {
			sum += float64(p[j]) * float64(s.dp[j*lanes+lane]) // a product is exact
		}
	}
	mean := float32(sum)
	clear(s.rowQ)
	clear(s.rowW)
	for lo := s.visible.Lo / engine.BlockKeys * engine.BlockKeys; lo < s.visible.Hi; lo += engine.BlockKeys {
		n := 0
		for j := max(lo, s.visible.Lo); j < min(lo+engine.BlockKeys, s.visible.Hi); j++ {
			if p[j] != 0 {
				s.keys[n] = j
				s.x[n] = scalar.Flush(float32(p[j]*(s.dp[j*lanes+lane]-mean)), scalar.LeastGradient) * a.Scale
				n++
			}
		}
		if n > 0 {
			s.addKeys(a, i, n)
		}
	}
	for d, w := range a.Weights {
		s.rowQ[d] *= w
	}
	if a.DQ.IsSet() {
		row := a.DQ.Row(s.batch, s.head, i)
		rows.Start(row, a.Accumulate)
		a.tier.Elementwise().Add(row, row, s.rowQ)
	}
	a.tier.Elementwise().Add(s.sumsW, s.sumsW, s.rowW)
}

// addKeys adds the first n of keys, which query i sees, to its sums and to the sums of the keys.
// Keys that follow each other are computed in one call.
func (s *additiveScratch) addKeys(a *Additive, i, n int) {
	d, query := a.d(), a.Q.Row(s.batch, s.head, i)
	clear(s.partQ)
	clear(s.partW)
	most := max(1, tanhFloats/max(d, 1))
	for lo, m := 0, 0; lo < n; lo += m {
		first := s.keys[lo]
		for m = 1; m < most && lo+m < n && s.keys[lo+m] == first+m; m++ {
		}
		k := a.K.Rows(s.batch, s.kvHead, first, m)
		a.tier.Elementwise().AdditiveBackward(s.sumsK[first*d:(first+m)*d], d, query, k, a.K.Stride(2), m, s.x[lo:lo+m], s.partQ, s.partW)
	}
	a.tier.Elementwise().Add(s.rowQ, s.rowQ, s.partQ)
	a.tier.Elementwise().Add(s.rowW, s.rowW, s.partW)
}

// finish adds the sums of a block of queries to the gradients of keys and weights.
func (s *additiveScratch) finish(a *Additive) {
	d := a.d()
	for j := s.visible.Lo; a.DK.IsSet() && j < s.visible.Hi; {
		n := s.seenFrom(j, sumFloats/max(d, 1))
		if n > 0 {
			a.tier.Elementwise().AddWeighted(a.DK.Rows(s.batch, s.kvHead, j, n), a.DK.Stride(2), s.sumsK[j*d:][:n*d], d, n, a.Weights)
		}
		j += max(n, 1)
	}
	if a.DWeights != nil {
		part := a.partials[(s.batch*a.K.Dim(1)+s.kvHead)*d:][:d]
		a.tier.Elementwise().Add(part, part, s.sumsW)
	}
}
