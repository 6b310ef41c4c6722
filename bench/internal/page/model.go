// Package page draws one self-contained page of HTML from the results of one or several
// machines: it loads nothing, and works without JavaScript.
package page

import (
	"fmt"
	"html/template"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/attn-go/attn/bench/internal/chart"
	"github.com/attn-go/attn/bench/internal/results"
	tables "github.com/attn-go/attn/bench/internal/table"
)

// A model is what the template shows.
type model struct {
	Title     string
	Agreement results.Agreement
	Machines  []machine
	Hashes    *table
	Together  []figure // over all machines, if there are several
}

// A machine is one file.
type machine struct {
	ID, Name, Detail, Note string
	Cards                  []card
	Warnings               []string
	Figures                []figure
	Tables                 []table
	Raw                    string // the file
	Open                   bool
}

// A card shows one figure in large letters.
type card struct{ Label, Value, Unit, Detail string }

// A figure is a chart with its legend and its table.
type figure struct {
	ID, Title, Text string
	Wide, Narrow    *drawing
	Legend          []legend
	Table           table
}

// A drawing is a chart and what its points say.
type drawing struct {
	SVG  template.HTML
	Hits []chart.Hit
}

type legend struct {
	Style      int
	Mark, Name string
}

// A table has a row of headings and rows of cells.
type table struct {
	Caption string
	Head    []string
	Rows    [][]cell
}

// Number says whether a column has numbers.
func (t table) Number(column int) bool {
	return len(t.Rows) > 0 && column < len(t.Rows[0]) && t.Rows[0][column].Key != ""
}

// A cell is text or a number. A number has its full value, and the place in the files where it
// is from: the index of the file and a path of JSON names and indices.
type cell struct{ Text, Value, Key string }

func text(format string, args ...any) cell { return cell{Text: fmt.Sprintf(format, args...)} }

// A source makes cells of numbers of one object in a file.
type source string

// from returns the source of a row of a list.
func from(file int, list string, row int) source {
	return source(fmt.Sprintf("%d.%s.%d", file, list, row))
}

func (s source) num(name string, x float64, shown string) cell {
	return cell{Text: shown, Value: strconv.FormatFloat(x, 'g', -1, 64), Key: string(s) + "." + name}
}

func (s source) fixed(name string, x float64, decimals int) cell {
	return s.num(name, x, strconv.FormatFloat(x, 'f', decimals, 64))
}

func (s source) int(name string, x int) cell { return s.num(name, float64(x), strconv.Itoa(x)) }

// The widths of charts: beside a text, and on a phone.
const wide, narrow = 760, 370

// draw draws a chart in both widths. It returns nil if the table has no rows, or if the
// chart has nothing to draw.
func (s sketch) draw() (*figure, error) {
	c := s.chart
	if len(s.table.Rows) == 0 || len(c.Bars)+len(c.Series) == 0 {
		return nil, nil
	}
	f := &figure{ID: s.id, Title: s.title, Text: s.text, Table: s.table}
	if len(c.LeftOut) > 0 {
		f.Text += fmt.Sprintf(" The table has %s as well, for which the chart has no more colours.", strings.Join(c.LeftOut, ", "))
	}
	for _, d := range []struct {
		to            **drawing
		width, height float64
	}{{&f.Wide, wide, 400}, {&f.Narrow, narrow, 340}} {
		svg, hits, err := c.Inline(d.width, d.height)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.id, err)
		}
		*d.to = &drawing{template.HTML(svg), hits} // package chart escapes the texts in it
	}
	for _, s := range c.Series {
		l := legend{s.Style % chart.Styles, chart.Marks[s.Style%chart.Styles], s.Name}
		if s.Dashed {
			l.Style, l.Mark = -1, "┄"
		} else if s.Bare {
			l.Mark = "━"
		} else if len(c.Bars) > 0 {
			l.Mark = "■"
		}
		if s.Name != "" {
			f.Legend = append(f.Legend, l)
		}
	}
	return f, nil
}

// name returns the names of a machine and of its file, with a number if there are several.
func name(files []*results.File, i int) string {
	n := files[i].Machine.Name()
	if path := files[i].Path; path != "" {
		n += ", " + filepath.Base(path)
	}
	if len(files) > 1 {
		return fmt.Sprintf("%d. %s", i+1, n)
	}
	return n
}

// share is the cell of a share, without a number if it cannot be relied on.
func (s source) share(name string, decimals int, percent float64, doubt string) cell {
	if doubt != "" {
		return text("–")
	}
	return s.fixed(name, percent, decimals)
}

// shareText is a share in a text.
func shareText(percent float64, doubt string) string {
	if doubt != "" {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", percent)
}

// spread is the cell of how much a limit varied, in percent; files of earlier versions do not have
// it.
func (s source) spread(name string, x float64) cell {
	if x == 0 {
		return text("–")
	}
	return s.num(name, x, strconv.FormatFloat(100*x, 'f', 1, 64))
}

// shareBar is the bar of a share of a limit. Without a share to rely on it has no length, and says
// so.
func shareBar(what, limit string, percent float64, doubt string, ns float64) chart.Point {
	if doubt != "" {
		return chart.Point{Label: fmt.Sprintf("%s: %s, no share, as %s", what, tables.Duration(ns), doubt)}
	}
	return chart.Point{X: percent, Label: fmt.Sprintf("%s: %.1f%% of %s, %s", what, percent, limit, tables.Duration(ns))}
}
