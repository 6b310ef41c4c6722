package heat

import (
	"image/color"
	"math"
	"strings"
	"sync"
	"unicode"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
)

// fonts returns the fonts of all texts.
var fonts = sync.OnceValue(func() *font.Cache { return font.NewCache(liberation.Collection()) })

// A face is a font with its size.
type face struct{ font.Face }

// sans returns the font of titles and names.
func sans(size vg.Length) face {
	return face{fonts().Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)}
}

// mono returns the font of labels and numbers.
func mono(size vg.Length) face {
	return face{fonts().Lookup(font.Font{Typeface: "Liberation", Variant: "Mono"}, size)}
}

// lineHeight returns the distance between the baselines of two lines.
func (f face) lineHeight() vg.Length { return 1.25 * f.Font.Size }

// width returns the width of a text in one line.
func (f face) width(text string) vg.Length { return f.Width(printable(text)) }

// widest returns the width of the widest of some texts.
func (f face) widest(texts []string) vg.Length {
	widest := vg.Length(0)
	for _, t := range texts {
		widest = max(widest, f.width(t))
	}
	return widest
}

// wrap breaks a text into lines that are no wider than width. It breaks after spaces, and
// within words only if they are wider than a line.
func (f face) wrap(text string, width vg.Length) []string {
	var lines []string
	for rest := []rune(printable(text)); len(rest) > 0; {
		n := len(rest)
		for n > 1 && f.width(string(rest[:n])) > width {
			n--
		}
		if n < len(rest) {
			if space := strings.LastIndex(string(rest[:n]), " "); space > 0 {
				n = len([]rune(string(rest[:n])[:space])) + 1
			}
		}
		lines = append(lines, strings.TrimSpace(string(rest[:n])))
		rest = rest[n:]
	}
	return lines
}

// printable replaces characters that fonts and SVG files cannot show.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// A pen draws on a canvas.
type pen struct{ vg.Canvas }

// fill fills the rectangle between two corners.
func (p pen) fill(c color.Color, from, to vg.Point) {
	p.SetColor(c)
	p.Fill(vg.Rectangle{Min: from, Max: to}.Path())
}

// line draws a line.
func (p pen) line(c color.Color, width vg.Length, from, to vg.Point) {
	var path vg.Path
	path.Move(from)
	path.Line(to)
	p.stroke(c, width, path)
}

// frame draws the sides of a rectangle.
func (p pen) frame(from, to vg.Point) {
	p.stroke(color.Black, 0.5, vg.Rectangle{Min: from, Max: to}.Path())
}

func (p pen) stroke(c color.Color, width vg.Length, path vg.Path) {
	p.SetColor(c)
	p.SetLineWidth(width)
	p.Stroke(path)
}

// Where the point at which a text is drawn lies in the text: the part of its width that
// is left of the point.
const (
	atStart  = 0
	atMiddle = 0.5
	atEnd    = 1
)

// text draws one line of text. The point is halfway between the top and the bottom of its
// capital letters; align is one of the constants above.
func (p pen) text(f face, at vg.Point, align vg.Length, text string) {
	text = printable(text)
	p.SetColor(color.Black)
	// Capital letters and digits are two thirds of the font size high.
	p.FillString(f.Face, at.Add(vg.Point{X: -align * f.width(text), Y: -f.Font.Size / 3}), text)
}

// textUpwards is text rotated by 90 degrees, so that it reads from bottom to top.
func (p pen) textUpwards(f face, at vg.Point, align vg.Length, text string) {
	p.Push()
	p.Translate(at)
	p.Rotate(math.Pi / 2)
	p.text(f, vg.Point{}, align, text)
	p.Pop()
}
