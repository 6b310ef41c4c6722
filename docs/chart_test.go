// Package docs_test draws docs/libraries.svg, the chart in README.md, from a table in
// BENCHMARKS.md, and tests that the committed chart is up to date:
//
//	go test ./docs -update
package docs_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the chart")

const chartFile = "libraries.svg"

// labels are the rows of the table that the chart shows, from the top.
var labels = []struct{ shape, text string }{
	{"M", "M: 12 heads, 128 × 128, D 32"},
	{"D", "D: 12 heads, 128 × 128, D 64"},
	{"S16", "S16: 12 heads, 16 × 16, D 64"},
	{"A", "A: 8 heads, 1024 × 1024, D 64"},
	{"E", "E: 4 heads, 2048 × 2048, D 128"},
	{"B", "B: 4 heads, 2048 × 2048, D 128, causal"},
	{"C", "C: decoding, 32 heads on 8, 1 × 4096, D 128"},
}

var colours = []string{"#1b6ca8", "#e07b39", "#8e6c8a", "#7a9e7e"}

func TestChart(t *testing.T) {
	text, err := os.ReadFile("../BENCHMARKS.md")
	if err != nil {
		t.Fatal(err)
	}
	libraries, ratios, err := parseTable(string(text))
	if err != nil {
		t.Fatal("BENCHMARKS.md: ", err)
	}
	for _, label := range labels {
		if ratios[label.shape] == nil {
			t.Errorf("BENCHMARKS.md has no row %s", label.shape)
		}
	}
	want := draw(libraries, ratios)
	if *update {
		if err := os.WriteFile(chartFile, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(chartFile); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/%s is not what BENCHMARKS.md gives (%v): run go test ./docs -update", chartFile, err)
	}
}

// parseTable returns the names of the libraries and, for every shape, how many times the
// time of the first library each one takes; 0 where a library has no figure.
func parseTable(text string) (libraries []string, ratios map[string][]float64, err error) {
	_, table, found := strings.Cut(text, "| shape | attn |")
	if !found {
		return nil, nil, fmt.Errorf("no table that begins with | shape | attn |")
	}
	lines := strings.Split(table, "\n")
	libraries = append([]string{"attn"}, cells("|"+lines[0])...)
	ratios = map[string][]float64{}
	for _, line := range lines[2:] {
		row := cells(line)
		if len(row) == 0 {
			break
		}
		if len(row) != len(libraries)+1 {
			return nil, nil, fmt.Errorf("%q has %d cells, want %d", line, len(row), len(libraries)+1)
		}
		shape := []float64{1}
		for _, cell := range row[2:] {
			_, times, _ := strings.Cut(cell, " · ")
			ratio, err := strconv.ParseFloat(strings.TrimSuffix(times, "×"), 64)
			if err != nil && cell != "–" {
				return nil, nil, fmt.Errorf("%q: %w", cell, err)
			}
			shape = append(shape, ratio)
		}
		ratios[row[0]] = shape
	}
	return libraries, ratios, nil
}

// cells returns the cells of a row of a table, none for any other line.
func cells(line string) (found []string) {
	inner, isRow := strings.CutPrefix(line, "|")
	if !isRow {
		return nil
	}
	for cell := range strings.SplitSeq(strings.TrimSuffix(inner, "|"), "|") {
		found = append(found, strings.TrimSpace(cell))
	}
	return found
}

// Sizes of the chart, in pixels.
const (
	width   = 800
	left    = 300 // of the bars
	right   = 740
	top     = 76
	bar     = 13
	between = 14 // groups of bars
	most    = 9  // ratio at the right end
)

// draw returns the chart as SVG: a group of bars for each shape, a bar for each library.
func draw(libraries []string, ratios map[string][]float64) []byte {
	group := len(libraries)*bar + between
	bottom := top + len(labels)*group
	x := func(ratio float64) float64 { return left + (right-left)*ratio/most }

	var b bytes.Buffer
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line := func(x float64, style string) {
		p(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" %s/>`, x, top-6, x, bottom, style)
	}
	p(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`, width, bottom+30)
	p(`<rect width="100%%" height="100%%" fill="#ffffff"/>`)
	p(`<text x="20" y="26" font-size="15">Time of a call on one thread, in multiples of attn's: shorter is faster</text>`)
	for i, name := range libraries {
		at := 20 + i*180
		p(`<rect x="%d" y="42" width="12" height="12" fill="%s"/><text x="%d" y="52">%s</text>`, at, colours[i], at+18, name)
	}
	for ratio := 0; ratio <= most; ratio++ {
		line(x(float64(ratio)), `stroke="#dddddd"`)
		p(`<text x="%.1f" y="%d" text-anchor="middle">%d×</text>`, x(float64(ratio)), bottom+16, ratio)
	}
	for i, label := range labels {
		y := top + i*group
		p(`<text x="%d" y="%d" text-anchor="end">%s</text>`, left-10, y+len(libraries)*bar/2+4, label.text)
		for k, ratio := range ratios[label.shape] {
			if ratio == 0 {
				p(`<text x="%d" y="%d" font-size="10" fill="#666666">%s cannot compute it</text>`, left+4, y+k*bar+10, libraries[k])
				continue
			}
			p(`<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`, left, y+k*bar, x(ratio)-left, bar-1, colours[k])
			p(`<text x="%.1f" y="%d" font-size="10">%.2f</text>`, x(ratio)+4, y+k*bar+10, ratio)
		}
	}
	line(x(1), `stroke="#333333" stroke-dasharray="4 3"`)
	p(`</svg>`)
	return b.Bytes()
}
