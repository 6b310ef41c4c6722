// Package abi0 lays out the arguments of functions in assembly, by Go's stable calling convention
// for them on systems of 64 bits: parameters and result lie on the stack.
package abi0

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"strings"
)

// A Signature is the layout of a function's parameters and result.
type Signature struct {
	Params []Param
	Result *Param
	Size   int    // of all, with the result
	text   string // in Go, if it has a struct
}

// A Param is a word of a parameter or the result. As text it is an operand.
type Param struct {
	Name     string
	Type     string
	Offset   int
	IsResult bool
	IsLocal  bool // the function may write to it
}

func (p Param) String() string { return fmt.Sprintf("%s+%d(FP)", p.Name, p.Offset) }

// Local makes p, which the function does not need otherwise, or no longer, a place for a
// number of its own.
func (p Param) Local() Param {
	p.IsLocal = true
	return p
}

// IsReadOnly reports whether a function may not write to p.
func (p Param) IsReadOnly() bool { return !p.IsResult && !p.IsLocal }

// A Part is a word of a slice.
type Part struct {
	suffix string
	offset int
}

// The parts of a slice, and Whole for other types.
var (
	Whole = Part{}
	Base  = Part{"_base", 0}
	Len   = Part{"_len", 8}
	Cap   = Part{"_cap", 16}
)

// sizes are the sizes of types that may be used beside slices. All are aligned to their size,
// slices to a pointer's.
var sizes = map[string]int{"int": 8, "uint64": 8, "uint32": 4, "float32": 4, "float64": 8, "bool": 1}

const sliceSize = 24

// Parse lays out a signature such as "(x []float32, n int) uint64".
func Parse(s string) (Signature, error) {
	expr, err := parser.ParseExpr("func" + s)
	if err != nil {
		return Signature{}, fmt.Errorf("signature %s: %w", s, err)
	}
	fn, ok := expr.(*ast.FuncType)
	if !ok {
		return Signature{}, fmt.Errorf("signature %s: not one", s)
	}
	var sig Signature
	if err := sig.placeAll(fn.Params.List, ""); err != nil {
		return Signature{}, err
	}
	if len(fn.Params.List) == 1 && strings.HasPrefix(types.ExprString(fn.Params.List[0].Type), "struct") {
		sig.text = s
	}
	if fn.Results == nil {
		return sig, nil
	}
	sig.Size = align(sig.Size, 8) // results begin at a multiple of 8
	if len(fn.Results.List) != 1 || len(fn.Results.List[0].Names) > 0 {
		return Signature{}, fmt.Errorf("signature %s: one result without a name, or none", s)
	}
	p, err := sig.place("ret", types.ExprString(fn.Results.List[0].Type))
	p.IsResult = true
	sig.Result = &p
	return sig, err
}

// placeAll appends parameters, or the fields of a struct, which lie as parameters do and whose
// names begin with the struct's. A struct is the only parameter, as its size need not be a multiple
// of 8.
func (s *Signature) placeAll(list []*ast.Field, prefix string) error {
	for _, field := range list {
		for _, name := range field.Names {
			if x, ok := field.Type.(*ast.StructType); ok {
				if len(list) > 1 {
					return fmt.Errorf("parameter %s: a struct beside others", name.Name)
				}
				if err := s.placeAll(x.Fields.List, name.Name+"_"); err != nil {
					return err
				}
				s.Size = align(s.Size, 8)
				continue
			}
			p, err := s.place(prefix+name.Name, types.ExprString(field.Type))
			if err != nil {
				return err
			}
			s.Params = append(s.Params, p)
		}
	}
	return nil
}

// place appends a value.
func (s *Signature) place(name, typ string) (Param, error) {
	size, ok := sizes[typ]
	if strings.HasPrefix(typ, "[]") {
		size, ok = sliceSize, true
	}
	if !ok {
		return Param{}, fmt.Errorf("parameter %s: type %s is not known", name, typ)
	}
	s.Size = align(s.Size, min(size, 8))
	p := Param{Name: name, Type: typ, Offset: s.Size}
	s.Size += size
	return p, nil
}

func align(n, to int) int { return (n + to - 1) / to * to }

// Find returns a parameter or a part of one that is a slice, or such a field of a struct called a,
// the only parameter. The field's name may begin with a lower-case letter. It reports whether there
// is one.
func (s *Signature) Find(name string, part Part) (Param, bool) {
	for _, p := range s.Params {
		if p.Name != name && p.Name != "a_"+strings.ToUpper(name[:1])+name[1:] {
			continue
		}
		if slice := strings.HasPrefix(p.Type, "[]"); slice != (part != Whole) {
			break
		}
		p.Name, p.Offset = p.Name+part.suffix, p.Offset+part.offset
		return p, true
	}
	return Param{}, false
}

// String is the signature in Go.
func (s Signature) String() string {
	if s.text != "" {
		return s.text
	}
	var texts []string
	for _, p := range s.Params {
		texts = append(texts, p.Name+" "+p.Type)
	}
	text := "(" + strings.Join(texts, ", ") + ")"
	if s.Result != nil {
		text += " " + s.Result.Type
	}
	return text
}
