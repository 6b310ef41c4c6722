package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attn-go/attn/gen/prove/machine"
)

// A reached is what proofs execute of a file of assembly.
type reached struct {
	machine.Coverage
	functions map[string]bool // of kernels
}

// reachedBy returns what proofs execute. Kernels share functions: the cases of all kernels count.
func reachedBy(groups [][]*Proof) map[*machine.File]reached {
	files := map[*machine.File]reached{}
	for _, x := range slices.Concat(groups...) {
		if x.Verdict.closed() {
			continue
		}
		f := x.Architecture.Files[x.Kernel.ISA]
		if files[f].functions == nil {
			files[f] = reached{machine.NewCoverage(), map[string]bool{}}
		}
		maps.Copy(files[f].Executed, x.covered.Executed)
		maps.Copy(files[f].Taken, x.covered.Taken)
		reach(f, x.Kernel.Function, files[f].functions)
	}
	return files
}

// Uncovered returns a line for each function in assembly with instructions that no case executes:
// nothing is proven of these.
func Uncovered(groups [][]*Proof) (list []string) {
	for f, x := range reachedBy(groups) {
		for name := range x.functions {
			if n, lines := missing(f.Functions[name], x.Executed); n > 0 {
				list = append(list, fmt.Sprintf("%s: no case executes %d of %d instructions, lines %s", name, n, len(f.Functions[name].Insts), lines))
			}
		}
	}
	slices.Sort(list)
	return list
}

// Once returns a line for each loop of which no case makes a second trip: nothing is proven of the
// step from one trip to the next.
func Once(groups [][]*Proof) (list []string) {
	for f, x := range reachedBy(groups) {
		for name := range x.functions {
			for i, in := range f.Functions[name].Insts {
				if in.Target >= 0 && in.Target <= i && x.Executed[in.Line] && !x.Taken[in.Line] {
					list = append(list, fmt.Sprintf("%s: no case repeats the loop of line %d: %s", name, in.Line%machine.FileLines, in.Text))
				}
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
