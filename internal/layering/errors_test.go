package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"testing"
)

// errorTypes are the types of errors of all modules, by their package. A program acts upon the data
// of each: CapacityError says how many pages to free, BlocksError which blocks to store again.
var errorTypes = []string{
	"cluster/embed.StalledError", "cluster/shard.BlocksError", "cluster/shard.ConflictError", "cluster/shard.DirectoryError", "cluster/shard.WorkerError",
	"kernel.Error", "kernel.TaskPanic", "kvcache.CapacityError",
	"models/command.SignalError", "models/server/internal/dialect.Failure", "models/server/internal/fields.Error",
}

// TestErrorTypes: what does not fit is a kernel.Error with a kind, unless an error has data that a
// program acts upon.
func TestErrorTypes(t *testing.T) {
	_, sources, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, s := range sources {
		if s.isTest() {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, s.name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil && m.Name.Name == "Error" && m.Type.Params.NumFields() == 0 {
				found = append(found, path.Dir(s.name)+"."+receiver(m))
			}
		}
	}
	if slices.Sort(found); !slices.Equal(found, errorTypes) {
		t.Errorf("types of errors:\n got %v\nwant %v", found, errorTypes)
	}
}

// receiver returns the name of the type of a method.
func receiver(m *ast.FuncDecl) string {
	t := m.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if of, ok := t.(*ast.IndexExpr); ok { // a type with a parameter
		t = of.X
	}
	if of, ok := t.(*ast.IndexListExpr); ok {
		t = of.X
	}
	return t.(*ast.Ident).Name
}
