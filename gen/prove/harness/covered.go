package harness

import (
	"fmt"
	"maps"
	"slices"

	"github.com/attn-go/attn/gen/prove/machine"
)

// Uncovered returns a line for each function in assembly with instructions that no case executes.
// Kernels share functions, so the cases of all of them count.
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
			insts, lines := f.Functions[name].Insts, []int(nil)
			for i := range insts {
				if line := insts[i].Line; !covered[f][line] {
					lines = append(lines, line)
				}
			}
			if len(lines) > 0 {
				list = append(list, fmt.Sprintf("%s: no case executes %d of %d instructions, from line %d to %d", name, len(lines), len(insts), lines[0], lines[len(lines)-1]))
			}
		}
	}
	slices.Sort(list)
	return list
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
