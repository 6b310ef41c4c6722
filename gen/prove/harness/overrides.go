// Package harness proves kernels: it finds the kernels of every override in package asm, executes
// each with the sizes of its cases in both ways, and compares what they leave in memory.
package harness

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/gen/prove/machine"
)

// A Kernel is a function of an override.
type Kernel struct {
	Table    string // the variable of package asm: "Skinny"
	Field    string // "QK"
	Array    string // "Blocks", of a field in an array of kernels
	Index    string // "Q8_0"
	Function string
	ISA      string
	Lanes    int
	Variant  string
	Params   []Param
	Result   *Param
	Size     int // of the parameters and the result
}

// Name names what the kernel computes: "Weights.Q8_0.Gemm".
func (k *Kernel) Name() string {
	if k.Index != "" {
		return k.Table + "." + k.Index + "." + k.Field
	}
	return k.Table + "." + k.Field
}

// Override names the override: "avx2 16 lanes QK=S1L1".
func (k *Kernel) Override() string {
	s := k.ISA
	if k.Lanes > 0 {
		s += fmt.Sprintf("/%d", k.Lanes)
	}
	if k.Variant != "" {
		s += " " + k.Variant
	}
	return s
}

// A Param is a parameter, or a field of the struct that is the only one.
type Param struct {
	Name   string // begins with a lower-case letter
	Type   string // "[]float32"
	Offset int
}

// An Architecture has the kernels of a GOARCH, and the files of assembly that they are in.
type Architecture struct {
	GOARCH  string
	Kernels []*Kernel
	Files   map[string]*machine.File // by ISA
}

// ReadArchitecture reads package asm of the repository whose root is given.
func ReadArchitecture(root, goarch string) (*Architecture, error) {
	a := &Architecture{GOARCH: goarch, Files: map[string]*machine.File{}}
	structs, err := readStructs(filepath.Join(root, "internal", "ukernel"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	tables, err := parser.ParseFile(set, filepath.Join(root, "asm", "tables_"+goarch+".go"), nil, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range tables.Decls {
		if v, ok := d.(*ast.GenDecl); ok && v.Tok == token.VAR {
			for _, s := range v.Specs {
				a.addTable(s.(*ast.ValueSpec))
			}
		}
	}
	// What measures a CPU or waits computes nothing.
	a.Kernels = slices.DeleteFunc(a.Kernels, func(k *Kernel) bool {
		return k.Table == "Machine" && !strings.HasPrefix(k.Field, "Tile")
	})
	for _, k := range a.Kernels {
		if a.Files[k.ISA] == nil {
			text, err := os.ReadFile(filepath.Join(root, "asm", k.ISA+"_"+goarch+".s"))
			if err != nil {
				return nil, err
			}
			if a.Files[k.ISA], err = machine.Read(string(text)); err != nil {
				return nil, err
			}
			stubs, err := parser.ParseFile(set, filepath.Join(root, "asm", k.ISA+"_"+goarch+".go"), nil, 0)
			if err != nil {
				return nil, err
			}
			a.signatures(k.ISA, stubs, structs)
		}
	}
	a.join()
	return a, nil
}

// join puts the functions of all files into each, as a function of one instruction set may end in a
// jump to a function of another. Lines keep their files apart.
func (a *Architecture) join() {
	all := &machine.File{Functions: map[string]*machine.Function{}, Data: map[string][]byte{}}
	for i, isa := range slices.Sorted(maps.Keys(a.Files)) {
		f := a.Files[isa]
		for name, fn := range f.Functions {
			for j := range fn.Insts {
				fn.Insts[j].Line += i * machine.FileLines
			}
			all.Functions[name] = fn
		}
		maps.Copy(all.Data, f.Data)
	}
	for isa := range a.Files {
		a.Files[isa] = all
	}
}

// addTable adds the kernels of a variable such as Skinny.
func (a *Architecture) addTable(v *ast.ValueSpec) {
	for _, override := range v.Values[0].(*ast.CompositeLit).Elts {
		k := Kernel{Table: v.Names[0].Name, ISA: "pause"}
		var kernels *ast.CompositeLit
		for _, f := range override.(*ast.CompositeLit).Elts {
			value := f.(*ast.KeyValueExpr).Value
			switch keyOf(f) {
			case "ISA":
				k.ISA, _ = strconv.Unquote(value.(*ast.BasicLit).Value)
			case "Variant":
				k.Variant, _ = strconv.Unquote(value.(*ast.BasicLit).Value)
			case "Lanes":
				k.Lanes, _ = strconv.Atoi(value.(*ast.BasicLit).Value)
			case "Kernels":
				kernels = value.(*ast.CompositeLit)
			}
		}
		a.addFields(k, kernels)
	}
}

func keyOf(e ast.Expr) string { return types.ExprString(e.(*ast.KeyValueExpr).Key) }

// addFields adds functions of a struct, or of arrays in it, whose elements are functions or structs
// of them.
func (a *Architecture) addFields(k Kernel, lit *ast.CompositeLit) {
	for _, f := range lit.Elts {
		key := strings.TrimPrefix(keyOf(f), "ukernel.")
		x := k
		switch v := f.(*ast.KeyValueExpr).Value.(type) {
		case *ast.Ident:
			x.Function = v.Name
			if x.Array != "" && x.Index == "" {
				x.Index, x.Field = key, x.Array
			} else {
				x.Field = key
			}
			a.Kernels = append(a.Kernels, &x)
		case *ast.CompositeLit:
			if x.Array == "" {
				x.Array = key
			} else {
				x.Index = key
			}
			a.addFields(x, v)
		}
	}
}

// readStructs returns the fields of the structs of a package, by their names.
func readStructs(dir string) (map[string][]Param, error) {
	structs := map[string][]Param{}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok {
				if s, ok := t.Type.(*ast.StructType); ok {
					structs[t.Name.Name] = params(s.Fields)
				}
			}
			return true
		})
	}
	return structs, nil
}

