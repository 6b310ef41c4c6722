package kernel

import (
	"math"

	"github.com/attn-go/attn/fallback"
)

var scoreMutants = []mutant{
	{"alibi", "keys are numbered from the call's first", func(p *panelKernels) {
		alibi := p.alibi
		p.alibi = func(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32) {
			alibi(s, ld, 0, n, slopes, pos, max)
		}
	}},
	{"alibi", "the distance has a sign", spoilAlibi(func(x, slope float32, d int32) float32 {
		return fallback.FMA(slope, -float32(d), x)
	})},
	{"alibi", "the product is rounded", spoilAlibi(func(x, slope float32, d int32) float32 {
		return x - float32(slope*float32(max(d, -d)))
	})},
	{"alibi", "the distance is cut to a float32", spoilAlibi(func(x, slope float32, d int32) float32 {
		y := float32(max(d, -d))
		if int64(y) > int64(max(d, -d)) {
			y = math.Nextafter32(y, 0)
		}
		return fallback.FMA(slope, -y, x)
	})},
	{"alibi", "scores without the bias count for the maximum", func(p *panelKernels) {
		alibi := p.alibi
		p.alibi = func(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32) {
			raise(max, s, n)
			alibi(s, ld, j0, n, slopes, pos, max)
		}
	}},
	{"bias", "a score of NaN stays under a bias of -Inf", spoilBias(func(x, b float32) float32 {
		return fallback.FMA(b, math.Float32frombits(0x3fb8aa3b), x)
	})},
	{"bias", "the product is rounded", spoilBias(func(x, b float32) float32 {
		if b == -inf32 {
			return b
		}
		return x + float32(b*math.Float32frombits(0x3fb8aa3b))
	})},
	{"bias", "natural units", spoilBias(func(x, b float32) float32 {
		if b == -inf32 {
			return b
		}
		return x + b
	})},
	{"bias", "the first of less than 4 last keys counts twice", func(p *panelKernels) {
		bias := p.bias
		p.bias = func(s []float32, ld, n int, src []float32, off []int, max []float32) {
			bias(s, ld, n, src, off, max)
			if n > 4 && n%4 > 0 {
				bias(s[(n-4)*ld:], ld, 1, src[n-4:], off, max)
			}
		}
	}},
	{"bias", "the last lane has the row of the first", func(p *panelKernels) {
		bias := p.bias
		p.bias = func(s []float32, ld, n int, src []float32, off []int, max []float32) {
			rows := append([]int(nil), off...)
			rows[len(rows)-1] = rows[0]
			bias(s, ld, n, src, rows, max)
		}
	}},
	{"hide", "true always takes part", func(p *panelKernels) {
		hide := p.hide
		p.hide = func(s []float32, ld, n int, keep []bool, off []int, _ bool, max []float32) {
			hide(s, ld, n, keep, off, false, max)
		}
	}},
	{"hide", "the last key is left out", func(p *panelKernels) {
		hide := p.hide
		p.hide = func(s []float32, ld, n int, keep []bool, off []int, hidden bool, top []float32) {
			hide(s, ld, max(0, n-1), keep, off, hidden, top)
		}
	}},
	{"hide", "hidden scores count for the maximum", func(p *panelKernels) {
		hide := p.hide
		p.hide = func(s []float32, ld, n int, keep []bool, off []int, hidden bool, max []float32) {
			raise(max, s, n)
			hide(s, ld, n, keep, off, hidden, max)
		}
	}},
	{"dropout", "keys are numbered from the call's first", func(p *panelKernels) {
		dropout := p.dropout
		p.dropout = func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
			dropout(s, ld, j0&^3, n, keys, sequence, head, pos, threshold, scale)
		}
	}},
	{"dropout", "head and position change places", func(p *panelKernels) {
		dropout := p.dropout
		p.dropout = func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
			dropout(s, ld, j0, n, keys, sequence, pos, head, threshold, scale)
		}
	}},
	{"dropout", "one round less", func(p *panelKernels) {
		dropout := p.dropout
		p.dropout = func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
			fewer := append([]uint32{0, 0}, keys...)
			dropout(s, ld, j0, n, fewer[:len(keys)], sequence, head, pos, threshold, scale)
		}
	}},
	{"dropout", "numbers compare with a sign", func(p *panelKernels) {
		dropout := p.dropout
		p.dropout = func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
			if threshold > math.MaxInt32 {
				threshold = 0
			}
			dropout(s, ld, j0, n, keys, sequence, head, pos, threshold, scale)
		}
	}},
	{"dropout", "a dropped weight is multiplied by 0", func(p *panelKernels) {
		dropout := p.dropout
		p.dropout = func(s []float32, ld, j0, n int, keys []uint32, sequence uint32, head, pos []uint32, threshold uint32, scale float32) {
			before := append([]float32(nil), s...)
			dropout(s, ld, j0, n, keys, sequence, head, pos, threshold, scale)
			if n > 0 && s[0] == 0 {
				s[0] = before[0] * 0
			}
		}
	}},
}

// raise raises the first lane's maximum to its first score, if there are n > 0.
func raise(top, s []float32, n int) {
	if n > 0 && s[0] > top[0] {
		top[0] = s[0]
	}
}

// spoilAlibi makes the first score what f says of the score before, the slope and
// the position less the key's.
func spoilAlibi(f func(x, slope float32, d int32) float32) func(p *panelKernels) {
	return func(p *panelKernels) {
		alibi := p.alibi
		p.alibi = func(s []float32, ld, j0, n int, slopes []float32, pos []int32, max []float32) {
			var x float32
			if n > 0 {
				x = f(s[0], slopes[0], pos[0]-int32(j0))
			}
			alibi(s, ld, j0, n, slopes, pos, max)
			if n > 0 {
				s[0] = x
			}
		}
	}
}

// spoilBias makes the first lane's scores what f says of the score before and the
// bias.
func spoilBias(f func(x, b float32) float32) func(p *panelKernels) {
	return func(p *panelKernels) {
		bias := p.bias
		p.bias = func(s []float32, ld, n int, src []float32, off []int, max []float32) {
			x := make([]float32, n)
			for j := range x {
				x[j] = f(s[j*ld], src[off[0]+j])
			}
			bias(s, ld, n, src, off, max)
			for j := range x {
				s[j*ld] = x[j]
			}
		}
	}
}
