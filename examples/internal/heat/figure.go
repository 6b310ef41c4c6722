// Package heat draws heat maps of attention weights: what is read across, what reads it
// down, and how much of it as a colour.
package heat

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is one or more heat maps side by side, with one scale of colours from 0 to 1.
type Figure struct {
	Across, Down string // what the columns and the rows are
	Maps         []Map
}

// A Map is a matrix of weights.
type Map struct {
	Title         string
	Columns, Rows []string  // labels of one or two characters; see Label
	Weights       []float32 // [rows, columns], each from 0 to 1
}

// check reports a map that cannot be drawn.
func (m *Map) check() error {
	if len(m.Columns) == 0 || len(m.Rows) == 0 || len(m.Weights) != len(m.Columns)*len(m.Rows) {
		return fmt.Errorf("map %q: %d weights, %d columns and %d rows", m.Title, len(m.Weights), len(m.Columns), len(m.Rows))
	}
	for _, w := range m.Weights {
		if !(w >= 0 && w <= 1) {
			return fmt.Errorf("map %q: a weight of %v, want 0 to 1", m.Title, w)
		}
	}
	return nil
}

// WriteFile writes the figure to a file, whose name ends with .svg or .png.
func (f *Figure) WriteFile(name string) error {
	write := f.WritePNG
	switch filepath.Ext(name) {
	case ".png":
	case ".svg":
		write = f.WriteSVG
	default:
		return fmt.Errorf("%s: want a name that ends with .svg or .png", name)
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close()
		return fmt.Errorf("%s: %w", name, err)
	}
	return file.Close()
}

// WriteSVG writes the figure as SVG.
func (f *Figure) WriteSVG(w io.Writer) error {
	l, err := f.layOut()
	if err != nil {
		return err
	}
	c := vgsvg.New(l.size.X, l.size.Y)
	l.draw(draw.New(c))
	_, err = c.WriteTo(w)
	return err
}

const (
	dotsPerInch = 144
	maxPixels   = 100e6 // of a PNG
)

// WritePNG writes the figure as PNG, two pixels to a point.
func (f *Figure) WritePNG(w io.Writer) error {
	l, err := f.layOut()
	if err != nil {
		return err
	}
	if pixels := l.size.X.Dots(dotsPerInch) * l.size.Y.Dots(dotsPerInch); pixels > maxPixels {
		return fmt.Errorf("a picture of %.0f million pixels, at most %.0f are drawn", pixels/1e6, maxPixels/1e6)
	}
	c := vgimg.NewWith(vgimg.UseWH(l.size.X, l.size.Y), vgimg.UseDPI(dotsPerInch))
	l.draw(draw.New(c))
	_, err = vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// A layout says where the parts of a figure are: maps row by row, each in the middle of
// a tile of one size, and the scale on the right.
type layout struct {
	maps    []panel
	scale   panel
	columns int
	tile    vg.Point
	size    vg.Point
}

// margin lies around everything.
const margin = vg.Length(10)

func (f *Figure) layOut() (*layout, error) {
	if len(f.Maps) == 0 {
		return nil, fmt.Errorf("a figure without maps")
	}
	longest := 0
	for i := range f.Maps {
		m := &f.Maps[i]
		if err := m.check(); err != nil {
			return nil, err
		}
		longest = max(longest, len(m.Columns), len(m.Rows))
	}
	l := &layout{columns: int(math.Ceil(math.Sqrt(float64(len(f.Maps)))))}
	for i := range f.Maps {
		p := f.panel(&f.Maps[i], cellSize(longest))
		l.maps = append(l.maps, p)
		l.tile.X = max(l.tile.X, p.size.X, p.titleWidth())
		l.tile.Y = max(l.tile.Y, p.size.Y)
	}
	rows := (len(f.Maps) + l.columns - 1) / l.columns
	l.scale = scalePanel(l.tile.Y)
	l.tile.Y = max(l.tile.Y, l.scale.size.Y)
	l.size.X = vg.Length(l.columns)*(l.tile.X+margin) + l.scale.size.X + 2*margin
	l.size.Y = vg.Length(rows)*(l.tile.Y+margin) + margin
	return l, nil
}

// draw draws the figure.
func (l *layout) draw(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	for i, p := range l.maps {
		x, y := i%l.columns, i/l.columns
		left := margin + vg.Length(x)*(l.tile.X+margin) + (l.tile.X-p.size.X)/2
		top := c.Max.Y - margin - vg.Length(y)*(l.tile.Y+margin)
		p.draw(c, left, top)
	}
	l.scale.draw(c, c.Max.X-margin-l.scale.size.X, c.Max.Y-margin-(l.tile.Y-l.scale.size.Y)/2)
}
