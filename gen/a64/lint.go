package a64

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Errors in registers show late, or only on another system: R18 belongs to the platform on
// Darwin and Windows, R28 is the goroutine, and the assembler uses R27 as a temporary. So
// every operand of every instruction is checked when it is emitted, and every function at
// its end.

func (f *Func) fail(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("%s: %s", f.name, fmt.Sprintf(format, args...)))
}

// check reports operands that an instruction may not have: registers that are reserved or
// not allocated, unknown globals, and writes to parameters.
func (f *Func) check(instruction string, operands ...any) {
	for i, o := range operands {
		switch o := o.(type) {
		case GP:
			f.checkGP(instruction, o)
		case Shifted:
			f.checkGP(instruction, o.r)
		case Mem:
			f.checkGP(instruction, o.base)
			if o.index != nil {
				f.checkGP(instruction, *o.index)
			}
		case Vec:
			f.checkVec(instruction, o)
		case Arr:
			f.checkVec(instruction, o.v)
		case Lane:
			f.checkVec(instruction, o.v)
		case Pair:
			f.checkVec(instruction, o.First)
			f.checkVec(instruction, o.Second)
		case []Arr:
			for _, a := range o {
				f.checkVec(instruction, a.v)
			}
		case Param:
			if i > 0 && i == len(operands)-1 && o.IsReadOnly() {
				f.fail("%s: writes parameter %v", instruction, o)
			}
		case Global:
			if !f.globals[string(o)] {
				f.fail("%s: no global %s", instruction, string(o))
			}
		}
	}
}

func (f *Func) checkGP(instruction string, r GP) {
	if why, no := forbidden[r.n]; no {
		f.fail("%s: R%d is %s", instruction, r.n, why)
	} else if r.n < 0 || r.n > 31 || !f.gps.used[r.n] {
		f.fail("%s: %v is not allocated", instruction, r)
	}
}

func (f *Func) checkVec(instruction string, v Vec) {
	if v.n < 0 || v.n > 31 || !f.vecs.used[v.n] {
		f.fail("%s: V%d is not allocated", instruction, v.n)
	}
}

// finish checks the function as a whole.
func (f *Func) finish() []error {
	f.lines = append(f.lines, f.apart...)
	if !f.ended {
		f.fail("continues after its end")
	}
	for _, label := range sorted(f.jumps) {
		if f.labels[label] == 0 {
			f.fail("no label %s", label)
		}
	}
	for _, label := range sorted(f.labels) {
		switch {
		case f.labels[label] > 1:
			f.fail("label %s is set twice", label)
		case !f.jumps[label]:
			f.fail("label %s has no jump to it", label)
		}
	}
	for _, line := range f.lines {
		f.lintText(line)
	}
	return f.errs
}

// locals matches the operands that are a Local. Without a name before it, SP would be the
// stack pointer.
var locals = regexp.MustCompile(`local-\d+\(SP\)`)

// lintText searches the text itself for forbidden registers.
func (f *Func) lintText(line string) {
	code, _, _ := strings.Cut(strings.TrimSpace(line), "//")
	code = locals.ReplaceAllString(code, "local")
	words := strings.FieldsFunc(code, func(r rune) bool { return strings.ContainsRune(" ,()[]\t<", r) })
	if len(words) == 0 || strings.HasSuffix(words[0], ":") {
		return
	}
	for _, word := range words[1:] {
		for n := range forbidden {
			if word == R(n).String() {
				f.fail("%s: R%d is %s", words[0], n, forbidden[n])
			}
		}
		if slices.Contains([]string{"RSP", "SP", "g", "LR", "R18_PLATFORM"}, word) {
			f.fail("%s: %s is not free", words[0], word)
		}
	}
}

func sorted[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
