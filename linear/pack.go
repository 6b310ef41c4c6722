package linear

import (
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// The weights Wᵀ, with one column per output, are packed once into panels of 48
// columns, [panel][K][48], with zeros after the last column. A panel is B of the
// weight kernels, the same on every tier.
//
// Some rows of a panel are one range of memory. So products with few rows of x, which
// wait for the weights, read them at the speed of memory (tiles that take a third of
// every row at a time read at a quarter of that), and products with many rows of x find
// them in L1.

// panels returns the number of panels.
func (l *Linear) panels() int { return ints.CeilDiv(l.n, ukernel.PanelLanes) }

// lanes returns the number of columns of all panels.
func (l *Linear) lanes() int { return ints.RoundUp(l.n, ukernel.PanelStep) }

// panelWidth returns the number of columns of panel p. The last panel is as narrow as
// PanelStep allows.
func (l *Linear) panelWidth(p int) int {
	return min(ukernel.PanelLanes, l.lanes()-p*ukernel.PanelLanes)
}

// panelStart returns the index at which panel p starts, of weights that have no format.
func (l *Linear) panelStart(p int) int {
	if l.rounds {
		return p * ukernel.PanelLanes * l.depth() / 2
	}
	return p * ukernel.PanelLanes * l.k
}

// A packer is ukernel.WeightKernels.Pack or Converters.PackHalves.
type packer[E any] func(dst []E, ld int, src []E, lds, n, d int)

// pack returns the panels of the weights w, which lie in data. flush makes subnormal
// weights of a panel +0.
func pack[E any](l *Linear, w *Matrix, data []E, t *tier.Tier, exec *kernel.Exec, pack, rest packer[E], flush func(panel []E)) []E {
	packed := hugepages.Share[E](l.lanes() * l.k)
	l.eachPanel(t, exec, func(p int) {
		first, lanes := p*ukernel.PanelLanes, l.panelWidth(p)
		panel := packed[l.panelStart(p):][:lanes*l.k]
		defer flush(panel)
		rows := min(lanes, l.n-first)
		if l.k > 0 && rows > 0 {
			packPanel(panel, lanes, data[first*w.rowStride:], w.rowStride, w.colStride, rows, l.k, pack, rest)
		}
	})
	return packed
}

// packPanel writes k columns of some rows into the lanes of a panel. Their elements lie rowStride
// and colStride apart.
func packPanel[E any](panel []E, lanes int, data []E, rowStride, colStride, rows, k int, pack, rest packer[E]) {
	switch {
	case rowStride == 1:
		for x := range k {
			copy(panel[x*lanes:][:rows], data[x*colStride:])
		}
	case colStride == 1:
		transpose(panel, lanes, data, rowStride, rows, k, pack, rest)
	default:
		for x := range k {
			for lane := range rows {
				panel[x*lanes+lane] = data[lane*rowStride+x*colStride]
			}
		}
	}
}

// transpose writes k columns of some rows, whose elements have no gaps, into the lanes of a
// panel. It takes some columns at a time, so that what it writes stays in L1 until it is
// complete. kernel takes what it can, and rest the other rows and columns.
func transpose[E any](panel []E, lanes int, data []E, stride, rows, k int, kernel, rest packer[E]) {
	whole := rows &^ (ukernel.PanelStep - 1)
	for x, n := 0, 0; x < k; x += n {
		n = min(packSteps, k-x)
		if k-x-n < ukernel.PackSteps {
			n = k - x // no columns are left that are too few for kernel
		}
		to, from, whole := panel[x*lanes:], data[x:], whole
		if n < ukernel.PackSteps {
			whole = 0
		}
		if whole > 0 {
			kernel(to, lanes, from, stride, whole, n)
		}
		if whole < rows {
			rest(to[whole:], lanes, from[whole*stride:], stride, rows-whole, n)
		}
	}
}

// packSteps is the number of columns that are packed at a time, which take 12 KiB of a panel of
// float32.
const packSteps = 64

// packedFMAs is how many FMAs of a product take as long as packing a byte, on Zen 3.
const packedFMAs = 25

// A packing packs each panel of a layer.
type packing struct{ pack func(p int) }

var packings = parallel.Loop[packing, struct{}]{Scratch: &parallel.NoScratch, Do: func(p *packing, _ *struct{}, lo, hi int) {
	for panel := lo; panel < hi; panel++ {
		p.pack(panel)
	}
}}

// eachPanel calls f for every panel, on the goroutines that exec allows.
func (l *Linear) eachPanel(t *tier.Tier, exec *kernel.Exec, f func(p int)) {
	packings.Run(&packing{f}, l.panels(), float64(l.bytes())*packedFMAs/float64(t.ThreadFMAs), 0, exec.Threads, exec.ParallelFor)
}
