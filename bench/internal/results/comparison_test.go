package results

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestComparisons: the files of bench/results/peers say what was measured on what and how, and a
// file that does not is refused.
func TestComparisons(t *testing.T) {
	all, err := ReadComparisons("../../results/peers")
	if err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const whole = `{"format": "attn-comparison", "title": "T", "machine": "M", "commands": ["c"], "date": "2026-01-02", "contract": 4, "unit": "ns", "of": "shape",
		"programs": ["attn", "other"], "rows": [{"name": "A", "values": [2, 3]}, {"name": "B", "values": [2, null]}]}`
	write(whole)
	all, err = ReadComparisons(dir)
	if err != nil || len(all) != 1 || all[0].Ratio(0, 1) != 1.5 || all[0].Ratio(1, 1) != 0 {
		t.Fatal(all, err)
	}
	all[0].Unit = "tokens/s"
	if r := all[0].Ratio(0, 1); r != 2.0/3 {
		t.Errorf("the ratio of rates is %g, want 2/3", r)
	}
	for cut, want := range map[string]string{
		`"machine": "M", `:    "there is no machine",
		`"contract": 4, `:     "contract 0",
		`"commands": ["c"], `: "0 commands",
		`[2, null]`:           "row",
	} {
		text := strings.Replace(whole, cut, "", 1)
		if cut == `[2, null]` {
			text = strings.Replace(whole, cut, "[2]", 1)
		}
		write(text)
		if _, err := ReadComparisons(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v, want %q", cut, err, want)
		}
	}
}

// Newest keeps one comparison of each title: a newer contract counts more than a newer date.
func TestNewest(t *testing.T) {
	of := func(title, date string, contract int) *Comparison {
		return &Comparison{Title: title, Date: date, Contract: contract}
	}
	old, next, late, other := of("A", "2026-03-01", 2), of("A", "2026-01-01", 3), of("A", "2026-01-02", 3), of("B", "2025-01-01", 1)
	for _, all := range [][]*Comparison{{old, next, other, late}, {late, next, other, old}} {
		if got := Newest(all); !slices.Equal(got, []*Comparison{late, other}) {
			t.Errorf("%v, want the later file of the newest contract, and B", got)
		}
	}
}
