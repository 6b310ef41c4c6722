package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/attn-go/attn/bench/internal/chart"
	"github.com/attn-go/attn/bench/internal/results"
	tables "github.com/attn-go/attn/bench/internal/table"
)

// sketches are the figures of a machine, in order.
func sketches(f *results.File, i int) (all []sketch) {
	for _, draw := range drawers {
		all = append(all, draw(f, i))
	}
	for k := range f.Curves { // each chart has the curves of a kind, a group and a tier
		c := &f.Curves[k]
		first := slices.IndexFunc(f.Curves, func(x results.Curve) bool { return sameChart(&x, c) })
		if first == k {
			all = append(all, curves(f, i, k))
		}
	}
	return all
}

func sameChart(a, b *results.Curve) bool {
	return a.Kind == b.Kind && a.Group == b.Group && a.Tier == b.Tier
}

// curveTexts say what curves of a kind are over.
var curveTexts = map[string]string{
	results.OverRows:       "rows of x",
	results.OverQueries:    "queries of each head",
	results.OverSizes:      "size of the heads",
	results.OverLengths:    "length",
	results.OverPages:      "rows of a page",
	results.OverMagnitudes: "largest magnitude",
}

// curves shows the curves that share a chart with the curve of an index.
func curves(f *results.File, i, first int) sketch {
	of := &f.Curves[first]
	over := curveTexts[of.Kind]
	c := &chart.Chart{LogX: true, LogY: true, XLabel: over, YLabel: "µs"}
	t := table{Caption: "Times by " + over, Head: []string{over}}
	rows := map[float64][]cell{}
	for k := first; k < len(f.Curves); k++ {
		x := &f.Curves[k]
		if !sameChart(x, of) {
			continue
		}
		line := c.Named(x.Case)
		line.Line, line.Sparse = true, true
		ratio, worst, _ := x.Worst()
		from := from(i, "curves", k)
		for n, at := range x.X {
			point := chart.Point{X: at, Y: x.Ns[n] / 1e3}
			if n == worst || n%max(1, len(x.X)/8) == 0 {
				point.Label = fmt.Sprintf("%s at %g: %s", x.Case, at, tables.Duration(x.Ns[n]))
			}
			if n == worst && ratio > 1 {
				point.Label += fmt.Sprintf(", the worst step: %.2f times", ratio)
			}
			line.Points = append(line.Points, point)
			for len(rows[at]) < len(t.Head)-1 {
				rows[at] = append(rows[at], text("–"))
			}
			rows[at] = append(rows[at], from.num(fmt.Sprintf("ns.%d", n), x.Ns[n], tables.Duration(x.Ns[n])))
		}
		t.Head = append(t.Head, x.Case)
	}
	for _, at := range slices.Sorted(maps.Keys(rows)) {
		row := append([]cell{text("%g", at)}, rows[at]...)
		for len(row) < len(t.Head) {
			row = append(row, text("–"))
		}
		t.Rows = append(t.Rows, row)
	}
	text := "A larger number is more work: where a line falls, more work takes less time."
	if of.IsFlat() {
		text = "A line should be flat: the number changes no work."
	}
	text = "One thread; the least time of several rounds, both axes logarithmic. " + text
	return sketch{fmt.Sprintf("curves-%d", first), fmt.Sprintf("%s, by %s, tier %s", of.Group, over, of.Tier), text, c, t}
}

// worstSteps lists the worst step of each curve, the largest ones first.
func worstSteps(f *results.File) table {
	t := table{Caption: "The worst step of each curve: time of a point by the least time of a larger one, of pages and magnitudes by the least of all", Head: []string{"curve", "of", "case", "tier", "times", "at", "beside"}}
	sorted := slices.Clone(f.Curves)
	slices.SortStableFunc(sorted, func(a, b results.Curve) int {
		x, _, _ := a.Worst()
		y, _, _ := b.Worst()
		return cmp.Compare(y, x)
	})
	for i := range sorted {
		c := &sorted[i]
		r, from, to := c.Worst()
		t.Rows = append(t.Rows, []cell{text("%s", c.Kind), text("%s", c.Group), text("%s", c.Case), text("%s", c.Tier), text("%.2f", r), text("%g", c.X[from]), text("%g", c.X[to])})
	}
	return t
}
