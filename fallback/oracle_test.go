package fallback

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
)

// attention is one head made of the kernels: lq ≤ lanes queries, keys in
// blocks of 256, query i seeing the keys of span(i).
func attention(out, q, k, v []float32, lq, lk, d, dv int, scale float32, span func(i int) (lo, hi int)) {
	const block = 256
	var lo, hi [lanes]int32
	var qoff, ooff [lanes]int
	for lane := range lanes {
		i := min(lane, lq-1)
		qoff[lane], ooff[lane] = i*d, i*dv
		l, h := span(i)
		lo[lane], hi[lane] = int32(l), int32(h)
	}
	qt, o, s := make([]float32, d*lanes), make([]float32, dv*lanes), make([]float32, block*lanes)
	pack(qt, lanes, q, qoff[:], lq, d, float32(float64(scale)*math.Log2E))

	var top, sum [lanes]float32
	for lane := range top {
		top[lane] = scalar.NegInf
	}
	for j := 0; j < lk; j += block {
		n := min(block, lk-j)
		var unmasked, blockMax, blockSum, alpha, beta [lanes]float32
		for lane := range blockMax {
			blockMax[lane] = scalar.NegInf
		}
		gemmMax(s, lanes, k[j*d:], d, 1, qt, lanes, n, d, contract.ColumnSegment, unmasked[:])
		maskSpan(s, lanes, j, n, lo[:], hi[:], blockMax[:])
		softmax(s, lanes, n, blockMax[:], blockSum[:])
		mergeStats(top[:], sum[:], blockMax[:], blockSum[:], alpha[:], beta[:])
		gemmMerge(o, lanes, v[j*dv:], 1, dv, s, lanes, dv, n, alpha[:], beta[:])
	}
	unpack(out, ooff[:], o, lanes, lq, dv, sum[:])
}

func TestAttention(t *testing.T) {
	const lq, lk, d, dv, scale = 7, 300, 24, 20, 0.25
	r := rand.New(rand.NewPCG(5, 1))
	q, k, v := make([]float32, lq*d), make([]float32, lk*d), make([]float32, lk*dv)
	fill(r, q)
	fill(r, k)
	fill(r, v)
	span := func(i int) (lo, hi int) {
		switch i {
		case 0:
			return 5, 5
		case 1:
			return 257, 300
		}
		return 10 * i, 250 + 8*i
	}
	got, want := make([]float32, lq*dv), make([]float64, lq*dv)
	attention(got, q, k, v, lq, lk, d, dv, scale, span)
	Oracle(want, q, k, v, lq, lk, d, dv, scale, span)
	var worst float64
	for i := range got {
		worst = max(worst, math.Abs(float64(got[i])-want[i]))
	}
	t.Logf("largest error %.2g", worst)
	if !(worst < 1e-6) {
		t.Errorf("error %g", worst)
	}
	for i, x := range want[:dv] {
		if x != 0 || math.Float32bits(got[i]) != 0 {
			t.Errorf("a row without keys has %v, %v", x, got[i])
		}
	}

	// The same bits on every architecture, now and later.
	h := fnv.New64a()
	binary.Write(h, binary.LittleEndian, got)
	if got, want := h.Sum64(), uint64(0xd56ea48b55075750); got != want {
		t.Errorf("hash %#x, want %#x", got, want)
	}
}

func TestOracle(t *testing.T) {
	// scores 0 and ln 3: weights 1/4 and 3/4
	out := make([]float64, 2)
	Oracle(out, []float32{1}, []float32{0, 1}, []float32{4, 0, 8, 1}, 1, 2, 1, 2, math.Log(3), nil)
	if math.Abs(out[0]-7) > 1e-14 || math.Abs(out[1]-0.75) > 1e-14 {
		t.Errorf("got %v, want [7 0.75]", out)
	}
}
