package linear

import (
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/ukernel"
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
func (l *Linear) lanes() int { return ints.CeilDiv(l.n, ukernel.PanelStep) * ukernel.PanelStep }

// panelWidth returns the number of columns of panel p. The last panel is as narrow as
// PanelStep allows.
func (l *Linear) panelWidth(p int) int {
	return min(ukernel.PanelLanes, l.lanes()-p*ukernel.PanelLanes)
}

// panelStart returns the index at which panel p starts.
func (l *Linear) panelStart(p int) int { return p * ukernel.PanelLanes * l.k }

// pack returns the panels of the weights w, which lie in data. It goes through some
// inputs at a time, so that what it writes stays in cache until it is complete.
func pack[E any](l *Linear, w *Matrix, data []E) []E {
	const inputs = 64
	packed := hugepages.Make[E](l.lanes() * l.k)
	for p := range l.panels() {
		first, lanes := p*ukernel.PanelLanes, l.panelWidth(p)
		panel := packed[l.panelStart(p):][:lanes*l.k]
		for k := 0; k < l.k; k += inputs {
			for lane := range min(lanes, l.n-first) {
				from := (first+lane)*w.rowStride + k*w.colStride
				for x := range min(inputs, l.k-k) {
					panel[(k+x)*lanes+lane] = data[from+x*w.colStride]
				}
			}
		}
	}
	return packed
}
