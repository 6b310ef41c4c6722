// Package reference executes the functions of package fallback from their Go source, over symbols
// in the place of numbers. It interprets the SSA form that golang.org/x/tools makes of them. Sizes
// and strides are concrete, and so is control flow, but for branches on symbols: of such a branch
// both sides are executed up to where they meet, and what differs there becomes a selection, see
// fork.go.
package reference

import (
	"fmt"
	"go/types"

	"github.com/attn-go/attn/gen/prove/expr"
)

// A Value is what a variable holds: a *expr.Node for a number or a bool, a Slice, a Pointer, a
// *Closure, a builtin, or a list of values for an array, a struct or several results.
type Value any

// A list is an array, a struct or several results.
type list []Value

// A Cell is a variable: of a number, or of an array or a struct with cells for the parts.
type Cell struct {
	V    Value
	Kids []*Cell
}

// A Slice holds the cells of its elements.
type Slice []*Cell

// A Pointer points to a cell, or to table[index], where index is a symbol.
type Pointer struct {
	to    *Cell
	table []*Cell
	index *expr.Node
}

// A Fault ends the execution by a panic: something that the interpreter cannot do, or a panic of
// the program.
type Fault string

func fault(format string, args ...any) { panic(Fault(fmt.Sprintf(format, args...))) }

// widthOf returns the number of bits of a basic type.
func widthOf(t types.Type) int {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		fault("no number: %v", t)
	}
	switch b.Kind() {
	case types.Bool, types.UntypedBool:
		return 1
	case types.Int8, types.Uint8:
		return 8
	case types.Int16, types.Uint16:
		return 16
	case types.Int32, types.Uint32, types.Float32, types.UntypedRune:
		return 32
	case types.Int, types.Int64, types.Uint, types.Uint64, types.Uintptr, types.Float64, types.UntypedInt, types.UntypedFloat:
		return 64
	}
	fault("a number of type %v", t)
	return 0
}

func has(t types.Type, info types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&info != 0
}

func isFloat(t types.Type) bool    { return has(t, types.IsFloat) }
func isUnsigned(t types.Type) bool { return has(t, types.IsUnsigned) }

// zero returns the zero value of a type.
func (m *Machine) zero(t types.Type) Value {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsString != 0 || u.Kind() == types.UnsafePointer || u.Kind() == types.UntypedNil {
			return nil
		}
		return m.G.Const(widthOf(t), 0)
	case *types.Array:
		l := make(list, u.Len())
		for i := range l {
			l[i] = m.zero(u.Elem())
		}
		return l
	case *types.Struct:
		l := make(list, u.NumFields())
		for i := range l {
			l[i] = m.zero(u.Field(i).Type())
		}
		return l
	case *types.Slice:
		return Slice(nil)
	}
	return nil
}

// cell returns a new variable with a value.
func cell(v Value) *Cell {
	l, ok := v.(list)
	if !ok {
		return &Cell{V: v}
	}
	c := &Cell{Kids: make([]*Cell, len(l))}
	for i, x := range l {
		c.Kids[i] = cell(x)
	}
	return c
}

// load returns the value of a variable.
func load(c *Cell) Value {
	if c.Kids == nil {
		return c.V
	}
	l := make(list, len(c.Kids))
	for i, k := range c.Kids {
		l[i] = load(k)
	}
	return l
}

// A change is an old value of a cell.
type change struct {
	c   *Cell
	old Value
}

// store sets a variable, and remembers what it held while branches are executed one after the
// other.
func (m *Machine) store(c *Cell, v Value) {
	if l, ok := v.(list); ok && c.Kids != nil {
		for i, x := range l {
			m.store(c.Kids[i], x)
		}
		return
	}
	if m.forks > 0 {
		m.journal = append(m.journal, change{c, c.V})
	}
	c.V = v
}

// mux returns the value that an index chooses of some, by its bits.
func (m *Machine) mux(index *expr.Node, values []Value) Value {
	if l, ok := values[0].(list); ok {
		out := make(list, len(l))
		for i := range out {
			column := make([]Value, len(values))
			for j, v := range values {
				column[j] = v.(list)[i]
			}
			out[i] = m.mux(index, column)
		}
		return out
	}
	nodes := make([]*expr.Node, len(values))
	for i, v := range values {
		nodes[i] = v.(*expr.Node)
	}
	return m.G.Mux(index, nodes)
}

// merge returns x where c is set, and else y.
func (m *Machine) merge(c *expr.Node, x, y Value) Value {
	switch a := x.(type) {
	case *expr.Node:
		if b, ok := y.(*expr.Node); ok {
			return m.G.Select(c, a, b)
		}
	case list:
		if b, ok := y.(list); ok && len(a) == len(b) {
			out := make(list, len(a))
			for i := range a {
				out[i] = m.merge(c, a[i], b[i])
			}
			return out
		}
	case Slice:
		if b, ok := y.(Slice); ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) {
			return a
		}
	case Pointer:
		if b, ok := y.(Pointer); ok && a.to == b.to && a.index == b.index {
			return a
		}
	case nil:
		if y == nil {
			return nil
		}
	}
	if x == nil || y == nil { // one side does not use it
		return nil
	}
	fault("branches on a symbol leave %T and %T", x, y)
	return nil
}
