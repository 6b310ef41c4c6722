package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
	"github.com/attn-go/attn/gen/prove/reference"
)

// A Case is a call of a kernel, with concrete sizes. An argument is an int, a bool, a Buffer, or
// Unknown for a number that is a symbol.
type Case map[string]any

// Unknown is an argument that is a symbol.
type Unknown struct{ Positive bool }

// A Buffer is an argument that is a slice. Its elements are symbols.
type Buffer struct {
	Len     int
	Write   bool                                  // whether the kernel may write to it
	Make    func(g *expr.Graph, i int) *expr.Node // makes an element in the place of a symbol
	Values  []int                                 // in the place of symbols: offsets
	Lo, Hi  int64                                 // bounds of integers that the contract gives
	Absent  bool                                  // there need be no memory: a hint
	Same    string                                // it is the same slice as another argument
	Ignored func(i int) bool                      // elements that may hold anything afterwards
}

func in(n int) Buffer         { return Buffer{Len: n} }
func out(n int) Buffer        { return Buffer{Len: n, Write: true} }
func offsets(v ...int) Buffer { return Buffer{Len: len(v), Values: v} }

// within limits the integers of a slice.
func (b Buffer) within(lo, hi int64) Buffer { b.Lo, b.Hi = lo, hi; return b }

// but says which elements may hold anything.
func (b Buffer) but(f func(i int) bool) Buffer { b.Ignored = f; return b }

// String names the sizes, in the order of the parameters.
func (c Case) text(k *Kernel) string {
	var parts []string
	for _, p := range k.Params {
		switch v := c[p.Name].(type) {
		case int, bool:
			parts = append(parts, fmt.Sprintf("%s=%v", p.Name, v))
		case Buffer:
			parts = append(parts, fmt.Sprintf("%s[%d]", p.Name, v.Len))
		}
	}
	return strings.Join(parts, " ")
}

// widths are the bits of elements in memory.
var widths = map[string]int{"float32": 32, "int32": 32, "uint32": 32, "int8": 8, "uint8": 8, "byte": 8, "bool": 8, "int16": 16, "uint16": 16, "int": 64, "uint64": 64, "float64": 64}

// A call is a case that is laid out for both sides.
type call struct {
	g       *expr.Graph
	kernel  *Kernel
	c       Case
	args    *machine.Region
	regions []*machine.Region
	buffers map[string]*buffer
	values  []reference.Value // arguments of the reference, in order
}

type buffer struct {
	Buffer
	elem   string
	region *machine.Region
	slice  reference.Slice
	before []*expr.Node // the content at the start
}

// keep remembers memory, and reset restores it.
func (l *call) keep() {
	for _, r := range append(l.regions, l.args) {
		r.Keep()
	}
}

func (l *call) reset() {
	for _, r := range append(l.regions, l.args) {
		r.Reset()
	}
}

// of returns the call for another kernel with the same arguments.
func (l *call) of(e entry) *call {
	m := *l
	m.kernel, m.c = e.Kernel, e.c
	return &m
}

// same reports whether two calls of one graph with the same sizes have the same arguments.
func (l *call) same(m *call) bool {
	if !l.args.Same(m.args) || len(l.regions) != len(m.regions) {
		return false
	}
	for name, x := range l.buffers {
		y := m.buffers[name]
		if y == nil || x.Write != y.Write || x.Absent != y.Absent || x.Same != y.Same || !slices.Equal(x.before, y.before) || (x.Ignored == nil) != (y.Ignored == nil) {
			return false
		}
		for i := range x.before {
			if x.Ignored != nil && x.Ignored(i) != y.Ignored(i) {
				return false
			}
		}
	}
	return l.c[resultBits] == m.c[resultBits]
}

// layOut makes the arguments of both sides.
func layOut(g *expr.Graph, k *Kernel, c Case) (*call, error) {
	l := &call{g: g, kernel: k, c: c, args: machine.NewRegion(g, "arguments", k.Size), buffers: map[string]*buffer{}}
	used := 0
	for _, p := range k.Params {
		v, ok := c[p.Name]
		if !ok {
			return nil, fmt.Errorf("the case has no %s", p.Name)
		}
		used++
		l.values = append(l.values, l.argument(p, v))
	}
	if used != len(c) {
		for name := range c {
			if name != resultBits && !slices.ContainsFunc(k.Params, func(p Param) bool { return p.Name == name }) {
				return nil, fmt.Errorf("the kernel has no %s", name)
			}
		}
	}
	return l, nil
}

func (l *call) argument(p Param, v any) reference.Value {
	g := l.g
	switch v := v.(type) {
	case int:
		n := g.Const(8*sizes[p.Type], uint64(v))
		l.args.SetWord(p.Offset, n)
		return n
	case bool:
		n := g.Bool(v)
		l.args.SetWord(p.Offset, g.Zext(n, 8))
		return n
	case Unknown:
		n := g.Sym(8*sizes[p.Type], p.Name)
		if v.Positive {
			n = g.FMinX86(g.FAbs(n), g.Const(32, 0x7f7fffff)) // a number, also for a NaN
		}
		l.args.SetWord(p.Offset, n)
		return n
	case Buffer:
		b := l.buffers[v.Same]
		if b == nil {
			b = l.buffer(p, v)
		}
		l.buffers[p.Name] = b
		l.args.SetWord(p.Offset, b.region.Base)
		l.args.SetWord(p.Offset+8, g.Int(int64(v.Len)))
		l.args.SetWord(p.Offset+16, g.Int(int64(v.Len)))
		return b.slice[:v.Len:v.Len]
	}
	panic(fmt.Sprintf("%s: no such argument: %T", p.Name, v))
}

// buffer makes the memory of a slice.
func (l *call) buffer(p Param, v Buffer) *buffer {
	g := l.g
	b := &buffer{Buffer: v, elem: strings.TrimPrefix(p.Type, "[]")}
	w := widths[b.elem]
	b.region = machine.NewRegion(g, p.Name, v.Len*w/8)
	b.region.ReadOnly, b.region.Present = !v.Write, !v.Absent
	nodes := make([]*expr.Node, v.Len)
	for i := range nodes {
		name := fmt.Sprintf("%s[%d]", p.Name, i)
		var inMemory *expr.Node
		switch {
		case v.Make != nil:
			nodes[i] = v.Make(g, i)
			inMemory = nodes[i]
		case v.Values != nil:
			nodes[i] = g.Const(w, uint64(v.Values[i]))
			inMemory = nodes[i]
		case b.elem == "bool":
			nodes[i] = g.Sym(1, name)
			inMemory = g.Zext(nodes[i], 8)
		case v.Lo != 0 || v.Hi != 0:
			nodes[i] = g.SymWithin(w, name, v.Lo, v.Hi)
			inMemory = nodes[i]
		default:
			nodes[i] = g.Sym(w, name)
			inMemory = nodes[i]
		}
		b.region.SetWord(i*w/8, inMemory)
	}
	b.slice, b.before = reference.NewSlice(nodes), nodes
	l.regions = append(l.regions, b.region)
	return b
}
