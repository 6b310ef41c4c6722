package docs_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of kernels")

// subjects are the rows of the table of kernels in design.md: a table of package ukernel, and the
// operations that its kernels compute.
var subjects = []struct{ table, operations string }{
	{"Products", "products of query tiles with keys and values, float32 and bfloat16"},
	{"Lanes", "masks, biases, caps, softmax, dropout; sums of integers for `DynamicInt12`"},
	{"Gradients", "the steps of gradients between products"},
	{"Skinny", "decoding: few queries on keys and values of 32, 16, 8 and 4 bits"},
	{"Unit", "products of bfloat16 by AMX tiles, in attention and in layers, and the steps between them in attention; products of int8 are in `Weights`"},
	{"Weights", "linear layers: float32, 16 bits, the formats of GGUF, rows of 8 bits"},
	{"Convert", "float16, bfloat16, fp8, int8, int4 from and to float32"},
	{"Norms", "RMSNorm, LayerNorm, means of rows"},
	{"Activations", "SiLU, GELU, SwiGLU, GeGLU, GRU, and their gradients"},
	{"Elementwise", "exp2, tanh, sums, rotation, Hadamard, AdamW"},
	{"Rows", "sums, dot products and softmax of rows, recurrent states, gradients of norms"},
}

// tiersOf are the columns: the instruction sets whose kernels a tier has.
var tiersOf = []struct {
	name string
	isas []string
}{{"avx512", []string{"avx2", "avx512"}}, {"avx2", []string{"avx2"}}, {"neon", []string{"neon"}}, {"rvv", []string{"rvv"}}}

// TestTiers: the table of kernels in design.md has the numbers of package asm. With -update it is
// written.
func TestTiers(t *testing.T) {
	kernels := map[string]map[string]map[string]bool{} // names by table and instruction set
	for _, arch := range []string{"amd64", "arm64", "riscv64"} {
		assembled(t, "../asm/tables_"+arch+".go", kernels)
	}
	var b strings.Builder
	b.WriteString("| kernels | what they compute |")
	for _, tier := range tiersOf {
		fmt.Fprintf(&b, " %s |", tier.name)
	}
	fmt.Fprintf(&b, "\n|---|---|%s\n", strings.Repeat("---|", len(tiersOf)))
	for _, s := range subjects {
		all := kernels[s.table]
		whole := map[string]bool{}
		for _, names := range all {
			for name := range names {
				whole[name] = true
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s |", s.table, s.operations)
		for _, tier := range tiersOf {
			has := map[string]bool{}
			for _, isa := range tier.isas {
				for name := range all[isa] {
					has[name] = true
				}
			}
			fmt.Fprintf(&b, " %d of %d |", len(has), len(whole))
		}
		b.WriteString("\n")
		delete(kernels, s.table)
	}
	delete(kernels, "Machine") // measures, and computes nothing
	for table := range kernels {
		t.Errorf("subjects lacks the table %s of package asm", table)
	}
	replaceBlock(t, "design.md", "| kernels |", b.String())
}

// replaceBlock compares the lines of a page from the one that begins with start up to an empty one
// with want, or writes want in their place.
func replaceBlock(t *testing.T, page, start, want string) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), "\n"+start)
	block, after, whole := strings.Cut(rest, "\n\n")
	if !found || !whole {
		t.Fatalf("%s has no line that begins with %q, or no empty line after it", page, start)
	}
	if start+block+"\n" == want {
		return
	}
	if !*update {
		t.Errorf("the table %q of %s is not up to date: run go test ./docs -update", start, page)
		return
	}
	if err := os.WriteFile(page, []byte(before+"\n"+want+"\n"+after), 0o666); err != nil {
		t.Fatal(err)
	}
}

// assembled adds the names of the kernels that a file of package asm has.
func assembled(t *testing.T, path string, kernels map[string]map[string]map[string]bool) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		spec := g.Specs[0].(*ast.ValueSpec)
		table := spec.Names[0].Name
		if kernels[table] == nil {
			kernels[table] = map[string]map[string]bool{}
		}
		for _, override := range spec.Values[0].(*ast.CompositeLit).Elts {
			isa, names := "", map[string]bool{}
			for name, value := range fields(override) {
				switch name {
				case "ISA":
					isa = strings.Trim(value.(*ast.BasicLit).Value, `"`)
				case "Kernels":
					leaves("", value, names)
				}
			}
			if kernels[table][isa] == nil {
				kernels[table][isa] = map[string]bool{}
			}
			maps.Copy(kernels[table][isa], names)
		}
	}
}

// leaves adds the paths of the functions in a literal.
func leaves(path string, e ast.Expr, to map[string]bool) {
	if _, ok := e.(*ast.CompositeLit); !ok {
		to[path] = true
		return
	}
	for name, value := range fields(e) {
		leaves(path+"."+name, value, to)
	}
}

// fields yields the keys and values of a literal, in their order.
func fields(e ast.Expr) func(func(string, ast.Expr) bool) {
	return func(yield func(string, ast.Expr) bool) {
		for _, element := range e.(*ast.CompositeLit).Elts {
			kv := element.(*ast.KeyValueExpr)
			key := kv.Key
			if s, ok := key.(*ast.SelectorExpr); ok {
				key = s.Sel
			}
			if !yield(key.(*ast.Ident).Name, kv.Value) {
				return
			}
		}
	}
}
