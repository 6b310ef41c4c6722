package a64

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"strings"
)

// A signature is the layout of a function's parameters and result on the stack, by Go's
// stable calling convention for assembly (ABI0).
type signature struct {
	params []param
	result *param
	size   int    // of all, with the result
	text   string // in Go, if it has a struct
}

type param struct {
	name, typ string
	offset    int
}

// sizes are those of the types that may be used beside slices. All are aligned to their
// size, slices to a pointer's.
var sizes = map[string]int{"int": 8, "uint64": 8, "uint32": 4, "float32": 4, "bool": 1}

const sliceSize = 24

// parseSignature lays out a signature such as "(x []float32, n int) uint64".
func parseSignature(s string) (signature, error) {
	expr, err := parser.ParseExpr("func" + s)
	if err != nil {
		return signature{}, fmt.Errorf("signature %s: %w", s, err)
	}
	fn, ok := expr.(*ast.FuncType)
	if !ok {
		return signature{}, fmt.Errorf("signature %s: not one", s)
	}
	var sig signature
	if err := sig.placeAll(fn.Params.List, ""); err != nil {
		return signature{}, err
	}
	if len(fn.Params.List) == 1 && strings.HasPrefix(types.ExprString(fn.Params.List[0].Type), "struct") {
		sig.text = s
	}
	if fn.Results == nil {
		return sig, nil
	}
	sig.size = align(sig.size, 8) // results begin at a multiple of 8
	if len(fn.Results.List) != 1 || len(fn.Results.List[0].Names) > 0 {
		return signature{}, fmt.Errorf("signature %s: one result without a name, or none", s)
	}
	p, err := sig.place("ret", types.ExprString(fn.Results.List[0].Type))
	sig.result = &p
	return sig, err
}

// placeAll appends parameters, or the fields of a struct, which lie as parameters do and whose names
// begin with the struct's. A struct is the only parameter, as its size need not be a multiple of 8.
func (s *signature) placeAll(list []*ast.Field, prefix string) error {
	for _, field := range list {
		for _, name := range field.Names {
			if x, ok := field.Type.(*ast.StructType); ok {
				if len(list) > 1 {
					return fmt.Errorf("parameter %s: a struct beside others", name.Name)
				}
				if err := s.placeAll(x.Fields.List, name.Name+"_"); err != nil {
					return err
				}
				s.size = align(s.size, 8)
				continue
			}
			p, err := s.place(prefix+name.Name, types.ExprString(field.Type))
			if err != nil {
				return err
			}
			s.params = append(s.params, p)
		}
	}
	return nil
}

// place appends a value.
func (s *signature) place(name, typ string) (param, error) {
	size, ok := sizes[typ]
	if strings.HasPrefix(typ, "[]") {
		size, ok = sliceSize, true
	}
	if !ok {
		return param{}, fmt.Errorf("parameter %s: type %s is not known", name, typ)
	}
	s.size = align(s.size, min(size, 8))
	p := param{name, typ, s.size}
	s.size += size
	return p, nil
}

func align(n, to int) int { return (n + to - 1) / to * to }

// String is the signature in Go.
func (s signature) String() string {
	if s.text != "" {
		return s.text
	}
	var texts []string
	for _, p := range s.params {
		texts = append(texts, p.name+" "+p.typ)
	}
	text := "(" + strings.Join(texts, ", ") + ")"
	if s.result != nil {
		text += " " + s.result.typ
	}
	return text
}

// A Param is a word of a parameter or the result, on the stack.
type Param struct {
	name   string
	offset int
	typ    string
	result bool
	local  bool // the function may write to it
}

func (p Param) String() string { return fmt.Sprintf("%s+%d(FP)", p.name, p.offset) }

// Param is a parameter that is not a slice, or such a field of a struct called a, the only parameter.
// The field's name may begin with a lower-case letter. An unknown name is an error of the function.
func (f *Func) Param(name string) Param { return f.param(name, "", 0) }

// Base is the pointer of a slice parameter.
func (f *Func) Base(name string) Param { return f.param(name, "_base", 0) }

// Len is the length of a slice parameter.
func (f *Func) Len(name string) Param { return f.param(name, "_len", 8) }

// Result is the result.
func (f *Func) Result() Param {
	if f.sig.result == nil {
		f.fail("has no result")
		return Param{}
	}
	return Param{"ret", f.sig.result.offset, f.sig.result.typ, true, false}
}

// Cap is the capacity of a slice parameter.
func (f *Func) Cap(name string) Param { return f.param(name, "_cap", 16) }

// Local makes p, which the function does not need otherwise, or no longer, a place for a
// number of its own.
func (p Param) Local() Param {
	p.local = true
	return p
}

func (f *Func) param(name, part string, offset int) Param {
	for _, p := range f.sig.params {
		if p.name != name && p.name != "a_"+strings.ToUpper(name[:1])+name[1:] {
			continue
		}
		if slice := strings.HasPrefix(p.typ, "[]"); slice != (part != "") {
			break
		}
		return Param{p.name + part, p.offset + offset, p.typ, false, false}
	}
	f.fail("no parameter %s%s", name, part)
	return Param{}
}

// Load loads a parameter into a general register.
func (f *Func) Load(p Param, r GP) {
	switch p.typ {
	case "bool":
		f.Op("MOVBU", p, r)
	case "float32", "uint32":
		f.Op("MOVWU", p, r)
	default:
		f.Op("MOVD", p, r)
	}
}
