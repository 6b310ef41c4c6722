// Package chart draws the charts of results as SVG. Package gonum.org/v1/plot draws them; this
// package chooses what the charts of all pages have in common: a palette that the colour-blind
// can tell apart, marks that differ in shape as well, light and dark themes, and places to point
// at.
package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Chart shows series in a plane or, if Bars has names, as horizontal bars.
type Chart struct {
	XLabel, YLabel string
	LogX, LogY     bool
	Bars           []string  // names of the groups of bars, from the top
	Series         []Series  // of bars, each has as many points as there are groups
	XTicks         []float64 // values to mark; nil: chosen by the range
	FromZero       bool      // the axes begin at 0
	LeftOut        []string  // series that AddBar has not added, as there are no more styles

	legend bool // in the drawing
}

// A Series is a set of points of one colour and mark.
type Series struct {
	Name   string
	Points []Point
	Line   bool // connect the points
	Dashed bool // with dashes, and without marks
	Bare   bool // without marks
	Sparse bool // with marks at points that have a label alone
	Style  int  // which colour and mark
}

// Named returns the series of a name. If there is none yet, it is added, with the next style.
func (c *Chart) Named(name string) *Series {
	for i := range c.Series {
		if c.Series[i].Name == name {
			return &c.Series[i]
		}
	}
	n := len(c.Series)
	c.Series = append(c.Series, Series{Name: name, Style: n, Points: make([]Point, len(c.Bars))})
	return &c.Series[n]
}

// AddBar puts a bar into the group and the series of these names, which are made when they first
// appear. No two series look the same: those beyond Styles are left out.
func (c *Chart) AddBar(group, series string, bar Point) {
	if len(c.Series) >= Styles && !slices.ContainsFunc(c.Series, func(s Series) bool { return s.Name == series }) {
		if !slices.Contains(c.LeftOut, series) {
			c.LeftOut = append(c.LeftOut, series)
		}
		return
	}
	g := slices.Index(c.Bars, group)
	if g < 0 {
		g = len(c.Bars)
		c.Bars = append(c.Bars, group)
		for i := range c.Series {
			c.Series[i].Points = append(c.Series[i].Points, Point{})
		}
	}
	c.Named(series).Points[g] = bar
}

// A Point has a label that says in words what and how much it is. Of a bar, only X counts.
type Point struct {
	X, Y  float64
	Label string
}

// A Hit is where a point is drawn: a rectangle in percent of the drawing, from its top left.
type Hit struct {
	X, Y, W, H float64
	Label      string
}

// Marks are what the points of the styles look like, for legends.
var Marks = []string{"●", "■", "▲", "○", "□", "△"}

var glyphs = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}

// Styles is the number of different styles.
var Styles = len(Marks)

// A theme gives the placeholders for colours in a drawing their colours.
type theme struct {
	series    []string
	ink, grid string
}

