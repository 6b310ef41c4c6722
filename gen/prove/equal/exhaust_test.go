package equal

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/attn-go/attn/gen/prove/expr"
)

// TestExhaust tries all values of lemmas by the program in C, which is compared with package expr:
// lemmas that hold, also with a word that may be anything, and lemmas that do not.
func TestExhaust(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	for _, x := range []struct {
		name       string
		sides      func(g *expr.Graph, h, y *expr.Node) (a, b *expr.Node)
		free, want bool
	}{
		{"2h = h+h", func(g *expr.Graph, h, _ *expr.Node) (a, b *expr.Node) {
			return g.FMul(h, g.Float(2)), g.FAdd(h, h)
		}, false, true},
		{"3h = h+h", func(g *expr.Graph, h, _ *expr.Node) (a, b *expr.Node) {
			return g.FMul(h, g.Float(3)), g.FAdd(h, h)
		}, false, false},
		{"y/2h = y/(h+h)", func(g *expr.Graph, h, y *expr.Node) (a, b *expr.Node) {
			return g.FDiv(y, g.FMul(h, g.Float(2))), g.FDiv(y, g.FAdd(h, h))
		}, true, true},
		{"y/2h = 2h/y", func(g *expr.Graph, h, y *expr.Node) (a, b *expr.Node) {
			return g.FDiv(y, g.FMul(h, g.Float(2))), g.FDiv(g.FAdd(h, h), y)
		}, true, false},
	} {
		g := expr.New()
		v, y := g.Sym(16, "x"), g.Sym(32, "y")
		lemma := &Lemma{Name: x.name, IsFloat: true, Vars: []*expr.Node{v}, Domains: []*Domain{nil}}
		if x.free {
			lemma.Free = []*expr.Node{y}
		}
		lemma.A, lemma.B = x.sides(g, g.Unary(expr.HToF, 32, v), y)
		line, err := NewLemmas(strings.NewReader("")).Exhaust(lemma)
		if (err == nil) != x.want {
			t.Errorf("%s: %q, %v", x.name, line, err)
		}
		if err != nil && !strings.Contains(err.Error(), "does not hold") {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

// TestSettle: all values decide on lemmas that samples do not refute. One that does not hold counts
// as failed from then on.
func TestSettle(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	l, g := NewLemmas(strings.NewReader("")), expr.New()
	x := g.Sym(24, "x")
	odd := g.Extract(x, 0, 1)
	holds := claim{g.Zext(odd, 24), g.Sub(x, g.And(x, g.Const(24, 0xfffffe))), false}
	differs := claim{g.Zext(odd, 24), g.Select(g.Eq(x, g.Const(24, 0x2bcdef)), g.Const(24, 0), g.Zext(odd, 24)), false}
	for _, c := range []claim{holds, differs} {
		name, ok := l.try(c, []*expr.Node{x}, nil, nil)
		if !ok || !l.Sampled(name) {
			t.Fatalf("%v: %s %v", c, name, ok)
		}
		refuted, err := l.Settle(map[string]int{name: 1})
		_, again := l.try(c, []*expr.Node{x}, nil, nil)
		if want := c == differs; refuted != want || again == want || l.Sampled(name) != want || (err != nil) != want {
			t.Errorf("%v: refuted: %v, %v; proven again: %v", c, refuted, err, again)
		}
	}
}
