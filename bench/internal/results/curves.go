package results

import "math"

// Kinds of a Curve: what varies, the names for -shapes.
const (
	OverRows       = "rows"
	OverQueries    = "queries"
	OverSizes      = "sizes"
	OverLengths    = "lengths"
	OverPages      = "pages"
	OverMagnitudes = "magnitudes"
)

// CurveKinds are all kinds, in order.
var CurveKinds = []string{OverRows, OverQueries, OverSizes, OverLengths, OverPages, OverMagnitudes}

// A Curve has the times of calls on one thread that differ in one number.
type Curve struct {
	Kind  string    `json:"kind"`  // what the number is
	Group string    `json:"group"` // what is called; its curves share a chart
	Case  string    `json:"case"`  // what tells it from others of the group
	Tier  string    `json:"tier"`
	X     []float64 `json:"x"`  // rising
	Ns    []float64 `json:"ns"` // the least time of a call of several rounds, for each X
}

// Name returns what the curve is of, but for the tier.
func (c *Curve) Name() string { return c.Kind + ", " + c.Group + ": " + c.Case }

// IsFlat says whether the number should make no difference, or a larger one none but less time. Of
// other curves a larger number is more work.
func (c *Curve) IsFlat() bool { return c.Kind == OverPages || c.Kind == OverMagnitudes }

// Worst returns the worst step of a curve: the largest ratio of a time to the least time of a
// larger number, which is more work, or of a flat curve to the least time of all. It lies at the
// index from, the other time at the index to. Without a step the ratio is 1 or less.
func (c *Curve) Worst() (ratio float64, from, to int) {
	for i, ns := range c.Ns {
		for k, other := range c.Ns {
			if r := ns / other; r > ratio && (k > i || c.IsFlat() && k != i) {
				ratio, from, to = r, i, k
			}
		}
	}
	return min(ratio, math.MaxFloat64), from, to
}