var (
	// inPage takes the colours from the style sheet of the page around the drawing.
	inPage = theme{[]string{"var(--s0)", "var(--s1)", "var(--s2)", "var(--s3)", "var(--s4)", "var(--s5)"}, "var(--ink)", "var(--grid)"}
	// The palette of Okabe and Ito, with a lighter blue on dark ground.
	light = theme{[]string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"}, "#24292F", "#D0D7DE"}
	dark  = theme{[]string{"#4DA6E0", "#E8743B", "#2FC297", "#E29BC1", "#E69F00", "#9AD4F5"}, "#D6DCE3", "#3D444D"}
)

func seriesColor(i int) color.Color { return color.RGBA{1, 0, uint8(i % Styles), 255} }

var inkColor, gridColor = color.RGBA{2, 0, 1, 255}, color.RGBA{2, 0, 2, 255}

// apply puts the theme's colours for the placeholders.
func (t theme) apply(svg string) string {
	pairs := []string{"#020001", t.ink, "#020002", t.grid}
	for i, c := range t.series {
		pairs = append(pairs, fmt.Sprintf("#0100%02X", i), c)
	}
	return strings.NewReplacer(pairs...).Replace(fonts.ReplaceAllString(svg, "font-family:"+fontStack))
}

// The drawing is laid out for Liberation Sans. The other fonts have the same widths.
const fontStack = "'Liberation Sans',Arial,Helvetica,sans-serif"

var fonts = regexp.MustCompile(`font-family:[^;"]*`)

// Inline draws the chart for a page of HTML, with the colours of its style sheet, and says where
// its points are. Bars have a height of their own.
func (c *Chart) Inline(width, height float64) (svg string, hits []Hit, err error) {
	raw, hits, err := c.draw(width, height)
	_, svg, _ = strings.Cut(raw, "<svg")
	return inPage.apply("<svg aria-hidden=\"true\"" + svg), hits, err
}

// Files draws the chart as two files, for light and for dark ground.
func (c *Chart) Files(width, height float64) (onLight, onDark string, err error) {
	c.legend = true
	raw, _, err := c.draw(width, height)
	return light.apply(raw), dark.apply(raw), err
}

// draw draws the chart in placeholders for colours.
func (c *Chart) draw(width, height float64) (svg string, hits []Hit, err error) {
	p, height := plot.New(), c.height(width, height)
	p.BackgroundColor = nil // a transparent one becomes a fill that is no colour
	axes(p, c)
	if len(c.Bars) > 0 {
		err = c.addBars(p, width, height)
	} else {
		err = c.addPoints(p)
	}
	if err != nil {
		return "", nil, err
	}
	canvas := vgsvg.NewWith(vgsvg.UseWH(vg.Points(width), vg.Points(height)))
	area := draw.Crop(draw.New(canvas), 2, -18, 2, -6)
	p.Draw(area)
	data := p.DataCanvas(area)
	x, y := p.Transforms(&data)
	hits = c.hits(width, height, func(px, py float64) (float64, float64) {
		return x(px).Points(), height - y(py).Points()
	})
	var b bytes.Buffer
	_, err = canvas.WriteTo(&b)
	return b.String(), hits, err
}

// axes sets fonts, colours, scales and the grid.
func axes(p *plot.Plot, c *Chart) {
	p.X.Label.Text, p.Y.Label.Text = c.XLabel, c.YLabel
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Tick.Marker = ticker{plot.DefaultTicks{}}
		a.Color, a.LineStyle.Color, a.Tick.Color = gridColor, gridColor, gridColor
		a.Label.TextStyle.Color, a.Tick.Label.Color = inkColor, inkColor
		for _, f := range []*font.Font{&a.Label.TextStyle.Font, &a.Tick.Label.Font} {
			f.Variant, f.Size = "Sans", 11
		}
	}
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticker{plot.LogTicks{Prec: -1}}
	}
	if c.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, ticker{plot.LogTicks{Prec: -1}}
	}
	if c.XTicks != nil {
		var ticks []plot.Tick
		for _, v := range c.XTicks {
			ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%g", v)})
		}
		p.X.Tick.Marker = plot.ConstantTicks(ticks)
	}
	p.Legend.TextStyle.Color, p.Legend.TextStyle.Font.Variant, p.Legend.TextStyle.Font.Size = inkColor, "Sans", 11
	p.Legend.Padding, p.Legend.ThumbnailWidth = 3, 16
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = gridColor, gridColor
	if len(c.Bars) > 0 {
		grid.Horizontal.Color = nil
	}
	p.Add(grid)
}

// A ticker labels the ticks of another one with few digits.
type ticker struct{ plot.Ticker }

func (t ticker) Ticks(least, most float64) []plot.Tick {
	ticks := t.Ticker.Ticks(least, most)
	for i := range ticks {
		if ticks[i].Label != "" {
			digits := 3
			if ticks[i].Value >= 1 {
				digits = 6
			}
			ticks[i].Label = strings.NewReplacer("e-0", "e-", "e+0", "e").Replace(strconv.FormatFloat(ticks[i].Value, 'g', digits, 64))
		}
	}
	return ticks
}

