package spec

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// Contracts are the signatures of the micro-kernels as package ukernel has them, where each
// contract is written.
type Contracts struct {
	signatures map[string]string // by "Type.Field", or by "Type" if the type itself is a function; without the word func
	structs    map[string]*ast.StructType
	expanded   map[string]string // the structs that signatures have, written out, to their names
}

// ReadContracts reads package ukernel below the repository's root.
func ReadContracts(root string) (Contracts, error) {
	dir := filepath.Join(root, "internal", "ukernel")
	files, err := parseFiles(dir)
	if err != nil {
		return Contracts{}, err
	}
	c := Contracts{map[string]string{}, map[string]*ast.StructType{}, map[string]string{}}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok {
				if x, ok := t.Type.(*ast.StructType); ok {
					c.structs[t.Name.Name] = x
				}
			}
			return true
		})
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
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
	if len(c.signatures) == 0 {
		return Contracts{}, fmt.Errorf("%s: no kernels", dir)
	}
	return c, nil
}

// parseFiles parses the files of a package, but for its tests.
func parseFiles(dir string) (files []*ast.File, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
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

// add adds a signature. A struct that is the only argument is written out.
func (c Contracts) add(name string, f *ast.FuncType) {
	text := strings.TrimPrefix(types.ExprString(f), "func")
	if f.Params.NumFields() == 1 {
		of := types.ExprString(f.Params.List[0].Type)
		if s, ok := c.structs[of]; ok {
			written := writtenOut(s)
			c.expanded[written], c.expanded[formatted(written)] = of, of
			text = strings.Replace(text, of, written, 1)
		}
	}
	c.signatures[name] = text
}

// writtenOut returns a struct as a type without a name, a name and a type for each field.
func writtenOut(s *ast.StructType) string {
	var fields []string
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			fields = append(fields, name.Name+" "+types.ExprString(f.Type))
		}
	}
	return "struct{" + strings.Join(fields, "; ") + "}"
}

// formatted returns a type as gofmt writes it in the signature of a function.
func formatted(written string) string {
	const before, after = "package x\n\nfunc f(a ", ")\n"
	text, err := format.Source([]byte(before + written + after))
	if err != nil {
		panic(err)
	}
	return string(text[len(before) : len(text)-len(after)])
}

// Signature returns the signature of a function.
func (c Contracts) Signature(f *Function) string {
	s, ok := c.signatures[f.contract()]
	if !ok {
		panic("package ukernel has no " + f.contract())
	}
	return s
}

const ukernelPackage = "ukernel"

// NameStructs replaces the structs in the signatures of a generated file by their names, for which
// a Go file needs an import.
func (c Contracts) NameStructs(file []byte) []byte {
	text := string(file)
	for written, name := range c.expanded {
		text = strings.ReplaceAll(text, written, ukernelPackage+"."+name)
	}
	if text != string(file) {
		text = strings.Replace(text, "\npackage asm\n", "\npackage asm\n\nimport \"github.com/attn-go/attn/internal/"+ukernelPackage+"\"\n", 1)
	}
	return []byte(text)
}

// Field is the name of a struct's field for a kernel's argument.
func Field(argument string) string { return strings.ToUpper(argument[:1]) + argument[1:] }

// TakesStruct reports whether the only argument of a signature is a struct.
func TakesStruct(signature string) bool { return strings.HasPrefix(signature, "(a struct{") }
