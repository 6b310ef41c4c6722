package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// wellFormed parses XML.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
	}
}

func examples() map[string]*Chart {
	return map[string]*Chart{
		"points": {LogX: true, LogY: true, XLabel: "a <b>", Series: []Series{{Name: "x", Line: true, Points: []Point{{1, 2, "one"}, {10, 20, "two"}, {0, 1, "not on the axis"}}}, {Dashed: true, Points: []Point{{1, 1, ""}, {9, 9, ""}}}}},
		"one":    {LogX: true, LogY: true, Series: []Series{{Points: []Point{{1, 2, "one"}}}}},
		"bars":   {Bars: []string{"<first>", "second"}, Series: []Series{{Points: []Point{{X: 10, Label: "a"}, {X: 50, Label: "b"}}}, {Style: 1, Points: []Point{{X: -5, Label: "c"}, {}}}}},
		"none":   {},
	}
}

func TestDraw(t *testing.T) {
	hits := map[string]int{"points": 2, "one": 1, "bars": 3}
	for name, c := range examples() {
		svg, found, err := c.Inline(400, 300)
		if err != nil {
			t.Fatal(name, err)
		}
		wellFormed(t, svg)
		if len(found) != hits[name] {
			t.Errorf("%s: %d hits, want %d", name, len(found), hits[name])
		}
		for _, h := range found {
			if h.X < -3 || h.Y < -3 || h.X+h.W > 103 || h.Y+h.H > 103 {
				t.Errorf("%s: %+v lies outside", name, h)
			}
		}
		if strings.Contains(svg, "#0100") || strings.Contains(svg, "#0200") {
			t.Errorf("%s has placeholders for colours", name)
		}
		if strings.Contains(svg, "#-") {
			t.Errorf("%s has a colour that is none", name)
		}
		if strings.Contains(svg, "<first>") || strings.Contains(svg, "<b>") {
			t.Errorf("%s has text that is not escaped", name)
		}
	}
}

// The first group of bars is at the top, and the first bar of a group above the second.
func TestOrderOfBars(t *testing.T) {
	_, hits, err := examples()["bars"].Inline(400, 300)
	if err != nil || len(hits) != 3 {
		t.Fatal(hits, err)
	}
	if a, b, c := hits[0], hits[1], hits[2]; !(a.Y < c.Y && c.Y < b.Y) {
		t.Errorf("a at %g, c at %g, b at %g", a.Y, c.Y, b.Y)
	}
}

func TestFiles(t *testing.T) {
	onLight, onDark, err := examples()["points"].Files(400, 300)
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, onLight)
	if !strings.Contains(onLight, light.series[0]) || !strings.Contains(onDark, dark.series[0]) || strings.Contains(onDark, "var(") {
		t.Error("wrong colours")
	}
}

// No two series of bars look the same, and what has no style is named. Long names of groups take
// several lines where the drawing is narrow, and the bars keep room.
func TestManyBars(t *testing.T) {
	c := &Chart{}
	for i := range Styles + 2 {
		c.AddBar("all-MiniLM-L6-v2, 8 × 64 tokens", string(rune('a'+i)), Point{X: 1 + float64(i), Label: "x"})
	}
	if len(c.Series) != Styles || strings.Join(c.LeftOut, "") != "gh" {
		t.Errorf("%d series, left out %q", len(c.Series), c.LeftOut)
	}
	_, hits, err := c.Inline(370, 340)
	if err != nil || len(hits) != Styles {
		t.Fatal(len(hits), err)
	}
	if longest := hits[Styles-1]; longest.W < 50 {
		t.Errorf("the longest bar takes %.0f%% of the width", longest.W)
	}
}
