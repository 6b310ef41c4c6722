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
