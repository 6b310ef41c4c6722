package a64

import "github.com/attn-go/attn/gen/abi0"

// A Param is a word of a parameter or the result, on the stack.
type Param = abi0.Param

// Param is a parameter that is not a slice, or such a field of a struct called a, the only
// parameter. The field's name may begin with a lower-case letter. An unknown name is an error of
// the function.
func (f *Func) Param(name string) Param { return f.param(name, abi0.Whole) }

// Base is the pointer of a slice parameter.
func (f *Func) Base(name string) Param { return f.param(name, abi0.Base) }

// Len is the length of a slice parameter.
func (f *Func) Len(name string) Param { return f.param(name, abi0.Len) }

// Cap is the capacity of a slice parameter.
func (f *Func) Cap(name string) Param { return f.param(name, abi0.Cap) }

// Result is the result.
func (f *Func) Result() Param {
	if f.sig.Result == nil {
		f.fail("has no result")
		return Param{}
	}
	return *f.sig.Result
}

func (f *Func) param(name string, part abi0.Part) Param {
	p, ok := f.sig.Find(name, part)
	if !ok {
		f.fail("no parameter %s", name)
	}
	return p
}

// Load loads a parameter into a general register.
func (f *Func) Load(p Param, r GP) {
	switch p.Type {
	case "bool":
		f.Op("MOVBU", p, r)
	case "float32", "uint32":
		f.Op("MOVWU", p, r)
	default:
		f.Op("MOVD", p, r)
	}
}
