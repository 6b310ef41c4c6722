package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// names32 are the parameters and fields whose numbers name things. Others are counts, lengths and
// positions: ints.
var names32 = []string{"Pages", "Rows", "Parents", "GroupOf", "query", "key", "rows", "targets", "parents"}

// TestWidths: slices of integers in the API of the library have either of two widths: int32 if they
// name things, as the arrays of tokenizers, files and block tables do, else int. Dropout.Sequences
// are words of its generator, and the elements of tensors have the types of kernel.Element.
func TestWidths(t *testing.T) {
	_, sources, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range sources {
		dir := path.Dir(s.name)
		if s.module.dir != "." || s.isTest() || isInternal(dir) || slices.Contains(implementation, dir) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, s.name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range integerSlices(f) {
			name, width, _ := strings.Cut(x, " ")
			seen[name] = true
			switch want := width == "int32" == slices.Contains(names32, name); {
			case width == "uint32" && name == "Sequences", width == "int8" && name == "dst", width == "uint16" && name == "bits":
			case !want || width != "int" && width != "int32":
				t.Errorf("%s: %s is []%s", s.name, name, width)
			}
		}
	}
	for _, name := range names32 {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// integerSlices returns the parameters of exported functions and the exported fields that are
// slices of integers, also slices of them, as "name type".
func integerSlices(f *ast.File) (found []string) {
	add := func(fields *ast.FieldList, exported bool) {
		if fields == nil {
			return
		}
		for _, field := range fields.List {
			slice, ok := field.Type.(*ast.ArrayType)
			for ok && slice.Len == nil {
				if of, isSlice := slice.Elt.(*ast.ArrayType); isSlice {
					slice = of
					continue
				}
				of, _ := slice.Elt.(*ast.Ident)
				if of == nil || !strings.Contains(of.Name, "int") {
					break
				}
				for _, name := range field.Names {
					if !exported || name.IsExported() {
						found = append(found, name.Name+" "+of.Name)
					}
				}
				break
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if isDocumented(d) {
				add(d.Type.Params, false)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if typ, ok := spec.(*ast.TypeSpec); ok && typ.Name.IsExported() {
					if s, ok := typ.Type.(*ast.StructType); ok {
						add(s.Fields, true)
					}
				}
			}
		}
	}
	return found
}
