package gomlx

import "github.com/attn-go/attn/kernel"

// SDPA computes attention for the query heads that share one key head. Its arguments are those
// of the hook SetSDPAArchDispatcher. Strides and offsets count numbers:
//
//	q, output  query i of head g is the headDim numbers at qOff + g·qGroupStride + i·qSeqStride,
//	           for groupSize heads and seqLen queries
//	k, v       key j is the headDim numbers at kvOff + j·kvSeqStride, for kvLen keys
//
// A mask is dense, [seqLen, kvLen] for every head: the next head's is maskGroupStride further, or
// the same if that is 0. In booleanMask true keeps a key; additiveMask and additiveBias, whose
// stride is biasGroupStride, are added to the scores. Empty slices are no mask and no bias.
// causal lets query i see the first i+1 keys. Queries from qLimit on get zeros, keys from
// kvLimit on are hidden from all. A query that sees no key gets zeros.
//
// If there is both an additive mask and a bias, scoresScratch takes their sum: it then needs
// groupSize·seqLen·kvLen numbers. Otherwise it is not used.
//
// It returns false, with output untouched, for what attn does not accept: sizes or offsets that
// do not fit the slices, a scale of 0 or none that is finite, output that overlaps an input. The
// backend then computes the heads itself. SDPA runs on the calling goroutine alone, as the
// backend calls it from workers of its own, and may be called by several at once.
func SDPA(
	q, k, v, output []float32,
	qOff, kvOff, qSeqStride, kvSeqStride, qGroupStride int,
	additiveMask []float32,
	booleanMask []bool,
	maskGroupStride int,
	additiveBias []float32,
	biasGroupStride int,
	scoresScratch []float32,
	groupSize, seqLen, kvLen, headDim int,
	scale float32, causal bool,
	qLimit, kvLimit int,
) bool {
	if scale == 0 || min(seqLen, kvLen) < 0 || qOff < 0 || qOff > min(len(q), len(output)) || kvOff < 0 || kvOff > min(len(k), len(v)) {
		return false // for attn, a scale of 0 stands for 1/√D
	}
	queries, keys := clamp(qLimit, seqLen), clamp(kvLimit, kvLen)
	if queries < seqLen && !fit(len(output)-qOff-headDim, groupSize, qGroupStride, seqLen, qSeqStride) {
		return false
	}
	heads := func(data []float32, rows int) kernel.Tensor {
		return kernel.Strided(data, [4]int{1, groupSize, rows, headDim}, [3]int{0, qGroupStride, qSeqStride})
	}
	cache := func(data []float32) kernel.Tensor {
		return kernel.Strided(data, [4]int{1, 1, keys, headDim}, [3]int{0, 0, kvSeqStride})
	}
	// scores returns the shape and strides of a mask or bias.
	scores := func(groupStride int) ([4]int, [3]int) {
		if groupStride == 0 {
			return [4]int{1, 1, queries, keys}, [3]int{0, 0, kvLen}
		}
		return [4]int{1, groupSize, queries, keys}, [3]int{0, groupStride, kvLen}
	}

	opts := kernel.Options{Exec: kernel.Exec{Threads: 1}, Scoring: kernel.Scoring{Scale: scale}}
	if causal {
		opts.Mask = kernel.Causal(0)
	}
	if len(booleanMask) > 0 {
		shape, strides := scores(maskGroupStride)
		opts.Mask = opts.Mask.And(kernel.VisibleStrided(booleanMask, shape, strides))
	}
	add, stride := additiveMask, maskGroupStride
	switch {
	case len(additiveBias) > 0 && len(additiveMask) > 0:
		if !sum(scoresScratch, additiveMask, additiveBias, maskGroupStride, biasGroupStride, groupSize, seqLen*kvLen) {
			return false
		}
		add, stride = scoresScratch, seqLen*kvLen
	case len(additiveBias) > 0:
		add, stride = additiveBias, biasGroupStride
	}
	if len(add) > 0 {
		shape, strides := scores(stride)
		opts.Bias = kernel.Strided(add, shape, strides)
	}
	if kernel.Attention(heads(output[qOff:], queries), heads(q[qOff:], queries), cache(k[kvOff:]), cache(v[kvOff:]), &opts) != nil {
		return false
	}
	for g := range groupSize {
		for i := queries; i < seqLen; i++ {
			clear(output[qOff+g*qGroupStride+i*qSeqStride:][:headDim])
		}
	}
	return true
}

// clamp returns n, but at least 0 and at most most.
func clamp(n, most int) int { return max(0, min(n, most)) }

// fit tells whether the last of n rows of m rows starts at most at the number most, for rows of
// both kinds with a stride.
func fit(most, n, stride, m, stride2 int) bool {
	for _, x := range [][2]int{{n, stride}, {m, stride2}} {
		count, stride := max(x[0], 1), x[1]
		if most < 0 || stride < 0 || stride > 0 && count-1 > most/stride {
			return false
		}
		most -= (count - 1) * stride
	}
	return true
}

// sum writes the sums of a mask and a bias of some heads with size scores each to dst, the heads
// one after the other. It returns false if a slice is too short.
func sum(dst, mask, bias []float32, maskStride, biasStride, heads, size int) bool {
	if size < 0 || heads < 0 || len(dst) < heads*size {
		return false
	}
	for g := range heads {
		m, b := g*maskStride, g*biasStride
		if m < 0 || b < 0 || len(mask)-m < size || len(bias)-b < size {
			return false
		}
		to := dst[g*size:][:size]
		for i, x := range mask[m:][:size] {
			to[i] = x + bias[b+i]
		}
	}
	return true
}
