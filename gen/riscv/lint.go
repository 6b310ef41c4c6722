package riscv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/gen/abi0"
)

// An instruction of vectors takes its size from the vector type in force, which its text does not
// show. So each operand of each instruction is checked when it is emitted: it is allocated, and its
// group has the size in force, which must be the same on all ways to a label.

func (f *Func) fail(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("%s: %s", f.name, fmt.Sprintf(format, args...)))
}

func (f *Func) check(name string, operands []any) {
	if strings.HasPrefix(name, "V") {
		f.checkVector(name, operands)
	}
	for i, o := range operands {
		switch o := o.(type) {
		case GP:
			f.checkGP(name, o)
		case Mem:
			f.checkGP(name, o.base)
		case FP:
			if !f.fps[o.n] {
				f.fail("%s: %v is not allocated", name, o)
			}
		case abi0.Param:
			if i > 0 && i == len(operands)-1 && o.IsReadOnly() {
				f.fail("%s: writes parameter %v", name, o)
			}
		}
	}
}

func (f *Func) checkGP(name string, r GP) {
	if why := reserved[r.n]; why != "" && r != Zero {
		f.fail("%s: %v is %s", name, r, why)
	} else if r != Zero && !f.gps[r.n] {
		f.fail("%s: %v is not allocated", name, r)
	}
}

// checkVector checks an instruction of vectors.
func (f *Func) checkVector(name string, operands []any) {
	op, ok := vectorOps[name]
	kinds := op.form.kinds()
	if !ok || len(kinds) != len(operands) {
		f.fail("%s with %d operands is not known", name, len(operands))
		return
	}
	if f.size == 0 {
		f.fail("%s: no vector type is in force", name)
	}
	for i, o := range operands {
		v, isVec := o.(Vec)
		size := f.size
		switch kinds[i] {
		case "v":
			if !isVec || v != V0 || f.vecs[0] {
				f.fail("%s: masks lie in V0, which is no vector then", name)
			}
		case "w":
			if !isVec || v.size != 2*size || !f.vecs[v.n] {
				f.fail("%s: %v is no group of %d registers", name, o, 2*size)
			}
		case "m", "h", "q", "s":
			size = map[string]int{"m": size, "h": max(1, size/2), "q": max(1, size/4), "s": 1}[kinds[i]]
			if !isVec || v.size != size {
				f.fail("%s: %v is no group of %d registers", name, o, size)
			} else if !f.vecs[v.n] {
				f.fail("%s: %v is not allocated", name, v)
			}
		default:
			if isVec {
				f.fail("%s: operand %d is no vector", name, i)
			}
		}
	}
}

// finish checks the function as a whole.
func (f *Func) finish() []error {
	if !f.ended {
		f.fail("continues after its end")
	}
	var names []string
	for name := range f.labels {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch l := f.labels[name]; {
		case !l.set:
			f.fail("no label %s", name)
		case !l.used:
			f.fail("label %s has no jump to it", name)
		}
	}
	return f.errs
}
