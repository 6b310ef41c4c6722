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
// is written: by "Type.Field", or by "Type" if the type
// itself is a function, and without the word func.
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
				switch x := t.Type.(type) {
				case *ast.StructType:
					c.addFields(t.Name.Name, x)
				case *ast.FuncType:
					c.add(t.Name.Name, x)
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

// addFields adds the fields of a struct that are functions.
func (c Contracts) addFields(name string, s *ast.StructType) {
	for _, field := range s.Fields.List {
		if x, ok := field.Type.(*ast.FuncType); ok {
			for _, f := range field.Names {
				c.add(name+"."+f.Name, x)
			}
		}
	}
}

func (c Contracts) add(name string, f *ast.FuncType) {
	c[name] = strings.TrimPrefix(types.ExprString(f), "func")
}

// Signature returns the signature of a function.
func (c Contracts) Signature(f *Function) string {
	s, ok := c[f.contract()]
	if !ok {
		panic("package ukernel has no " + f.contract())
	}
	return s
}
