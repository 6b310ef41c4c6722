package heat

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// example returns a figure of some maps of one size.
func example(maps, queries, keys int) *Figure {
	f := &Figure{Title: "model, text", QueryAxis: "date", KeyAxis: "text"}
	for i := range maps {
		m := Map{Title: fmt.Sprint("map ", i)}
		for j := range queries {
			m.Queries = append(m.Queries, fmt.Sprint(j))
		}
		for j := range keys {
			m.Keys = append(m.Keys, string(rune('a'+j)))
		}
		for j := range queries * keys {
			m.Weights = append(m.Weights, float32(j*(i+1)%(queries*keys))/float32(queries*keys))
		}
		f.Maps = append(f.Maps, m)
	}
	return f
}

func causal(query, key int) bool { return key <= query }

// draw returns the picture that WritePNG draws.
func draw(t *testing.T, f *Figure) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := f.WritePNG(&b); err != nil {
		t.Fatal(err)
	}
	p, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drawSVG writes the figure as SVG and returns its texts.
func drawSVG(t *testing.T, f *Figure) (svg string, texts []string) {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	svg = b.String()
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if err == io.EOF {
			return svg, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			var text string
			if err := d.DecodeElement(&text, &start); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
	}
}

func sameColour(a, b color.Color) bool {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	near := func(x, y uint32) bool { return max(x, y)-min(x, y) <= 0x180 } // PNG has 8 bits
	return near(ar, br) && near(ag, bg) && near(ab, bb)
}

// TestCells: the middle of each cell has the colour of its weight, or the colour of
// hidden cells. The first query is on top, the first key on the left.
func TestCells(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 60}, {2, 7}, {10, 27}, {33, 33}, {60, 2}} {
		f := example(3, size[0], size[1])
		f.Maps[1].Visible = causal
		l, err := f.layOut()
		if err != nil {
			t.Fatal(err)
		}
		picture := draw(t, f)
		if got, want := picture.Bounds().Dx(), l.size.X.Dots(dotsPerInch); math.Abs(float64(got)-want) > 1 {
			t.Fatalf("%v: the picture is %d pixels wide, want %.0f", size, got, want)
		}
		for i := range f.Maps {
			m, at, cell := &f.Maps[i], l.cells(i), l.panels[i].cell
			for query := range m.Queries {
				for key := range m.Keys {
					x := at.X + cell*(vg.Length(key)+0.5)
					y := l.size.Y - at.Y + cell*(vg.Length(query)+0.5)
					got := picture.At(int(x.Dots(dotsPerInch)), int(y.Dots(dotsPerInch)))
					want := colour(m.Weights[query*len(m.Keys)+key])
					if i == 1 && key > query {
						want = hiddenColour
					}
					if !sameColour(got, want) {
						t.Fatalf("%v: map %d, query %d, key %d: colour %v, want %v", size, i, query, key, got, want)
					}
				}
			}
		}
	}
}

// TestColours: the scale goes from white to black and gets darker with every step.
func TestColours(t *testing.T) {
	grey := func(c color.Color) int { return int(color.Gray16Model.Convert(c).(color.Gray16).Y) }
	if !sameColour(colour(0), color.White) || !sameColour(colour(1), color.Black) {
		t.Errorf("the scale goes from %v to %v, want white to black", colour(0), colour(1))
	}
	for i := 1; i < len(colours); i++ {
		if grey(colours[i]) >= grey(colours[i-1]) {
			t.Errorf("colour %d is no darker than the one before it", i)
		}
	}
}

// TestEdge: nothing is drawn at the edge of the picture, however long the texts are.
func TestEdge(t *testing.T) {
	words := example(2, 3, 4)
	words.Maps[0].Keys = []string{"the", "international", "x", "dimension"}
	words.Maps[1].Queries = []string{"one", "incomprehensible", "x"}
	long := example(1, 1, 1)
	long.Title = strings.Repeat("long words in a title ", 20)
	long.Maps[0].Title = strings.Repeat("w", 300)
	long.QueryAxis, long.KeyAxis = "a long name of an axis", strings.Repeat("a long name of an axis ", 3)
	for name, f := range map[string]*Figure{"words": words, "long": long, "untitled": {Maps: []Map{{
		Queries: []string{"a"}, Keys: []string{"b"}, Weights: []float32{1},
	}}}} {
		picture := draw(t, f)
		b := picture.Bounds()
		for x := range b.Dx() {
			for y := range b.Dy() {
				if edge := x < 6 || y < 6 || x >= b.Dx()-6 || y >= b.Dy()-6; edge && !sameColour(picture.At(x, y), color.White) {
					t.Fatalf("%s: the pixel (%d, %d) of %v is %v, want white", name, x, y, b.Size(), picture.At(x, y))
				}
			}
		}
	}
}

