package heat

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// example returns a figure of so many maps.
func example(maps, columns, rows int) *Figure {
	f := &Figure{Across: "text", Down: "date"}
	for i := range maps {
		m := Map{Title: fmt.Sprint("map ", i)}
		for j := range columns {
			m.Columns = append(m.Columns, Label(rune(j)))
		}
		for j := range rows {
			m.Rows = append(m.Rows, Label(rune('0'+j)))
		}
		for j := range columns * rows {
			m.Weights = append(m.Weights, float32(j)/float32(columns*rows))
		}
		f.Maps = append(f.Maps, m)
	}
	return f
}

// TestCells: every cell is drawn once, the first row on top, and all is on the canvas.
func TestCells(t *testing.T) {
	for _, columns := range []int{1, 2, 3, 7, 27, 33, 60} {
		for _, rows := range []int{1, 2, 10, 33} {
			f := example(2, columns, rows)
			l, err := f.layOut()
			if err != nil {
				t.Fatal(err)
			}
			var c recorder.Canvas
			l.draw(draw.NewCanvas(&c, l.size.X, l.size.Y))
			cells := 0
			for _, a := range c.Actions {
				fill, ok := a.(*recorder.Fill)
				if !ok || len(fill.Path) != 5 {
					continue
				}
				corner, size := fill.Path[0].Pos, fill.Path[2].Pos.Sub(fill.Path[0].Pos)
				if corner.X < 0 || corner.Y < 0 || corner.X+size.X > l.size.X || corner.Y+size.Y > l.size.Y {
					t.Fatalf("%d·%d: a cell beyond the canvas", columns, rows)
				}
				if side := float64(cellSize(max(columns, rows))); math.Abs(float64(size.X)-side) < 0.01 && math.Abs(float64(size.Y)-side) < 0.01 {
					cells++
				}
			}
			if cells != 2*columns*rows {
				t.Errorf("%d·%d: %d cells, want %d", columns, rows, cells, 2*columns*rows)
			}
		}
	}
}

// TestOrder: the first row is on top, the first column on the left.
func TestOrder(t *testing.T) {
	m := &example(1, 3, 2).Maps[0]
	if got := (field{m}).Z(2, 1); got != float64(m.Weights[2]) {
		t.Errorf("the end of the upper row is %v, want %v", got, m.Weights[2])
	}
	if got := (field{m}).Z(0, 0); got != float64(m.Weights[3]) {
		t.Errorf("the start of the lower row is %v, want %v", got, m.Weights[3])
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	f := example(5, 9, 4)
	svg, image := filepath.Join(dir, "x.svg"), filepath.Join(dir, "x.png")
	for _, name := range []string{svg, image} {
		if err := f.WriteFile(name); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(svg)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", ">map 4<", ">date<", ">text<", ">weight<", ">08<", "</svg>"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in the SVG", want)
		}
	}
	data, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	l, _ := f.layOut()
	if got, want := picture.Bounds().Dx(), l.size.X.Dots(dotsPerInch); math.Abs(float64(got)-want) > 1 {
		t.Errorf("a picture of %d pixels, want %.0f", got, want)
	}
}

func TestErrors(t *testing.T) {
	broken := func(change func(f *Figure)) *Figure {
		f := example(1, 3, 2)
		change(f)
		return f
	}
	dir := t.TempDir()
	for name, f := range map[string]*Figure{
		"x.jpg":        example(1, 3, 2),
		"x":            example(1, 3, 2),
		"none/x.svg":   example(1, 3, 2),
		"no maps.svg":  {},
		"few.svg":      broken(func(f *Figure) { f.Maps[0].Weights = f.Maps[0].Weights[1:] }),
		"empty.svg":    example(1, 0, 2),
		"nan.svg":      broken(func(f *Figure) { f.Maps[0].Weights[2] = float32(math.NaN()) }),
		"above 1.svg":  broken(func(f *Figure) { f.Maps[0].Weights[2] = 1.001 }),
		"negative.svg": broken(func(f *Figure) { f.Maps[0].Weights[2] = -0.001 }),
		"large.png":    example(1, 1, 40000),
	} {
		if err := f.WriteFile(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestLabel(t *testing.T) {
	for c, want := range map[rune]string{'a': "a", '~': "~", ' ': "·", '\n': `\n`, '\t': `\t`, '\r': `\r`, 0: "00", 0x7f: "7f", 0xe9: "e9"} {
		if got := Label(c); got != want {
			t.Errorf("%q is labelled %q, want %q", c, got, want)
		}
	}
}
