package heat

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// cellSize returns the side of a cell: room for a label of two characters, less where
// there are many.
func cellSize(longest int) vg.Length {
	return max(7, min(14, 640/vg.Length(longest)))
}

// A panel is a plot and the size that it takes for its data to have the size wanted.
type panel struct {
	*plot.Plot
	size vg.Point
}

func newPanel(p *plot.Plot, data vg.Point) panel {
	p.X.Label.Text = fitting(&p.X, data.X)
	p.Y.Label.Text = fitting(&p.Y, data.Y)
	// Around the data are the labels, which have the same size in any plot.
	canvas := data.Add(vg.Point{X: 200, Y: 200})
	inner := p.DataCanvas(draw.Canvas{Rectangle: vg.Rectangle{Max: canvas}}).Size()
	return panel{p, canvas.Add(data).Sub(inner)}
}

// fitting returns an axis's name, or none if that is longer than the axis, as the plot
// would then shrink the data.
func fitting(a *plot.Axis, length vg.Length) string {
	if a.Label.TextStyle.Width(a.Label.Text) > length {
		return ""
	}
	return a.Label.Text
}

func (p *panel) titleWidth() vg.Length { return p.Title.TextStyle.Width(p.Title.Text) }

// draw draws the panel with its upper left corner at (left, top).
func (p *panel) draw(c draw.Canvas, left, top vg.Length) {
	c.Rectangle = vg.Rectangle{Min: vg.Point{X: left, Y: top - p.size.Y}, Max: vg.Point{X: left + p.size.X, Y: top}}
	p.Draw(c)
}

// panel returns the plot of a map with cells of a size.
func (f *Figure) panel(m *Map, cell vg.Length) panel {
	p := newPlot(m.Title, f.Across, f.Down)
	columns, rows := len(m.Columns), len(m.Rows)
	h := plotter.NewHeatMap(field{m}, colours().Palette(256))
	h.Min, h.Max = 0, 1
	p.Add(cells{h, h}, grid{columns, rows}, frame{})
	// The plotter leaves out cells that reach beyond the axes, be it by a rounding error.
	const tiny = 1e-6
	p.X.Min, p.X.Max = -0.5-tiny, float64(columns)-0.5+tiny
	p.Y.Min, p.Y.Max = -0.5-tiny, float64(rows)-0.5+tiny
	label(&p.X, m.Columns, func(i int) float64 { return float64(i) }, cell)
	label(&p.Y, m.Rows, func(i int) float64 { return float64(field{m}.fromTop(i)) }, cell)
	return newPanel(p, vg.Point{X: cell * vg.Length(columns), Y: cell * vg.Length(rows)})
}

// colours go from white, 0, to black, 1, through yellow and red, in even steps of
// lightness.
func colours() palette.ColorMap {
	c := moreland.ExtendedBlackBody()
	c.SetMin(0)
	c.SetMax(1)
	return palette.Reverse(c)
}

// newPlot returns a plot whose axes touch the data.
func newPlot(title, across, down string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, across, down
	p.Title.TextStyle.Font = font.From(sans, 11)
	p.Title.Padding = 6
	p.BackgroundColor = nil // the figure's
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = font.From(sans, 10)
		a.Label.Padding = 4
		a.Padding, a.Width, a.Tick.Width = 0, 0, 0
	}
	p.X.Padding = 3
	p.Y.Tick.Label.YAlign = -0.72 // the middle of digits, which have no descender
	return p
}

var (
	sans = font.Font{Typeface: "Liberation", Variant: "Sans"}
	mono = font.Font{Typeface: "Liberation", Variant: "Mono"}
)

// label writes labels beside their cells.
func label(a *plot.Axis, labels []string, at func(int) float64, cell vg.Length) {
	var ticks []plot.Tick
	for i, l := range labels {
		ticks = append(ticks, plot.Tick{Value: at(i), Label: l})
	}
	a.Tick.Marker = plot.ConstantTicks(ticks)
	a.Tick.Label.Font = font.From(mono, 0.66*cell)
}

// A field is a Map as the plotter wants it: it counts rows from the bottom.
type field struct{ *Map }

func (f field) Dims() (columns, rows int) { return len(f.Columns), len(f.Rows) }
func (f field) X(column int) float64      { return float64(column) }
func (f field) Y(row int) float64         { return float64(row) }
func (f field) Z(column, row int) float64 {
	return float64(f.Weights[f.fromTop(row)*len(f.Columns)+column])
}

func (f field) fromTop(row int) int { return len(f.Rows) - 1 - row }

// cells are a heat map that keeps no distance to the axes, as it does for the sake of
// glyphs.
type cells struct {
	plot.Plotter
	plot.DataRanger
}

// grid draws lines between so many columns and rows of cells.
type grid struct{ columns, rows int }

// Plot implements plot.Plotter.
func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	style := draw.LineStyle{Color: color.Gray{0xD8}, Width: 0.25}
	x, y := p.Transforms(&c)
	for i := 1; i < g.columns; i++ {
		at := x(float64(i) - 0.5)
		c.StrokeLine2(style, at, c.Min.Y, at, c.Max.Y)
	}
	for i := 1; i < g.rows; i++ {
		at := y(float64(i) - 0.5)
		c.StrokeLine2(style, c.Min.X, at, c.Max.X, at)
	}
}

// frame draws a line around the data.
type frame struct{}

// Plot implements plot.Plotter.
func (frame) Plot(c draw.Canvas, _ *plot.Plot) {
	style := draw.LineStyle{Color: color.Black, Width: 0.5}
	c.StrokeLines(style, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}, c.Min})
}

// scalePanel returns the scale of colours, for maps of a height.
func scalePanel(height vg.Length) panel {
	p := newPlot("", "", "weight")
	p.Add(bar{}, frame{})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	p.HideX()
	label(&p.Y, []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}, func(i int) float64 { return float64(i) / 5 }, 11)
	return newPanel(p, vg.Point{X: 12, Y: max(80, min(200, height-2*margin))})
}

// bar draws the colours from 0 to 1. The plotter's own ColorBar makes an image of them,
// which some viewers of SVG do not show.
type bar struct{}

// Plot implements plot.Plotter.
func (bar) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	colours := colours().Palette(128).Colors()
	for i, colour := range colours {
		// Each covers all above, so that no seams show between them.
		area := vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y(float64(i) / float64(len(colours)))}, Max: c.Max}
		c.SetColor(colour)
		c.Fill(area.Path())
	}
}
