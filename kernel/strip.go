package kernel

import "github.com/attn-go/attn/internal/hugepages"

// The weights of a Linear, Wᵀ with a column for every output, are packed once in
// strips of 48 columns, [strip][K][48], zeros beyond the last column. A strip is B of
// the tile product, the same on every tier: 48 lanes are 3, 6 or 12 vectors, which with
// 8 or 2 rows of x make as many accumulators as hide the FMA's latency.
//
// A part of a strip is one range of memory. Products with few rows, which wait for
// the weights, so read them at the speed of memory. (Tiles that take a third of every
// row at a time read at a quarter of that.) Those with many rows find the part in L1.
//
// The last strip is as wide as it must be, in steps of 16.

const (
	stripLanes = 48
	stripStep  = 16
)

// stripKernels are the micro-kernels of one ISA for Linear. The rules of
// panelKernels hold for them.
type stripKernels struct {
	// strip is tile for the lanes of a whole strip.
	strip func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool)

	// stripF16 and stripBF16 are strip with numbers of B that are widened to
	// float32 on the way.
	stripF16, stripBF16 func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool)

	// settle finishes m rows of a product in place:
	//
	//	c[i·ldc+lane] = c[i·ldc+lane] + bias[lane], lane < len(bias)
	//
	// but the NaN 0x7fc00000 where that is one, to the bit. len(bias) is a
	// multiple of stripStep.
	settle func(c []float32, ldc, m int, bias []float32)
}

// strips is the number of strips.
func (l *Linear) strips() int { return ceilDiv(l.n, stripLanes) }

// lanes is the number of columns of all strips.
func (l *Linear) lanes() int { return ceilDiv(l.n, stripStep) * stripStep }

// stripWidth is the number of columns of strip s.
func (l *Linear) stripWidth(s int) int { return min(stripLanes, l.lanes()-s*stripLanes) }

// stripAt is where strip s starts.
func (l *Linear) stripAt(s int) int { return s * stripLanes * l.k }

// packStrips returns the strips of weights, [N, K], that lie in data. It goes through
// some inputs at a time, so that what it writes stays in cache until it is complete.
func packStrips[E any](l *Linear, w *Matrix, data []E) []E {
	const inputs = 64
	packed := hugepages.Make[E](l.lanes() * l.k)
	for s := range l.strips() {
		first, lanes := s*stripLanes, l.stripWidth(s)
		strip := packed[l.stripAt(s):][:lanes*l.k]
		for k := 0; k < l.k; k += inputs {
			for lane := range min(lanes, l.n-first) {
				from := (first+lane)*w.rowStride + k*w.colStride
				for x := range min(inputs, l.k-k) {
					strip[(k+x)*lanes+lane] = data[from+x*w.colStride]
				}
			}
		}
	}
	return packed
}
