package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Table returns what came out as a table in Markdown: kernels by instruction set. Overrides of one
// instruction set share a column; a cell tells of the one that came out worst.
func Table(all []*Verdict) string {
	rows, columns := map[string]map[string]string{}, map[string]bool{}
	var notes []string
	for _, v := range all {
		name, isa := v.Kernel.Name(), v.Kernel.ISA
		if rows[name] == nil {
			rows[name] = map[string]string{}
		}
		columns[isa] = true
		cell := v.cell()
		if old := rows[name][isa]; rank(cell) >= rank(old) {
			rows[name][isa] = cell
		}
		if v.Open != "" && !strings.HasPrefix(v.Open, "no CPU") {
			note := fmt.Sprintf("- %s: %s", name, v.Open)
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	isas := slices.Sorted(maps.Keys(columns))
	var b strings.Builder
	fmt.Fprintf(&b, "| kernel | %s |\n|---|%s\n", strings.Join(isas, " | "), strings.Repeat("---|", len(isas)))
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&b, "| `%s` |", name)
		for _, isa := range isas {
			fmt.Fprintf(&b, " %s |", rows[name][isa])
		}
		b.WriteByte('\n')
	}
	slices.Sort(notes)
	return b.String() + "\n" + strings.Join(notes, "\n") + "\n"
}

func rank(cell string) int {
	return slices.Index([]string{"", "proven", "with lemmas", "with samples", "tested", "FAILED"}, cell)
}

// cell tells a verdict in a word.
func (v *Verdict) cell() string {
	switch {
	case v.Err != nil:
		return "FAILED"
	case strings.HasPrefix(v.Open, "no CPU"):
		return ""
	case v.Open != "":
		return "tested"
	case v.Sampled:
		return "with samples"
	case len(v.Lemmas) > 0:
		return "with lemmas"
	}
	return "proven"
}