func TestTexts(t *testing.T) {
	f := example(2, 3, 4)
	f.Maps[0].Keys = []string{"<", "&", "long", "\x00\xff"}
	svg, texts := drawSVG(t, f)
	for _, want := range []string{"model, text", "map 0", "map 1", "date", "text", "weight", "0.2", "<", "&", "long", "\uFFFD\uFFFD", "2"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no %q in the SVG, only %q", want, texts)
		}
	}
	if slices.Contains(texts, "hidden") {
		t.Error("the scale shows a colour of hidden cells, but there are none")
	}
	for _, family := range []string{"Liberation Sans,Arial", "Liberation Mono,Courier New"} {
		if !strings.Contains(svg, family) {
			t.Errorf("no font %s in the SVG", family)
		}
	}
	f = &Figure{Maps: []Map{{Queries: []string{"a"}, Keys: []string{"b"}, Weights: []float32{1}, Visible: causal}}}
	if _, texts := drawSVG(t, f); !slices.Contains(texts, "query") || !slices.Contains(texts, "key") || !slices.Contains(texts, "hidden") {
		t.Errorf("the texts are %q, want query, key and hidden among them", texts)
	}
}

func TestWrap(t *testing.T) {
	f := sans(10)
	for text, want := range map[string][]string{
		"":                  nil,
		"short":             {"short"},
		"two words":         {"two words"},
		"many words follow": {"many", "words", "follow"},
		"wwwwwwwwww":        {"wwwwww", "wwww"},
		"é wwwwww é":        {"é", "wwwwww", "é"},
	} {
		if got := f.wrap(text, max(f.width("wwwwww"), f.width("two words"))); !slices.Equal(got, want) {
			t.Errorf("%q is wrapped as %q, want %q", text, got, want)
		}
	}
}

func TestTileColumns(t *testing.T) {
	square, wide := vg.Point{X: 100, Y: 100}, vg.Point{X: 500, Y: 200}
	for _, c := range []struct {
		tiles, want int
		tile        vg.Point
	}{{1, 1, square}, {2, 2, square}, {3, 3, square}, {6, 3, square}, {12, 4, square}, {2, 1, wide}, {8, 2, wide}} {
		if got := tileColumns(c.tiles, c.tile); got != c.want {
			t.Errorf("%d tiles of %v stand in %d columns, want %d", c.tiles, c.tile, got, c.want)
		}
	}
}

// TestErrors: a figure that cannot be drawn leaves the file as it was.
func TestErrors(t *testing.T) {
	broken := func(change func(f *Figure)) *Figure {
		f := example(1, 2, 3)
		change(f)
		return f
	}
	dir := t.TempDir()
	for name, f := range map[string]*Figure{
		"x.jpg":        example(1, 2, 3),
		"x":            example(1, 2, 3),
		"none/x.svg":   example(1, 2, 3),
		"no maps.svg":  {},
		"short.svg":    broken(func(f *Figure) { f.Maps[0].Weights = f.Maps[0].Weights[1:] }),
		"empty.svg":    example(1, 2, 0),
		"nan.svg":      broken(func(f *Figure) { f.Maps[0].Weights[2] = float32(math.NaN()) }),
		"above 1.svg":  broken(func(f *Figure) { f.Maps[0].Weights[2] = 1.001 }),
		"negative.png": broken(func(f *Figure) { f.Maps[0].Weights[2] = -0.001 }),
		"large.png":    example(1, 40000, 1),
	} {
		name = filepath.Join(dir, name)
		if err := f.WriteFile(name); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was written, or: %v", name, err)
		}
	}
}

func TestHeadWeights(t *testing.T) {
	x := make([]float32, 2*3*4*5)
	for i := range x {
		x[i] = float32(i)
	}
	shape := [4]int{2, 3, 4, 5}
	got, err := HeadWeights(x, shape, 1, 2)
	if err != nil || len(got) != 20 || got[0] != 100 || got[19] != 119 {
		t.Errorf("the last head has the weights %v, error %v, want 100 to 119", got, err)
	}
	got, err = HeadWeights(x, shape, 0, 1)
	if err != nil || len(got) != 20 || got[0] != 20 {
		t.Errorf("head 1 has the weights %v, error %v, want 20 to 39", got, err)
	}
	for _, at := range [][2]int{{2, 0}, {0, 3}, {-1, 0}, {0, -1}} {
		if _, err := HeadWeights(x, shape, at[0], at[1]); err == nil {
			t.Errorf("batch row %d, head %d: no error", at[0], at[1])
		}
	}
	for _, shape := range [][4]int{{2, 3, 4, 6}, {2, 3, 4, 4}, {}, {-2, -3, 4, 5}} {
		if _, err := HeadWeights(x, shape, 0, 0); err == nil {
			t.Errorf("shape %d: no error", shape)
		}
	}
}

func TestLabels(t *testing.T) {
	const text = "a~ \n\t\r\x00\x7fé€"
	if got, want := CharacterLabels(text), []string{"a", "~", "·", `\n`, `\t`, `\r`, "00", "7f", "é", "€"}; !slices.Equal(got, want) {
		t.Errorf("characters: %q, want %q", got, want)
	}
	if got, want := ByteLabels([]byte(text[6:])), []string{"00", "7f", "c3", "a9", "e2", "82", "ac"}; !slices.Equal(got, want) {
		t.Errorf("bytes: %q, want %q", got, want)
	}
	if got := CharacterLabels("\xff"); !slices.Equal(got, []string{"fffd"}) {
		t.Errorf("invalid UTF-8: %q", got)
	}
}
