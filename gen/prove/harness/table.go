package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attn-go/attn/gen/prove/machine"
)

// A Table says what came out for kernels, by instruction set: a line for each kernel, then one for
// each reason why a kernel is tested only.
type Table map[string]map[string]Cell

// A Cell is what came out for the kernels of an instruction set that have the same name: the worst
// of them, how many of their loops have the inductive step or less than three trips of a kind, and
// the instructions for a unit of work.
type Cell struct {
	Word                   string
	Inductive, Rest, Loops int
	Rate                   float64
	Why                    string // a kernel is tested only
}

// The words of cells, the worst last.
var cellWords = []string{"proven", "lemmas", "samples", "tested", "FAILED"}

const tableHeader = `# What is proven of the kernels in assembly: a line has a kernel, and for each instruction set
#	proven	both sides build the same expression, under the conditions that docs/proofs.md lists
#	lemmas	and where they do not, lemmas of which all values were tried
#	samples	of some lemmas samples alone were tried
#	tested	it is not proven, for the reason below
# for calls of one size; then, of some 20 sizes, the loops that have the inductive step, + those of which
# no call makes three trips of a kind, / all; and the most instructions for a unit of work. That is
# the product of a call's sizes, or its longest slice, see work in harness/walk.go. The table is made
# by make prove ARGS='-quick -table gen/prove/table.txt'.
`

// NewTable returns the table of verdicts.
func NewTable(all []*Verdict) Table {
	t := Table{}
	for _, v := range all {
		name, isa := v.Kernel.Name(), v.Kernel.ISA
		if v.Open == noTiles {
			continue
		}
		if t[name] == nil {
			t[name] = map[string]Cell{}
		}
		c := Cell{Word: v.word(), Why: v.Open, Loops: len(v.Loops), Rate: v.Rate}
		for _, l := range v.Loops {
			switch {
			case l.Inductive():
				c.Inductive++
			case l.Bound() == machine.Rest:
				c.Rest++
			case l.Bound() == machine.Once:
				c.Loops--
			}
		}
		if old, ok := t[name][isa]; ok {
			c.Inductive, c.Rest, c.Loops = c.Inductive+old.Inductive, c.Rest+old.Rest, c.Loops+old.Loops
			c.Rate = max(c.Rate, old.Rate)
			if rank(old.Word) > rank(c.Word) {
				c.Word, c.Why = old.Word, old.Why
			}
		}
		t[name][isa] = c
	}
	return t
}

func rank(word string) int { return slices.Index(cellWords, word) }

// word tells a verdict in a word.
func (v *Verdict) word() string {
	switch {
	case v.Err != nil:
		return "FAILED"
	case v.Open != "":
		return "tested"
	case v.Sampled:
		return "samples"
	case len(v.Lemmas) > 0:
		return "lemmas"
	}
	return "proven"
}

// Changed returns a line for each cell whose word another table does not have.
func (t Table) Changed(other Table) (list []string) {
	for name, cells := range t {
		for isa, c := range cells {
			if old := other[name][isa].Word; old != c.Word {
				list = append(list, fmt.Sprintf("%s of %s is %s, and %q in table.txt", name, isa, c.Word, old))
			}
		}
	}
	slices.Sort(list)
	return list
}

func (t Table) String() string {
	var b strings.Builder
	b.WriteString(tableHeader)
	why := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&b, "%-32s", name)
		for _, isa := range slices.Sorted(maps.Keys(t[name])) {
			c := t[name][isa]
			fmt.Fprintf(&b, "  %s %s %d+%d/%d %.3g", isa, c.Word, c.Inductive, c.Rest, c.Loops, c.Rate)
			if c.Why != "" {
				why[c.Why] = append(why[c.Why], name+" "+isa)
			}
		}
		b.WriteByte('\n')
	}
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		fmt.Fprintf(&b, "# %s: %s\n", strings.Join(why[reason], ", "), reason)
	}
	return b.String()
}

// ReadTable reads what String returns, without reasons.
func ReadTable(text string) (Table, error) {
	t := Table{}
	for _, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		cells := map[string]Cell{}
		t[f[0]] = cells
		for f = f[1:]; len(f) > 0; f = f[4:] {
			if len(f) < 4 {
				return nil, fmt.Errorf("%s: a cell has an instruction set, a word and numbers", line)
			}
			c := Cell{Word: f[1]}
			if _, err := fmt.Sscanf(f[2]+" "+f[3], "%d+%d/%d %g", &c.Inductive, &c.Rest, &c.Loops, &c.Rate); err != nil || rank(c.Word) < 0 {
				return nil, fmt.Errorf("%s: no cell: %s %s", line, f[1], f[2])
			}
			cells[f[0]] = c
		}
	}
	return t, nil
}
