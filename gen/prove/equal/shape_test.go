package equal

import (
	"strings"
	"testing"

	"github.com/attn-go/attn/gen/prove/expr"
)

// TestShapes: claims about other symbols have the same shape, and any other difference makes
// another one.
func TestShapes(t *testing.T) {
	type side struct {
		x, y    *expr.Node
		isFloat bool
		known   Suppose
	}
	shapeOf := func(change func(g *expr.Graph, s *side)) (shape, bool) {
		g := expr.New()
		s := side{x: g.Sym(32, "x"), y: g.Sym(32, "y"), known: Suppose{Domains: map[*expr.Node]*Domain{}}}
		change(g, &s)
		q, err := New(g, NewLemmas(strings.NewReader("")), s.known)
		if err != nil {
			t.Fatal(err)
		}
		return q.shapeOf(claim{g.FDiv(s.x, s.y), g.FDiv(s.x, g.FDiv(s.y, g.Float(3))), s.isFloat})
	}
	plain, ok := shapeOf(func(*expr.Graph, *side) {})
	if !ok {
		t.Fatal("a claim has no shape")
	}
	if other, _ := shapeOf(func(g *expr.Graph, s *side) { s.x, s.y = g.Sym(32, "u"), g.Sym(32, "v") }); other != plain {
		t.Error("other names make another shape")
	}
	product := func(name string) shape {
		other, _ := shapeOf(func(g *expr.Graph, s *side) { s.x = g.FMul(g.FAdd(g.Sym(32, name), g.Float(5)), g.Float(7)) })
		return other
	}
	for i := range 20 { // graphs have the constants first for some names, and last for others
		if product(string(rune('a'+i))) != product("z") {
			t.Error("the order of arguments makes another shape")
		}
	}
	for name, change := range map[string]func(g *expr.Graph, s *side){
		"one symbol in the place of two": func(g *expr.Graph, s *side) { s.y = s.x },
		"another operation":              func(g *expr.Graph, s *side) { s.y = g.FSqrt(s.y) },
		"a constant":                     func(g *expr.Graph, s *side) { s.y = g.Float(5) },
		"bounds":                         func(g *expr.Graph, s *side) { s.x = g.SymWithin(32, "z", 0, 7) },
		"a range":                        func(g *expr.Graph, s *side) { s.x = g.SymBetween("z", -100, 100) },
		"a domain":                       func(g *expr.Graph, s *side) { s.known.Domains[s.x] = Finite },
		"a kind":                         func(g *expr.Graph, s *side) { s.known.Kinds = map[*expr.Node]Kind{s.x: Weight} },
		"one NaN":                        func(g *expr.Graph, s *side) { g.OneNaN = true },
		"the bits of a NaN":              func(g *expr.Graph, s *side) { s.isFloat = true },
	} {
		if other, ok := shapeOf(change); !ok || other == plain {
			t.Errorf("%s: the same shape", name)
		}
	}
	if _, ok := shapeOf(func(g *expr.Graph, s *side) { s.known.Same = map[*expr.Node]*expr.Node{s.x: s.y} }); ok {
		t.Error("what is supposed of nodes is in no shape")
	}
}
