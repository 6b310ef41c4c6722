package engine

import (
	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// quantizedProducts is products for integers.
func (t *tile) quantizedProducts(part mask.Span, top []float32) {
	if top == nil {
		top = t.ignored()
	}
	for part.Lo < part.Hi {
		n := ukernel.RowsPerCall(part.Len(), t.kern.Lanes*t.job.d())
		switch s := t.scoresFrom(part); {
		case t.skinny:
			n = t.codeProducts(part.Lo, n, s, top)
		case t.takesPairs():
			n = t.pairProducts(part.Lo, n, s, top)
		default:
			n = t.codesAsFloats(part.Lo, n, s, top)
		}
		part.Lo += n
	}
}

// codeProducts computes the scores s of up to n keys from tile coordinate lo on, and returns their number.
func (t *tile) codeProducts(lo, n int, s, top []float32) int {
	x, tier, lane := &t.job.Call.K, t.job.tier, t.codeLanes()
	var k, next []int8
	stride := x.Stride(2)
	if x.DType() == view.Int4 {
		k, n = t.unpackInt4(&t.scratch.keys, x, lo-t.phase, n)
		stride, next = x.Dim(3), k
	} else {
		k, n, next, _ = withHints(tier, x, t.head, lo-t.phase, min(n, t.keysOfPieces()), x.I8())
	}
	t.eachPiece(lo, n, s, top, func(s []float32, at, w int, scales []float32, lsc int, top []float32) {
		tier.Skinny().QKCodes(ukernel.QKCodesArgs{S: s, K: k[at:], Ldk: stride, Scales: scales, Lsc: lsc, Q: t.codes[at*lane:], Unit: t.unit, N: t.n, M: n, D: w, Max: top, Next: next[min(at, len(next)):]})
	})
	return n
}

// pairProducts is codeProducts for tiles.
func (t *tile) pairProducts(lo, n int, s, top []float32) int {
	x, pairs, lanes := &t.job.Call.K, &t.scratch.keyPairs, t.kern.Lanes
	n = x.Run(lo-t.phase, min(n, t.keysOfPieces()))
	t.widen(pairs, x, mask.Span{Lo: lo, Hi: lo + n}, t.job.tier.Convert().PairColumns)
	t.eachPiece(lo, n, s, top, func(s []float32, at, w int, scales []float32, lsc int, top []float32) {
		t.kern.CodeScores(ukernel.CodeScoresArgs{S: s, K: pairs.of(at, w, lo), Scales: scales, Lsc: lsc, Q: t.pairs[at/2*lanes:], Unit: t.unit, M: n, D: w, Max: top})
	})
	return n
}

// pieceKeys are the keys whose pieces are added up while their sums are in L1.
const pieceKeys = 64

// keysOfPieces returns the most keys for eachPiece: all those of a block if one piece has all columns.
func (t *tile) keysOfPieces() int {
	if pieceOf(t.job.Call.K.Group(), 0) == t.job.d() {
		return BlockKeys
	}
	return pieceKeys
}

// eachPiece computes the scores s of n keys from tile coordinate lo on, by calls of product for each piece of w columns from
// column at on. It adds them up in the order of the contract, with the scales t of a key's groups:
//
//	pieces are groups      s = piece 0·t[0], then s = fma(piece g, t[g], s)
//	pieces of one group    A = piece 0, then A = fma(piece, 1, A);  s = A·t[0]
//
// Products that are to be added wait in the memory of rounded weights.
func (t *tile) eachPiece(lo, n int, s, top []float32, product func(s []float32, at, w int, scales []float32, lsc int, top []float32)) {
	x, lanes, d := &t.job.Call.K, t.kern.Lanes, t.job.d()
	scales, lsc := x.RowScales(t.head.batch, t.head.head, lo-t.phase, n)
	group, rest, ignored := x.Group(), t.scratch.rounded, t.ignored()
	w := pieceOf(group, 0)
	if w == d {
		product(s, 0, d, scales, lsc, top)
		return
	}
	groups := w == group // pieces are groups
	for at := 0; at < d; at += w {
		w = pieceOf(group, at)
		by, step, raised := ones[:1], 0, ignored
		if groups {
			by, step = scales[at/group:], lsc
		}
		if at == 0 {
			product(s, 0, w, by, step, ignored)
			continue
		}
		if groups && at+w == d {
			raised = top
		}
		product(rest, at, w, ones[:1], 0, ignored)
		t.kern.ScaleRows(s, lanes, rest, lanes, n, by, step, true, raised)
	}
	if !groups {
		t.kern.ScaleRows(s, lanes, s, lanes, n, scales, lsc, false, top)
	}
}

// codesAsFloats is codeProducts on integers as float32, with any groups of columns that share a scale. The
// products of later groups wait in the memory of rounded weights.
func (t *tile) codesAsFloats(lo, n int, s, top []float32) int {
	j, x, lanes := t.job, &t.job.Call.K, t.kern.Lanes
	n = x.Run(lo-t.phase, n)
	k, stride, _ := t.scratch.keys.get(j.tier, x, t.head, lo-t.phase, n)
	scales, lsc := x.RowScales(t.head.batch, t.head.head, lo-t.phase, n)
	group, d := x.Group(), j.d()
	for at := 0; at < d; at += group {
		a, max := s, t.ignored()
		if at > 0 {
			a = t.scratch.rounded[:n*lanes]
		}
		if at+group == d {
			max = top
		}
		t.kern.Gemm(a, lanes, k[at:], stride, 1, t.q[at*lanes:], lanes, n, group, ukernel.ColumnSegment, false)
		t.kern.ScaleRows(s, lanes, a, lanes, n, scales[at/group:], lsc, at > 0, max)
	}
	return n
}
