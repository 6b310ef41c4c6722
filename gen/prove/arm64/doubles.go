package arm64

import (
	"strings"

	"github.com/attn-go/attn/gen/prove/expr"
)

// doubles executes instructions on binary64 that are written as words.
func (e *exec) doubles(op string) bool {
	if !strings.HasPrefix(op, "f") || !strings.HasPrefix(e.args[0].Text, "v") || !strings.HasPrefix(e.args[1].Text, "v") {
		return false
	}
	g, d, from := e.g, parse(e.args[0].Text), parse(e.args[1].Text)
	x := e.read(from.n)
	of := map[string]func(x, y *expr.Node) *expr.Node{"fadd": g.Add64, "fsub": g.Sub64, "fmul": g.Mul64}
	switch {
	case op == "fcvtn" && from.w == 64:
		e.lower(d.n, []*expr.Node{g.Unary(expr.Narrow64, 32, e.piece(x, 64, 0)), g.Unary(expr.Narrow64, 32, e.piece(x, 64, 1))})
	case d.w != 64:
		return false
	case op == "fcvtl":
		e.write(d.n, 64, func(i int) *expr.Node { return g.Unary(expr.Widen, 64, x[i]) })
	case op == "fcmeq" && e.args[2].Text[0] == '#':
		e.write(d.n, 64, func(i int) *expr.Node { return g.Sext(g.FEq(e.piece(x, 64, i), g.Const(64, 0)), 64) })
	case of[op] != nil:
		y := e.read(number(e.args[2].Text))
		e.write(d.n, 64, func(i int) *expr.Node { return of[op](e.piece(x, 64, i), e.piece(y, 64, i)) })
	default:
		return false
	}
	return true
}
