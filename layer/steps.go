package layer

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// The steps that follow the first, which makes queries, keys and values. They are
// the readable way to attention: every intermediate result is there to look at, and
// takes its memory. One after the other they give what a Similarity's Attend gives at
// once, block by block, and many times faster.

// Scores is the second step: how well every key matches every query. dst, [B, H, Lq,
// Lk] of float32, receives the similarities of q, [B, H, Lq, D], and k, [B, Hkv, Lk,
// D]; and -Inf where opts.Mask hides the key. Of the other options those count that
// change scores, and those that say who computes.
func Scores(dst, q, k kernel.Tensor, s Similarity, opts kernel.Options) error {
	if s == nil {
		return &kernel.ArgumentError{Arg: "s", Got: "nil", Want: "a similarity"}
	}
	shape := q.Shape()
	if err := checkTensor("q", &q); err != nil {
		return err
	}
	shape[3] = k.Shape()[3]
	n := elements(shape[:]...)
	if n > maxScratch {
		return fault("q", &q, "fewer queries, or a smaller head size of k")
	}
	m := borrow(max(0, n))
	defer m.giveBack()
	out := kernel.BHLD(m.take(max(0, n)), shape[0], shape[1], shape[2], shape[3])
	opts.Scores, opts.ScoreStage = dst, kernel.ScoresMasked
	opts.Weights, opts.LSE, opts.Dropout = kernel.Tensor{}, kernel.Tensor{}, kernel.Dropout{}
	return s.Attend(out, q, k, k, opts) // keys make values as valid as any
}

// Softmax is the third step, a softmax: rows of n scores, one after the other in src,
// become rows of weights in dst, which may be src. A row's weights are the
// exponentials of its scores, divided by their sum; scores of -Inf have the weight 0.
//
// lengths says how many of a row's scores are valid; the weights after them are 0,
// whatever src has there. It holds one length for every row, or one for as many rows as
// there are for each, such as all rows of a batch row; nil is n for all.
//
// The largest score is subtracted first, so that no exponential overflows; sums and
// quotients are computed in float64 and rounded at the end. A row without any score
// above -Inf is zeros; a row with a NaN or +Inf is NaN.
func Softmax(dst, src []float32, n int, lengths []int) error {
	if err := checkSoftmax(dst, src, n, lengths); err != nil {
		return err
	}
	if len(src) == 0 {
		return nil
	}
	rows := len(src) / n
	for r := range rows {
		valid := n
		if lengths != nil {
			valid = lengths[r/(rows/len(lengths))]
		}
		from, to := src[r*n:(r+1)*n], dst[r*n:(r+1)*n]
		clear(to[valid:])
		if err := softmaxRow(to[:valid], from[:valid]); err != nil {
			return err
		}
	}
	return nil
}

// softmaxRow turns the scores of one row into weights.
func softmaxRow(dst, src []float32) error {
	top := float32(math.Inf(-1))
	for _, s := range src {
		top = max(top, s) // NaN if one is
	}
	if math.IsInf(float64(top), -1) {
		clear(dst)
		return nil
	}
	for i, s := range src {
		dst[i] = (s - top) * math.Log2E
	}
	if err := numeric.Exp2Slice(dst, dst); err != nil {
		return err
	}
	sum := 0.0
	for _, p := range dst {
		sum += float64(p)
	}
	for i, p := range dst {
		dst[i] = float32(float64(p) / sum)
	}
	if sum != sum {
		for i := range dst {
			dst[i] = nan
		}
	}
	return nil
}

// checkSoftmax reports the first argument of Softmax that does not fit.
func checkSoftmax(dst, src []float32, n int, lengths []int) error {
	bad := func(arg, got, want string) error {
		return &kernel.ArgumentError{Arg: arg, Got: got, Want: want}
	}
	if n < 1 || len(src)%n != 0 {
		return bad("n", fmt.Sprint(n), fmt.Sprintf("at least 1, and whole rows in src's %d scores", len(src)))
	}
	if len(dst) != len(src) {
		return bad("dst", fmt.Sprintf("length %d", len(dst)), fmt.Sprintf("length %d, that of src", len(src)))
	}
	if overlap(dst, src) {
		return bad("dst", "memory that overlaps a part of src", "src itself, or memory of its own")
	}
	if rows := len(src) / n; lengths != nil && (len(lengths) == 0 && rows > 0 || len(lengths) > 0 && rows%len(lengths) != 0) {
		return bad("lengths", fmt.Sprintf("%d lengths", len(lengths)), fmt.Sprintf("as many as the %d rows, or one for as many of them each", rows))
	}
	for i, l := range lengths {
		if l < 0 || l > n {
			return bad("lengths", fmt.Sprintf("%d at %d", l, i), fmt.Sprintf("0 to %d", n))
		}
	}
	return nil
}

// overlap tells whether two slices of the same length share a part of their memory,
// but not all.
func overlap(x, y []float32) bool {
	a, b := uintptr(unsafe.Pointer(unsafe.SliceData(x))), uintptr(unsafe.Pointer(unsafe.SliceData(y)))
	size := 4 * uintptr(len(x))
	return a != b && a < b+size && b < a+size
}

// nan is the contract's NaN.
var nan = math.Float32frombits(0x7fc00000)

// WeightedSum is the fourth step: out, [B, H, Lq, Dv], becomes the sums of the values v,
// [B, Hkv, Lk, Dv], each times its weight in weights, [B, H, Lq, Lk], Lk ≥ 1; Hkv divides H. All are
// float32. A value of weight 0 does not matter, whatever it is. Sums are
// computed in float64 and rounded at the end.
func WeightedSum(out, weights, v kernel.Tensor) error {
	if err := checkWeightedSum(&out, &weights, &v); err != nil {
		return err
	}
	dims := out.Shape()
	group := dims[1] / max(1, v.Shape()[1])
	m := borrow()
	defer m.giveBack()
	sums := m.doubles(dims[3])
	eachRow(dims, func(b, h, l int) {
		clear(sums)
		for j, w := range row(&weights, b, h, l) {
			if w != 0 {
				addTimes(sums, w, row(&v, b, h/group, j))
			}
		}
		narrow(row(&out, b, h, l), sums)
	})
	return nil
}

// addTimes adds w·x to sums. In float64 the products are exact, so that it does not
// matter whether a compiler fuses them with the sums.
func addTimes(sums []float64, w float32, x []float32) {
	for e, x := range x {
		sums[e] += float64(w) * float64(x)
	}
}

// narrow rounds sums to dst.
func narrow(dst []float32, sums []float64) {
	for e, x := range sums {
		if dst[e] = float32(x); x != x {
			dst[e] = nan
		}
	}
}

// checkWeightedSum reports the first argument of WeightedSum that does not fit.
func checkWeightedSum(out, weights, v *kernel.Tensor) error {
	w, values := weights.Shape(), v.Shape()
	if err := checkFloats("weights", weights); err != nil {
		return err
	}
	if err := checkFloats("v", v); err != nil {
		return err
	}
	if values[0] != w[0] || values[2] != w[3] || values[1] == 0 && w[1] > 0 || values[1] > 0 && w[1]%values[1] != 0 {
		return fault("v", v, fmt.Sprintf("batch %d, a number of heads that divides %d, and %d values", w[0], w[1], w[3]))
	}
	if want := [4]int{w[0], w[1], w[2], values[3]}; out.Shape() != want {
		return fault("out", out, fmt.Sprintf("shape %v", want))
	}
	if err := checkFloats("out", out); err != nil {
		return err
	}
	return checkOutput(out, weights, v)
}
