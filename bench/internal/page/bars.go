package page

import (
	"slices"

	"github.com/attn-go/attn/bench/internal/chart"
)

// addBar puts a bar into the group and the series of these names, which are made when they first
// appear.
func addBar(c *chart.Chart, group, series string, bar chart.Point) {
	g := slices.Index(c.Bars, group)
	if g < 0 {
		g = len(c.Bars)
		c.Bars = append(c.Bars, group)
		for i := range c.Series {
			c.Series[i].Points = append(c.Series[i].Points, chart.Point{})
		}
	}
	s := slices.IndexFunc(c.Series, func(s chart.Series) bool { return s.Name == series })
	if s < 0 {
		s = len(c.Series)
		c.Series = append(c.Series, chart.Series{Name: series, Style: s, Points: make([]chart.Point, len(c.Bars))})
	}
	c.Series[s].Points[g] = bar
}
