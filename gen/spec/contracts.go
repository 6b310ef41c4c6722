package spec

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strings"
)

// Contracts are the signatures of the micro-kernels as package ukernel has them, where each contract
// is written: by "Type.Field", and without the word func.
type Contracts map[string]string

// ReadContracts reads package ukernel below the repository's root.
func ReadContracts(root string) (Contracts, error) {
	dir := filepath.Join(root, "internal", "ukernel")
	pkgs, err := parser.ParseDir(token.NewFileSet(), dir, func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0)
	if err != nil {
		return nil, err
	}
	c := Contracts{}
	for _, pkg := range pkgs {
		ast.Inspect(pkg, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok {
				if s, ok := t.Type.(*ast.StructType); ok {
					c.add(t.Name.Name, s)
				}
			}
			return true
		})
	}
	if len(c) == 0 {
		return nil, fmt.Errorf("%s: no kernels", dir)
	}
	return c, nil
}

// add adds the fields of a struct that are functions.
func (c Contracts) add(name string, s *ast.StructType) {
	for _, field := range s.Fields.List {
		if _, ok := field.Type.(*ast.FuncType); ok {
			for _, f := range field.Names {
				c[name+"."+f.Name] = strings.TrimPrefix(types.ExprString(field.Type), "func")
			}
		}
	}
}

// Signature returns the signature of a function.
func (c Contracts) Signature(f *Function) string {
	s, ok := c[f.Type()+"."+f.Field]
	if !ok {
		panic("package ukernel has no " + f.Type() + "." + f.Field)
	}
	return s
}
