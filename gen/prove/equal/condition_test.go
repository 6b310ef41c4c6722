package equal

import (
	"strings"
	"testing"

	"github.com/attn-go/attn/gen/prove/expr"
)

// TestOwnCondition proves x² + 1 of numbers from -2 on, where all words of a vector are, and of at
// least -2 elsewhere: that is the same if the word itself has a part in the condition.
func TestOwnCondition(t *testing.T) {
	for _, c := range []struct {
		name   string
		lowest float32
		own    bool
		want   bool
	}{
		{"own condition", -2, true, true},
		{"another limit", -3, true, false},
		{"conditions of others alone", -2, false, false},
	} {
		g := expr.New()
		x, y, z := g.Sym(32, "x"), g.Sym(32, "y"), g.Sym(32, "z")
		square := func(v *expr.Node) *expr.Node { return g.FFma(v, v, g.Float(1)) }
		fits := func(v *expr.Node) *expr.Node { return g.FLe(g.Float(c.lowest), v) }
		own := y
		if c.own {
			own = x
		}
		want := square(g.FMaxX86(g.Float(-2), x))
		got := g.Select(g.And(fits(z), fits(own)), square(x), square(g.Select(g.FLt(x, g.Float(-2)), g.Float(-2), x)))
		q, err := New(g, NewLemmas(strings.NewReader("")), Suppose{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = q.Equal(want, got, true); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
