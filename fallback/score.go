package fallback

import (
	"math"

	"github.com/attn-go/attn/contract"
	"github.com/attn-go/attn/internal/scalar"
)

// mostBias is the limit of a finite bias.
var mostBias = math.Float32frombits(contract.MostBias)

// softcap is LaneKernels.Softcap.
func softcap(s []float32, ld, n int, limit, inv float32, max []float32) {
	for j := range n {
		row := window(s, j*ld, len(max))
		for lane, m := range max {
			x := float32(limit * scalar.Tanh(float32(row[lane]*inv)))
			row[lane], max[lane] = x, scalar.Larger(x, m)
		}
	}
}

// alibi is LaneKernels.ALiBi.
func alibi(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32) {
	for j := range n {
		row := window(s, j*ld, len(max))
		for lane, m := range max {
			d := pos[lane] - int32(j0+j)
			x := scalar.FMA(slopes[lane], -float32(magnitude(d)), row[lane])
			row[lane], max[lane] = x, scalar.Larger(x, m)
		}
	}
}

func magnitude(d int32) int32 {
	if d < 0 {
		return -d
	}
	return d
}

// bias is LaneKernels.Bias.
func bias(s []float32, ld, n int, src []float32, off []int, max []float32) {
	for lane, m := range max {
		for j, b := range window(src, off[lane], n) {
			x := b
			if b-b == 0 {
				x = scalar.FMA(scalar.Limited(b, mostBias), scalar.Log2E, s[j*ld+lane])
			}
			s[j*ld+lane] = x
			m = scalar.Larger(x, m)
		}
		max[lane] = m
	}
}

// maskSpan is LaneKernels.MaskSpan.
func maskSpan(s []float32, ld, j0, n int, lo, hi []int32, max []float32) {
	for j := range n {
		row := window(s, j*ld, len(max))
		for lane, m := range max {
			if key := j0 + j; key < int(lo[lane]) || key >= int(hi[lane]) {
				row[lane] = scalar.NegInf
			}
			max[lane] = scalar.Larger(row[lane], m)
		}
	}
}

// maskBool is LaneKernels.MaskBool.
func maskBool(s []float32, ld, n int, keep []bool, off []int, hidden bool, max []float32) {
	for lane, m := range max {
		for j, k := range window(keep, off[lane], n) {
			x := &s[j*ld+lane]
			if k == hidden {
				*x = scalar.NegInf
			}
			m = scalar.Larger(*x, m)
		}
		max[lane] = m
	}
}
