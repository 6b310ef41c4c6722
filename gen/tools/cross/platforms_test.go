package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// kernelsOf returns the names that TestGuard of internal/tier gives to the kernels of a table in
// package asm.
func kernelsOf(t *testing.T, path string) (names []string) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(name string, x ast.Expr)
	walk = func(name string, x ast.Expr) {
		list, ok := x.(*ast.CompositeLit)
		if !ok {
			names = append(names, strings.TrimPrefix(name, "."))
			return
		}
		for _, e := range list.Elts {
			pair, ok := e.(*ast.KeyValueExpr)
			if !ok { // an override of a table
				walk(name, e)
				continue
			}
			key := ""
			switch k := pair.Key.(type) {
			case *ast.Ident:
				key = k.Name
			case *ast.SelectorExpr:
				key = k.Sel.Name
			}
			switch key {
			case "ISA", "Lanes":
			case "Kernels":
				walk(name, pair.Value)
			default:
				walk(name+"."+key, pair.Value)
			}
		}
	}
	for _, d := range f.Decls {
		for _, s := range d.(*ast.GenDecl).Specs {
			v, ok := s.(*ast.ValueSpec)
			if !ok || v.Names[0].Name == "Machine" {
				continue
			}
			name := v.Names[0].Name
			if name == "Products" || name == "Lanes" {
				name = ""
			}
			walk(name, v.Values[0])
		}
	}
	return names
}

// TestVectorKernels: TestGuard runs each kernel that RISC-V has in assembly for some length of
// vectors, without -deep.
func TestVectorKernels(t *testing.T) {
	var patterns []*regexp.Regexp
	for _, p := range platforms {
		for _, pkg := range p.list {
			if p.deep {
				continue
			}
			if _, of, ok := strings.Cut(pkg.run, "TestGuard$/"); ok && pkg.path == "internal/tier" && strings.Contains(p.tiers, "rvv") {
				of, _, _ = strings.Cut(of, "/")
				patterns = append(patterns, regexp.MustCompile(of))
			}
		}
	}
	names := kernelsOf(t, "../../../asm/tables_riscv64.go")
	if len(names) < 100 || len(patterns) != 2 {
		t.Fatalf("%d kernels, %d patterns", len(names), len(patterns))
	}
	for _, name := range names {
		found := false
		for _, p := range patterns {
			found = found || p.MatchString("kernel="+name)
		}
		if !found {
			t.Errorf("no platform runs %s", name)
		}
	}
}

// TestDotKernels: arm64's max runs only what calls products of weights, so no other table may have
// kernels for its dot products.
func TestDotKernels(t *testing.T) {
	tables, err := os.ReadFile("../../../asm/tables_arm64.go")
	if err != nil {
		t.Fatal(err)
	}
	needs := regexp.MustCompile(`Needs: \S+, Kernels: ukernel\.(\w+)`).FindAllSubmatch(tables, -1)
	if len(needs) == 0 {
		t.Error("no table has kernels for dot products")
	}
	for _, n := range needs {
		if table := string(n[1]); table != "WeightKernels" {
			t.Errorf("%s has kernels that Cortex-a57 lacks: add their callers to dotTests", table)
		}
	}
}
