package layering

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A module is a module of a tree.
type module struct {
	dir      string // "." is the root
	path     string
	requires []string // modules that its go.mod requires
	replaces bool     // whether it has a replace
}

// A source is a Go file of a tree.
type source struct {
	name    string // with slashes, from the root of the tree
	module  *module
	imports []string
}

// isTest tells whether the file is part of a test alone.
func (s *source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }

// readTree returns all modules and Go files below a folder. Like the go command it leaves out
// folders called testdata and those that begin with a dot or an underscore.
func readTree(root string) (modules []*module, sources []*source, err error) {
	owners := map[string]*module{} // by folder
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "testdata" || strings.ContainsAny(d.Name()[:1], "._")):
			return fs.SkipDir
		case d.IsDir():
			m, err := readModule(root, name)
			if err != nil {
				return err
			}
			if m != nil {
				modules, owners[name] = append(modules, m), m
			} else {
				owners[name] = owners[path.Dir(name)]
			}
		case strings.HasSuffix(name, ".go"):
			imports, err := readImports(filepath.Join(root, name))
			if err != nil {
				return err
			}
			sources = append(sources, &source{name, owners[path.Dir(name)], imports})
		}
		return nil
	})
	return modules, sources, err
}

var (
	moduleLine  = regexp.MustCompile(`(?m)^module (\S+)`)
	requireLine = regexp.MustCompile(`(?m)^(?:require )?\t?(\S+) v\d\S*(?: // indirect)?$`)
	replaceLine = regexp.MustCompile(`(?m)^replace\b`)
)

// readModule returns the module whose go.mod lies in a folder, nil if there is none.
func readModule(root, dir string) (*module, error) {
	text, err := os.ReadFile(filepath.Join(root, dir, "go.mod"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m := &module{dir: dir, path: string(moduleLine.FindSubmatch(text)[1]), replaces: replaceLine.Match(text)}
	for _, line := range requireLine.FindAllSubmatch(text, -1) {
		m.requires = append(m.requires, string(line[1]))
	}
	return m, nil
}

// readImports returns the paths that a file imports.
func readImports(name string) (list []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// owner returns the module that a package belongs to, nil if it is none of these.
func owner(modules []*module, pkg string) (m *module) {
	for _, x := range modules {
		if (pkg == x.path || strings.HasPrefix(pkg, x.path+"/")) && (m == nil || len(x.path) > len(m.path)) {
			m = x
		}
	}
	return m
}

// isInternal tells whether a package is one for the packages around it.
func isInternal(pkg string) bool { return slices.Contains(strings.Split(pkg, "/"), "internal") }
