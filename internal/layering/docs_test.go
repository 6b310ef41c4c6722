package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shown are the names of public packages whose documentation has names of internal packages.
// Tensor, Mask and Tier are defined as internal types, see docs/design.md.
var shown = []string{"kernel.Mask", "kernel.Tensor", "kernel.Tier"}

// implementation are packages that no program imports: what they document is of internal types.
var implementation = []string{"asm", "fallback"}

// TestDocs: what go doc prints of the library and of models has no name of an internal package, as
// readers cannot look that up. Those that do are in the lists above, and these have no others.
func TestDocs(t *testing.T) {
	_, sources, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, s := range sources {
		dir := path.Dir(s.name)
		if s.isTest() || isInternal(dir) || s.module.dir != "." && s.module.dir != "models" || slices.Contains(implementation, dir) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, s.name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name.Name == "main" {
			continue
		}
		for name, internal := range internalNames(f) {
			name = strings.TrimPrefix(dir, "./") + "." + name
			if found[name] = true; !slices.Contains(shown, name) {
				t.Errorf("%s: the documentation of %s shows %s", s.name, name, internal)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(found)); len(got) < len(shown) {
		t.Errorf("of %v only %v show an internal name", shown, got)
	}
}

// internalNames returns the exported declarations of a file that show a name of an internal
// package, with that name.
func internalNames(f *ast.File) map[string]string {
	internal := map[string]bool{} // the names of such packages in the file
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil && isInternal(p) {
			name := path.Base(p)
			if i.Name != nil {
				name = i.Name.Name
			}
			internal[name] = true
		}
	}
	all := map[string]string{}
	look := func(name *ast.Ident, parts ...ast.Node) {
		for n := range documented(parts) {
			if x, ok := n.X.(*ast.Ident); ok && name.IsExported() && internal[x.Name] {
				all[name.Name] = x.Name + "." + n.Sel.Name
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if isDocumented(d) {
				look(d.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					look(spec.Name, spec.Type)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						look(name, spec)
					}
				}
			}
		}
	}
	return all
}

// isDocumented tells whether a function is exported, and the type that it is a method of.
func isDocumented(d *ast.FuncDecl) bool {
	if d.Recv != nil {
		if !ast.IsExported(receiver(d)) {
			return false
		}
	}
	return d.Name.IsExported()
}

// documented yields the selectors in what go doc prints of declarations: not in the bodies of
// functions, nor in hidden fields.
func documented(parts []ast.Node) iter.Seq[*ast.SelectorExpr] {
	return func(yield func(*ast.SelectorExpr) bool) {
		var visit func(n ast.Node) bool
		fields := func(list *ast.FieldList) bool {
			for _, f := range list.List {
				if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
					ast.Inspect(f.Type, visit)
				}
			}
			return false
		}
		more := true
		visit = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.StructType:
				return fields(n.Fields)
			case *ast.InterfaceType:
				return fields(n.Methods)
			case *ast.SelectorExpr:
				more = more && yield(n)
			}
			return more
		}
		for _, n := range parts {
			ast.Inspect(n, visit)
		}
	}
}
