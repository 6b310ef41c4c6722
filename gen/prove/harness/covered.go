package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attn-go/attn/gen/prove/machine"
)

// Uncovered returns a line for each function in assembly with instructions that no case executes:
// nothing is proven of these. Kernels share functions, so the cases of all of them count.
func Uncovered(groups [][]*Proof) (list []string) {
	covered, reached := map[*machine.File]map[int]bool{}, map[*machine.File]map[string]bool{}
	for _, x := range slices.Concat(groups...) {
		if x.Verdict.closed() {
			continue
		}
		f := x.Architecture.Files[x.Kernel.ISA]
		if covered[f] == nil {
			covered[f], reached[f] = map[int]bool{}, map[string]bool{}
		}
		maps.Copy(covered[f], x.covered)
		reach(f, x.Kernel.Function, reached[f])
	}
	for f, names := range reached {
		for name := range names {
			if n, lines := missing(f.Functions[name], covered[f]); n > 0 {
				list = append(list, fmt.Sprintf("%s: no case executes %d of %d instructions, lines %s", name, n, len(f.Functions[name].Insts), lines))
			}
		}
	}
	slices.Sort(list)
	return list
}

// missing counts the instructions of a function that are not covered, and returns their lines as
// ranges.
func missing(f *machine.Function, covered map[int]bool) (n int, lines string) {
	var ranges []string
	for i := 0; i < len(f.Insts); i++ {
		if covered[f.Insts[i].Line] {
			continue
		}
		first := f.Insts[i].Line % machine.FileLines
		for ; i < len(f.Insts) && !covered[f.Insts[i].Line]; i++ {
			n++
		}
		r := fmt.Sprint(first)
		if last := f.Insts[i-1].Line % machine.FileLines; last > first {
			r += fmt.Sprint("-", last)
		}
		ranges = append(ranges, r)
	}
	return n, strings.Join(ranges, ", ")
}

// reach adds a function, and those that it ends in a jump to.
func reach(f *machine.File, name string, reached map[string]bool) {
	if reached[name] {
		return
	}
	reached[name] = true
	for _, to := range f.Functions[name].Tail {
		reach(f, to, reached)
	}
}
