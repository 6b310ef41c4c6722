package arm64

import (
	"regexp"
	"strings"
	"sync"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// word executes an instruction that is written as a word, by its text.
func (e *exec) word() bool {
	op, args := e.in.Op, e.args
	if len(args) < 2 {
		return false
	}
	e.checkForm()
	if e.doubles(op) {
		return true
	}
	if f, ok := same[op]; ok && len(args) == 3 {
		e.elementwise(f, wide(op, parse(args[0].Text)), args[1].Text, args[2].Text)
		return true
	}
	if f, ok := unary[op]; ok && len(args) == 2 {
		d, x := parse(args[0].Text), e.read(number(args[1].Text))
		e.write(d.n, d.w, func(i int) *expr.Node { return f(e.g, e.piece(x, d.w, i)) })
		return true
	}
	return e.accumulate(op) || e.lengthen(op) || e.products(op) || e.reduce(op)
}

// forms has the operands of operations on two vectors or more, without the numbers of registers.
var forms = regexp.MustCompile(`^(` + strings.Join([]string{
	`(fadd|fsub|fmul) (4s, 4s, 4s|2d, 2d, 2d)`,
	`(fdiv|fmax|fmin|fcmeq|fcmge|fcmgt|facge|fmla|fmls|mla) 4s, 4s, 4s`,
	`(fmul|fmla|fmls|mul|mla) 4s, 4s, s\[[0-3]\]`,
	`fcmeq 2d, 2d, #0\.0|(fcmeq|fcmge|fcmgt) 4s, 4s, #0\.0`,
	`(fabs|fneg|fsqrt|frintn|fcvtns|scvtf|ucvtf) 4s, 4s`,
	`(add|sub|cmeq|cmgt|cmge|cmhi|cmhs|ushl) (16b, 16b, 16b|8h, 8h, 8h|4s, 4s, 4s|2d, 2d, 2d)`,
	`(cmeq|cmgt|cmge) (16b, 16b|8h, 8h|4s, 4s|2d, 2d), #0`,
	`(mul|umax|umin|smax) (16b, 16b, 16b|8h, 8h, 8h|4s, 4s, 4s)`,
	`(and|orr|eor|bic) 16b, 16b, 16b`,
	`abs (16b, 16b|8h, 8h|4s, 4s|2d, 2d)`,
	`(sxtl|uxtl) (8h, 8b|4s, 4h|2d, 2s)|(sxtl|uxtl)2 (8h, 16b|4s, 8h|2d, 4s)`,
	`(umull|smull|smlal) (8h, 8b, 8b|4s, 4h, 4h|2d, 2s, 2s)|(umull|smull|smlal)2 (8h, 16b, 16b|4s, 8h, 8h|2d, 4s, 4s)`,
	`shll 4s, 4h, #16|shll2 4s, 8h, #16|sadalp 4s, 8h|sdot 4s, 16b, (16b|4b\[[0-3]\])`,
	`fcvtl (4s, 4h|2d, 2s)|fcvtl2 4s, 8h|fcvtn (4h, 4s|2s, 2d)|fcvtn2 8h, 4s`,
}, "|") + `)$`)

var checked sync.Map // texts of instructions

var registerOf = regexp.MustCompile(`v\d+\.`)

// checkForm ends the execution if operands are no form of an operation.
func (e *exec) checkForm() {
	if _, ok := checked.Load(e.in.Text); ok {
		return
	}
	var list []string
	vectors := 0
	for _, a := range e.args {
		list = append(list, registerOf.ReplaceAllString(a.Text, ""))
		if list[len(list)-1] != a.Text {
			vectors++
		}
	}
	if vectors > 1 && !forms.MatchString(e.in.Op+" "+strings.Join(list, ", ")) {
		machine.Failf("%v: no such form", e.in)
	}
	checked.Store(e.in.Text, true)
}

// accumulate executes what adds to the destination.
func (e *exec) accumulate(op string) bool {
	g := e.g
	if op != "fmla" && op != "fmls" && op != "mla" && op != "sdot" && op != "sadalp" {
		return false
	}
	d := parse(e.args[0].Text)
	old, x := e.read(d.n), e.read(number(e.args[1].Text))
	if op == "sadalp" {
		e.write(d.n, 32, func(i int) *expr.Node {
			return g.Add(old[i], g.Sext(e.piece(x, 16, 2*i), 32), g.Sext(e.piece(x, 16, 2*i+1), 32))
		})
		return true
	}
	r := parse(e.args[2].Text)
	y := e.read(r.n)
	e.write(d.n, 32, func(i int) *expr.Node {
		j := i
		if r.index >= 0 {
			j = r.index
		}
		switch op {
		case "fmla":
			return g.FFma(x[i], y[j], old[i])
		case "fmls":
			return g.FFma(g.FNeg(x[i]), y[j], old[i])
		case "mla":
			return g.Add(old[i], g.Mul(x[i], y[j]))
		}
		sum := []*expr.Node{old[i]}
		for b := range 4 {
			sum = append(sum, g.Mul(g.Sext(e.piece(x, 8, 4*i+b), 32), g.Sext(e.piece(y, 8, 4*j+b), 32)))
		}
		return g.Add(sum...)
	})
	return true
}

// lengthen executes conversions between widths. A 2 at the end of a name takes, or sets, the upper
// half.
func (e *exec) lengthen(op string) bool {
	g := e.g
	name, upper := strings.CutSuffix(op, "2")
	d := func() reg { return parse(e.args[0].Text) }
	source := func(w int) func(i int) *expr.Node {
		x := e.read(number(e.args[1].Text))
		first := 0
		if upper {
			first = 64 / w
		}
		return func(i int) *expr.Node { return e.piece(x, w, first+i) }
	}
	narrow := func(f func(x *expr.Node) *expr.Node) {
		x, old := e.read(number(e.args[1].Text)), e.zeros()
		if upper {
			old = e.read(d().n)
		}
		e.write(d().n, 16, func(i int) *expr.Node {
			switch {
			case upper && i < 4:
				return e.piece(old, 16, i)
			case !upper && i >= 4:
				return g.Const(16, 0)
			}
			return f(x[i%4])
		})
	}
	switch name {
	case "fcvtl":
		x := source(16)
		e.write(d().n, 32, func(i int) *expr.Node { return g.Unary(expr.HToF, 32, x(i)) })
	case "shll":
		x := source(16)
		e.write(d().n, 32, func(i int) *expr.Node { return g.Concat(g.Const(16, 0), x(i)) })
	case "sxtl":
		w := d().w
		x := source(w / 2)
		e.write(d().n, w, func(i int) *expr.Node { return g.Sext(x(i), w) })
	case "uxtl":
		w := d().w
		x := source(w / 2)
		e.write(d().n, w, func(i int) *expr.Node { return g.Zext(x(i), w) })
	case "fcvtn":
		narrow(func(x *expr.Node) *expr.Node { return g.Unary(expr.FToH, 16, x) })
	default:
		return false
	}
	return true
}

// products executes products of twice the width.
func (e *exec) products(op string) bool {
	g := e.g
	name, upper := strings.CutSuffix(op, "2")
	if name != "umull" && name != "smull" && name != "smlal" {
		return false
	}
	d := parse(e.args[0].Text)
	x, y, old := e.read(number(e.args[1].Text)), e.read(number(e.args[2].Text)), []*expr.Node(nil)
	if name == "smlal" {
		old = e.read(d.n)
	}
	w := d.w / 2
	first := 0
	if upper {
		first = 64 / w
	}
	e.write(d.n, d.w, func(i int) *expr.Node {
		a, b := e.piece(x, w, first+i), e.piece(y, w, first+i)
		if name == "umull" {
			return g.Mul(g.Zext(a, d.w), g.Zext(b, d.w))
		}
		p := g.Mul(g.Sext(a, d.w), g.Sext(b, d.w))
		if old != nil {
			return g.Add(e.piece(old, d.w, i), p)
		}
		return p
	})
	return true
}

// reduce executes what leaves one number of all elements.
func (e *exec) reduce(op string) bool {
	name, ok := strings.CutSuffix(op, "v")
	f := same[name]
	if !ok || f == nil {
		return false
	}
	v := e.read(number(e.args[1].Text))
	// In pairs, as the manual has it.
	n := f(e.g, f(e.g, v[0], v[1]), f(e.g, v[2], v[3]))
	e.lower(number(e.args[0].Text), []*expr.Node{n})
	return true
}
