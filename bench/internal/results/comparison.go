package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// ComparisonFormat is the value of Comparison.Format.
const ComparisonFormat = "attn-comparison"

// UnitNs is the unit of comparisons of times. All other units are rates, in which more is faster.
const UnitNs = "ns"

// A Comparison has figures of several programs that were measured in turns: a file of
// bench/results/peers.
type Comparison struct {
	Path string `json:"-"` // from which it was read

	Format      string          `json:"format"` // always ComparisonFormat
	Title       string          `json:"title"`  // of several files with one title the page has the newest
	Machine     string          `json:"machine"`
	Commands    []string        `json:"commands"` // that print the figures
	Date        string          `json:"date"`
	Contract    int             `json:"contract"`              // of attn when it was measured
	Note        string          `json:"note"`                  // how it was measured
	Disturbance string          `json:"disturbance,omitempty"` // what disturbed the runs
	Page        string          `json:"page,omitempty"`        // that shows the figures in place of docs/benchmarks.md
	Unit        string          `json:"unit"`                  // UnitNs, or the unit of a rate
	Of          string          `json:"of"`                    // what a row stands for
	Programs    []string        `json:"programs"`              // the others are compared with the first
	Chart       string          `json:"chart,omitempty"`
	Rows        []ComparisonRow `json:"rows"`
}

// A ComparisonRow has a value for each program, nil if it cannot do what the row stands for.
type ComparisonRow struct {
	Name   string     `json:"name"`
	Values []*float64 `json:"values"`
	Chart  bool       `json:"chart,omitempty"` // whether the chart shows the row
}

// Ratio returns how many times as long as the first program another one takes, 0 if that is not
// known.
func (c *Comparison) Ratio(row, program int) float64 {
	own, other := c.Rows[row].Values[0], c.Rows[row].Values[program]
	switch {
	case own == nil || other == nil:
		return 0
	case c.Unit == UnitNs:
		return *other / *own
	}
	return *own / *other
}

// ReadComparisons reads the files of a folder, in the order of their names.
func ReadComparisons(folder string) (all []*Comparison, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c := &Comparison{Path: path}
		if err := json.Unmarshal(data, c); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := c.validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// Newest returns the newest comparison of each title, in the order of the titles' first ones: the
// newest contract, and of equal contracts the newest date.
func Newest(all []*Comparison) (newest []*Comparison) {
	at := map[string]int{}
	for _, c := range all {
		i, ok := at[c.Title]
		switch {
		case !ok:
			at[c.Title] = len(newest)
			newest = append(newest, c)
		case c.Contract > newest[i].Contract || c.Contract == newest[i].Contract && c.Date > newest[i].Date:
			newest[i] = c
		}
	}
	return newest
}

// validate checks what the readers of a Comparison rely on: nobody should have to guess what was
// measured on what.
func (c *Comparison) validate() error {
	for name, text := range map[string]string{"title": c.Title, "machine": c.Machine, "date": c.Date, "unit": c.Unit, "of": c.Of} {
		if text == "" {
			return fmt.Errorf("there is no %s", name)
		}
	}
	if c.Format != ComparisonFormat || c.Contract < 1 || len(c.Commands) == 0 || len(c.Programs) < 2 || len(c.Rows) == 0 {
		return fmt.Errorf("format %q, contract %d, %d commands, %d programs, %d rows: want %q, a contract, a command, two programs and a row",
			c.Format, c.Contract, len(c.Commands), len(c.Programs), len(c.Rows), ComparisonFormat)
	}
	for _, r := range c.Rows {
		if len(r.Values) != len(c.Programs) {
			return fmt.Errorf("row %q has %d values, want %d", r.Name, len(r.Values), len(c.Programs))
		}
		for _, v := range r.Values {
			if v != nil && !(*v > 0) {
				return fmt.Errorf("row %q has the value %g, want more than 0", r.Name, *v)
			}
		}
	}
	return nil
}
