package reference

import (
	"fmt"
	"go/types"
	"os"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/attn-go/attn/gen/prove/expr"
)

// module is the path of the module whose functions are executed.
const module = "github.com/attn-go/attn"

// Source is the program in SSA form.
type Source struct {
	program *ssa.Program
	codes   sync.Map // *code by *ssa.Function
}

// Load reads packages of the repository whose root is given, as they are compiled for CPUs that
// have an FMA.
func Load(root string, patterns ...string) (*Source, error) {
	cfg := &packages.Config{Mode: packages.LoadAllSyntax, Dir: root, Env: append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")}
	list, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		for _, e := range p.Errors {
			return nil, fmt.Errorf("%s: %w", p.PkgPath, e)
		}
	}
	program, _ := ssautil.AllPackages(list, ssa.InstantiateGenerics)
	s := &Source{program: program}
	for _, p := range program.AllPackages() {
		if s.executes(p) {
			p.Build()
		}
	}
	return s, nil
}

// executes reports whether functions of a package are executed from their source.
func (s *Source) executes(p *ssa.Package) bool {
	path := p.Pkg.Path()
	return strings.HasPrefix(path, module) || path == "slices" || path == "cmp" || path == "math/bits" || path == "encoding/binary"
}

// A Machine executes functions.
type Machine struct {
	G       *expr.Graph
	source  *Source
	globals map[*ssa.Global]*Cell
	fixed   map[*code][]Value // what does not change while a function is executed
	journal []change
	forks   int
	depth   int
}

// New returns a machine whose packages are initialised.
func (s *Source) New(g *expr.Graph) *Machine {
	m := &Machine{G: g, source: s, globals: map[*ssa.Global]*Cell{}, fixed: map[*code][]Value{}}
	done := map[string]bool{}
	for _, p := range s.program.AllPackages() {
		m.init(p, done)
	}
	return m
}

// init initialises a package of the module after those that it imports.
func (m *Machine) init(p *ssa.Package, done map[string]bool) {
	if done[p.Pkg.Path()] || !strings.HasPrefix(p.Pkg.Path(), module) {
		return
	}
	done[p.Pkg.Path()] = true
	for _, imported := range p.Pkg.Imports() {
		if q := m.source.program.ImportedPackage(imported.Path()); q != nil {
			m.init(q, done)
		}
	}
	m.call(p.Func("init"), nil, nil)
}

// Call calls a function of a package, given as "path.Name" below the module.
func (m *Machine) Call(path, name string, args ...Value) Value {
	p := m.source.program.ImportedPackage(module + "/" + path)
	if p == nil || p.Func(name) == nil {
		fault("no function %s.%s", path, name)
	}
	return m.call(p.Func(name), args, nil)
}

// CallValue calls a function that is a value.
func (m *Machine) CallValue(f Value, args ...Value) Value {
	c, ok := f.(*Closure)
	if !ok {
		fault("no function: %T", f)
	}
	return m.call(c.fn, args, c.free)
}

// A Typed is a value of a known type.
type Typed struct {
	Value Value
	typ   types.Type
	m     *Machine
}

// Table calls a function of a package that returns a table of kernels.
func (m *Machine) Table(path, name string, args ...Value) Typed {
	p := m.source.program.ImportedPackage(module + "/" + path)
	if p == nil || p.Func(name) == nil {
		fault("no function %s.%s", path, name)
	}
	return Typed{m.Call(path, name, args...), p.Func(name).Signature.Results().At(0).Type(), m}
}

// Field returns a field of a struct.
func (t Typed) Field(name string) Typed {
	s := t.typ.Underlying().(*types.Struct)
	for i := range s.NumFields() {
		if s.Field(i).Name() == name {
			return Typed{t.Value.(list)[i], s.Field(i).Type(), t.m}
		}
	}
	fault("no field %s", name)
	return Typed{}
}

// Element returns the element of an array that a constant of package ukernel names.
func (t Typed) Element(name string) Typed {
	c := t.m.source.program.ImportedPackage(module + "/internal/ukernel").Const(name)
	if c == nil {
		fault("no constant %s", name)
	}
	return Typed{t.Value.(list)[c.Value.Int64()], t.typ.Underlying().(*types.Array).Elem(), t.m}
}

// NewSlice returns a slice of variables with values.
func NewSlice(values []*expr.Node) Slice {
	s := make(Slice, len(values))
	for i, v := range values {
		s[i] = &Cell{V: v}
	}
	return s
}

// Nodes returns the values of a slice.
func (s Slice) Nodes() []*expr.Node {
	list := make([]*expr.Node, len(s))
	for i, c := range s {
		list[i] = c.V.(*expr.Node)
	}
	return list
}

// A Closure is a function with the variables that it refers to.
type Closure struct {
	fn   *ssa.Function
	free []Value
}

// int returns a concrete number.
func concrete(v Value) int {
	n, ok := v.(*expr.Node)
	if !ok {
		fault("a number is %T", v)
	}
	if !n.IsConst() {
		fault("a size or an index depends on data: %v", n)
	}
	return int(n.Signed())
}
