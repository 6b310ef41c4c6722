package linear

import (
	"runtime"
	"sync"
	"sync/atomic"

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

// pack returns the panels of the weights w, which lie in data.
func pack[E any](l *Linear, w *Matrix, data []E) []E {
	packed := hugepages.Make[E](l.lanes() * l.k)
	l.eachPanel(func(p int) {
		first, lanes := p*ukernel.PanelLanes, l.panelWidth(p)
		panel := packed[l.panelStart(p):][:lanes*l.k]
		rows := min(lanes, l.n-first)
		if l.k == 0 || rows == 0 {
			return
		}
		data := data[first*w.rowStride:]
		if w.rowStride == 1 {
			for k := range l.k {
				copy(panel[k*lanes:][:rows], data[k*w.colStride:])
			}
			return
		}
		transpose(panel, lanes, data, w, rows, l.k)
	})
	return packed
}

// transpose writes k columns of some rows into the lanes of a panel. It takes some columns at a
// time, so that what it writes stays in L1 until it is complete, and of these four rows at a
// time, if their elements have no gaps.
func transpose[E any](panel []E, lanes int, data []E, w *Matrix, rows, k int) {
	const inputs = 64
	for lo := 0; lo < k; lo += inputs {
		n, lane := min(inputs, k-lo), 0
		row := func(i int) []E { return data[(lane+i)*w.rowStride+lo*w.colStride:] }
		for ; w.colStride == 1 && lane+4 <= rows; lane += 4 {
			a, b, c, d := row(0)[:n], row(1)[:n], row(2)[:n], row(3)[:n]
			for x := range n {
				to := panel[(lo+x)*lanes+lane:][:4]
				to[0], to[1], to[2], to[3] = a[x], b[x], c[x], d[x]
			}
		}
		for ; lane < rows; lane++ {
			from := row(0)
			for x := range n {
				panel[(lo+x)*lanes+lane] = from[x*w.colStride]
			}
		}
	}
}

// serialBytes is the size of weights that one goroutine packs in less time than it takes to
// start others.
const serialBytes = 1 << 18

// eachPanel calls f for every panel, on as many goroutines as GOMAXPROCS allows.
func (l *Linear) eachPanel(f func(p int)) {
	if l.bytes() <= serialBytes {
		for p := range l.panels() {
			f(p)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), l.panels()) {
		group.Go(func() {
			for p := next.Add(1) - 1; p < int64(l.panels()); p = next.Add(1) - 1 {
				f(int(p))
			}
		})
	}
	group.Wait()
}