func params(list *ast.FieldList) (out []Param) {
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		names := f.Names
		if names == nil {
			names = []*ast.Ident{{Name: "ret"}}
		}
		for _, n := range names {
			out = append(out, Param{Name: strings.ToLower(n.Name[:1]) + n.Name[1:], Type: types.ExprString(f.Type)})
		}
	}
	return out
}

// signatures sets the parameters of the kernels of an ISA from their Go declarations.
func (a *Architecture) signatures(isa string, stubs *ast.File, structs map[string][]Param) {
	for _, d := range stubs.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		for _, k := range a.Kernels {
			if k.ISA == isa && k.Function == fn.Name.Name {
				k.lay(params(fn.Type.Params), params(fn.Type.Results), structs)
			}
		}
	}
}

// sizes are the bytes of types that are not slices.
var sizes = map[string]int{"int": 8, "uint64": 8, "uint32": 4, "int32": 4, "float32": 4, "bool": 1}

// lay gives the parameters their offsets, by the rules of ABI0.
func (k *Kernel) lay(list, results []Param, structs map[string][]Param) {
	if len(list) == 1 {
		if fields, ok := structs[strings.TrimPrefix(list[0].Type, "ukernel.")]; ok {
			list = fields
		}
	}
	at := 0
	place := func(p *Param) {
		size, align := 24, 8
		if s, ok := sizes[p.Type]; ok {
			size, align = s, s
		}
		at = (at + align - 1) / align * align
		p.Offset = at
		at += size
	}
	k.Params = slices.Clone(list)
	for i := range k.Params {
		place(&k.Params[i])
	}
	at = (at + 7) &^ 7
	if len(results) == 1 {
		k.Result = &results[0]
		place(k.Result)
	}
	k.Size = at
}