// addPoints adds points and lines.
func (c *Chart) addPoints(p *plot.Plot) error {
	for _, s := range c.Series {
		var xys, marks plotter.XYs
		for _, pt := range s.Points {
			if c.LogX && pt.X <= 0 || c.LogY && pt.Y <= 0 || math.IsInf(pt.X, 0) || math.IsInf(pt.Y, 0) {
				continue // is not on the axes
			}
			xys = append(xys, plotter.XY{X: pt.X, Y: pt.Y})
			if pt.Label != "" || !s.Sparse {
				marks = append(marks, plotter.XY{X: pt.X, Y: pt.Y})
			}
		}
		if len(xys) == 0 {
			continue
		}
		if s.Line || s.Dashed {
			l, err := plotter.NewLine(xys)
			if err != nil {
				return err
			}
			l.Color, l.Width = seriesColor(s.Style), 2
			if s.Dashed {
				l.Color, l.Width, l.Dashes = inkColor, 1, []vg.Length{5, 4}
			}
			p.Add(l)
			if c.legend && (s.Bare || s.Dashed) {
				p.Legend.Add(s.Name, l)
			}
		}
		if !s.Dashed && !s.Bare {
			m, err := plotter.NewScatter(marks)
			if err != nil {
				return err
			}
			m.Color, m.Radius, m.Shape = seriesColor(s.Style), 4.5, glyphs[s.Style%Styles]
			p.Add(m)
			if c.legend {
				p.Legend.Add(s.Name, m)
			}
		}
	}
	if c.FromZero {
		p.X.Min, p.Y.Min = 0, 0
	}
	for _, a := range []struct {
		axis *plot.Axis
		log  bool
	}{{&p.X, c.LogX}, {&p.Y, c.LogY}} {
		switch {
		case a.log && a.axis.Max > 0: // without points, gonum sets a range of its own
			a.axis.Min, a.axis.Max = a.axis.Min/1.3, a.axis.Max*1.3
		case c.FromZero && !math.IsInf(a.axis.Max, 0):
			a.axis.Max *= 1.05
		}
	}
	return nil
}

// height returns the height of a drawing, which bars determine, and the lines of their names.
func (c *Chart) height(width, height float64) float64 {
	if len(c.Bars) == 0 {
		return height
	}
	lines := 1
	for _, name := range c.Bars {
		lines = max(lines, 1+strings.Count(wrap(name, width), "\n"))
	}
	return 50 + float64(len(c.Bars))*max(12+13*float64(len(c.Series)), 14*float64(lines)+4)
}

// wrap breaks a name of bars into lines, so that it takes at most a third of the width.
func wrap(name string, width float64) string {
	most := int(width / 3 / 6) // characters
	var b strings.Builder
	line := 0
	for i, word := range strings.Fields(name) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case line+1+n > most:
			b.WriteByte('\n')
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += n
	}
	return b.String()
}

// barWidth returns the width of a bar, in points.
func (c *Chart) barWidth(height float64) float64 {
	return (height - 50) / (float64(len(c.Bars)) + 0.2) / (float64(len(c.Series)) + 0.9)
}

// addBars adds horizontal bars, the first group at the top.
func (c *Chart) addBars(p *plot.Plot, width, height float64) error {
	n := len(c.Bars)
	bar := c.barWidth(height)
	for i, s := range c.Series {
		values := make(plotter.Values, n)
		for g := range n {
			values[n-1-g] = s.Points[g].X
		}
		b, err := plotter.NewBarChart(values, vg.Points(bar))
		if err != nil {
			return err
		}
		b.Horizontal, b.Color, b.LineStyle.Width = true, seriesColor(s.Style), 0
		b.Offset = vg.Points(bar * (float64(len(c.Series)-1)/2 - float64(i)))
		p.Add(b)
		if c.legend {
			p.Legend.Add(s.Name, b)
		}
	}
	names := make([]string, n)
	for g, name := range c.Bars {
		names[n-1-g] = wrap(name, width)
	}
	p.NominalY(names...)
	p.Y.Tick.Length, p.Y.Width = 0, 0
	p.X.Min, p.X.Max = min(0, p.X.Min), max(0, p.X.Max)*1.03
	p.Y.Min, p.Y.Max = -0.6, float64(n)-0.4
	return nil
}

// hits returns where the points are.
func (c *Chart) hits(width, height float64, at func(x, y float64) (float64, float64)) (hits []Hit) {
	box := func(x, y, w, h float64, label string) {
		if label != "" && !math.IsNaN(x+y+w+h) && !math.IsInf(x+y+w+h, 0) {
			hits = append(hits, Hit{100 * x / width, 100 * y / height, 100 * w / width, 100 * h / height, label})
		}
	}
	for i, s := range c.Series {
		for g, pt := range s.Points {
			if len(c.Bars) == 0 {
				if !(c.LogX && pt.X <= 0 || c.LogY && pt.Y <= 0) {
					x, y := at(pt.X, pt.Y)
					box(x-8, y-8, 16, 16, pt.Label)
				}
				continue
			}
			if pt.Label == "" {
				continue
			}
			w := c.barWidth(height)
			x0, y := at(0, float64(len(c.Bars)-1-g))
			x1, _ := at(pt.X, 0)
			y -= w * (float64(len(c.Series)-1)/2 - float64(i))
			box(min(x0, x1), y-w/2, max(math.Abs(x1-x0), 6), w, pt.Label)
		}
	}
	return hits
}
