// Package heat draws attention weights as heat maps, in SVG and PNG files.
//
// In a map every row is a query and every column is a key. The colour of a cell shows
// the weight with which the query attends to the key, from white for 0 to black for 1.
// The weights of a row sum to 1, or to less if the softmax has sinks.
//
// # Drawing the weights of your own model
//
// First let kernel.Attention write its weights, [batch, heads, queries, keys], into a slice:
//
//	weights := make([]float32, batch*heads*queries*keys)
//	err := kernel.Attention(out, q, k, v, &kernel.Options{
//		Outputs: kernel.Outputs{Weights: kernel.BHLD(weights, batch, heads, queries, keys)},
//	})
//
// Then take the weights of one batch row and one head, label the queries and the keys,
// and write the file. In self-attention both have the same labels:
//
//	shape := [4]int{batch, heads, queries, keys}
//	w, err := heat.HeadWeights(weights, shape, 0, 0)
//	labels := []string{"the", "cat", "sleeps"}
//	figure := heat.Figure{
//		Title: "my model, layer 0",
//		Maps:  []heat.Map{{Title: "head 0", Queries: labels, Keys: labels, Weights: w}},
//	}
//	err = figure.WriteFile("weights.png")
//
// The example of the package is a whole program. Several maps, such as one for each head,
// are drawn side by side. [CharacterLabels] and [ByteLabels] make labels of a text.
package heat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is one or more heat maps side by side, with one colour scale.
type Figure struct {
	// Title stands above all maps. It should name the model and the text.
	Title string

	// QueryAxis and KeyAxis name the rows and the columns of every map. They are
	// "query" and "key" if empty.
	QueryAxis, KeyAxis string

	// Maps are the heat maps, at least one.
	Maps []Map
}

// A Map is the matrix of weights of one head.
type Map struct {
	// Title stands above the map.
	Title string

	// Queries are the labels of the rows, from the top. Keys are the labels of the
	// columns, from the left. There is one label for each query and each key.
	Queries, Keys []string

	// Weights has a row of len(Keys) weights for each query, one row after the other.
	// Each weight is from 0 to 1. Dropout makes some weights larger, which cannot be
	// drawn.
	Weights []float32

	// Visible, if not nil, reports whether a mask lets a query attend to a key, given
	// their indices. Other cells are hidden: they are drawn grey, so that they look
	// different from weights near 0. If Visible is nil, no cell is hidden.
	Visible func(query, key int) bool
}

// HeadWeights returns the part of some weights that belongs to one batch row and one head,
// for [Map.Weights]. The weights have the shape [batch, heads, queries, keys] without gaps,
// as kernel.Attention writes them into kernel.BHLD.
func HeadWeights(weights []float32, shape [4]int, batch, head int) ([]float32, error) {
	batches, heads, queries, keys := shape[0], shape[1], shape[2], shape[3]
	if min(batches, heads, queries, keys) < 1 || len(weights) != batches*heads*queries*keys {
		return nil, fmt.Errorf("%d weights cannot have the shape [batch heads queries keys] = %d", len(weights), shape)
	}
	if batch < 0 || batch >= batches || head < 0 || head >= heads {
		return nil, fmt.Errorf("there is no head %d in batch row %d: the weights have %d batch rows of %d heads",
			head, batch, batches, heads)
	}
	n := queries * keys
	return weights[(batch*heads+head)*n:][:n], nil
}

// WriteFile writes the figure to a file whose name ends with .svg or .png. It overwrites
// an existing file. If the figure cannot be drawn, the file stays as it was.
func (f *Figure) WriteFile(name string) error {
	var write func(io.Writer) error
	switch strings.ToLower(filepath.Ext(name)) {
	case ".svg":
		write = f.WriteSVG
	case ".png":
		write = f.WritePNG
	default:
		return fmt.Errorf("%s: the file name must end with .svg or .png", name)
	}
	var picture bytes.Buffer
	if err := write(&picture); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, picture.Bytes(), 0o666)
}

// WriteSVG writes the figure as SVG.
func (f *Figure) WriteSVG(w io.Writer) error {
	l, err := f.layOut()
	if err != nil {
		return err
	}
	c := vgsvg.New(l.size.X, l.size.Y)
	l.draw(c)
	var picture bytes.Buffer
	if _, err := c.WriteTo(&picture); err != nil {
		return err
	}
	_, err = fontFallbacks.WriteString(w, picture.String())
	return err
}

// fontFallbacks adds fonts with the same widths, for computers without the Liberation
// fonts. The canvas names only these.
var fontFallbacks = strings.NewReplacer(
	"font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;",
	"font-family:Liberation Mono;", "font-family:Liberation Mono,Courier New,Courier,monospace;")

const (
	dotsPerInch = 144   // of a PNG: two pixels per point
	maxPixels   = 100e6 // of a PNG
)

// WritePNG writes the figure as PNG.
func (f *Figure) WritePNG(w io.Writer) error {
	l, err := f.layOut()
	if err != nil {
		return err
	}
	if pixels := l.size.X.Dots(dotsPerInch) * l.size.Y.Dots(dotsPerInch); pixels > maxPixels {
		return fmt.Errorf("the picture would have %.0f million pixels, the limit is %.0f million", pixels/1e6, maxPixels/1e6)
	}
	c := vgimg.NewWith(vgimg.UseWH(l.size.X, l.size.Y), vgimg.UseDPI(dotsPerInch))
	l.draw(c)
	_, err = vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// check returns an error if the figure cannot be drawn.
func (f *Figure) check() error {
	if len(f.Maps) == 0 {
		return errors.New("the figure has no maps")
	}
	for i := range f.Maps {
		if err := f.Maps[i].check(); err != nil {
			return fmt.Errorf("map %d (%q): %w", i, f.Maps[i].Title, err)
		}
	}
	return nil
}

// check returns an error if the map cannot be drawn.
func (m *Map) check() error {
	queries, keys := len(m.Queries), len(m.Keys)
	if queries == 0 || keys == 0 {
		return fmt.Errorf("%d queries and %d keys, want at least one of each", queries, keys)
	}
	if len(m.Weights) != queries*keys {
		return fmt.Errorf("%d weights, want %d: %d queries times %d keys", len(m.Weights), queries*keys, queries, keys)
	}
	for i, w := range m.Weights {
		if !(w >= 0 && w <= 1) {
			return fmt.Errorf("the weight of query %d and key %d is %v, want 0 to 1", i/keys, i%keys, w)
		}
	}
	return nil
}

// visible tells whether a cell is not hidden by a mask.
func (m *Map) visible(query, key int) bool { return m.Visible == nil || m.Visible(query, key) }

// All lengths are in points, 1/72 inch. The origin is the lower left corner.
const (
	margin = vg.Length(10) // around the figure and between maps
	gap    = vg.Length(4)  // between cells, labels and names
)
