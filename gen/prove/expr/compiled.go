package expr

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed compiled.c.txt
var compiledC string

// C returns a program in C that compares two roots for all values of the leaves, side by side in a
// word of at most 32 bits, from its first argument up to its second. It prints how many values
// differ, the first one that does, and the digest of a. Conditions on leaves are expressions in C
// of x; where one does not hold, 0 is tried.
func (p *Program) C(leaves []*Node, conditions []string, a, b *Node, isFloat bool) string {
	var body strings.Builder
	done := map[int]string{}
	shift := 0
	for i, l := range leaves {
		fmt.Fprintf(&body, "x = at>>%d & %#xu;", shift, mask(l.Width))
		if conditions[i] != "" {
			fmt.Fprintf(&body, " x = %s ? x : 0;", conditions[i])
		}
		done[p.place[l]] = fmt.Sprintf("v%d", p.place[l])
		fmt.Fprintf(&body, " uint32_t v%d = x;\n", p.place[l])
		shift += l.Width
	}
	name := func(at int) string {
		if s, ok := done[at]; ok {
			return s
		}
		return fmt.Sprintf("%#xu%s", p.bufs[at][0], strings.Repeat("l", p.nodes[at].Width/33*2)) // a constant
	}
	for _, s := range p.steps {
		args := make([]string, len(s.in))
		for i, at := range s.in {
			args[i] = name(at)
			if makesNaN(p.nodes[at]) && (s.free || !takesNumbers(s.n.Op)) {
				args[i] = "quiet(" + args[i] + ")"
			}
			if s.free && p.nodes[at].Width > 32 {
				args[i] = "fold(" + args[i] + ")"
			}
		}
		value := s.inC(args)
		if s.free {
			value = s.randomC(args)
		}
		kind := "uint32_t"
		if s.n.Width > 32 {
			kind = "uint64_t"
		}
		done[s.out] = fmt.Sprintf("v%d", s.out)
		fmt.Fprintf(&body, "%s v%d = %s;\n", kind, s.out, value)
	}
	root := func(n *Node) string {
		if !isFloat && makesNaN(n) {
			return "quiet(" + name(p.place[n]) + ")"
		}
		return name(p.place[n])
	}
	fmt.Fprintf(&body, "KEEP(%s, %s)\n", root(a), root(b))
	return strings.NewReplacer("BODY", body.String(), "IS_FLOAT", map[bool]string{false: "0", true: "1"}[isFloat]).Replace(compiledC)
}

// makesNaN reports whether a NaN of a node may have any bits in C.
func makesNaN(n *Node) bool {
	switch n.Op {
	case FAdd, FMul, FFma, FDiv, FSqrt, FRound:
		return true
	}
	return false
}

// takesNumbers reports whether an operation does not depend on the bits of a NaN.
func takesNumbers(op Op) bool {
	switch op {
	case FAdd, FMul, FFma, FDiv, FSqrt, FRound, FLt, FLe, FEq, FMax, FMin:
		return true
	}
	return false
}

// inC returns a node as an expression in C.
func (s step) inC(v []string) string {
	n := s.n
	m := fmt.Sprintf("%#xu", mask(n.Width))
	word := "(uint32_t)"
	if n.Width > 32 {
		m, word = m+"ll", "(uint64_t)"
	}
	signed := func(i int) string {
		if w := n.Args[i].Width; w > 32 {
			return fmt.Sprintf("(int64_t)((uint64_t)%s<<%d)>>%d", v[i], 64-w, 64-w)
		}
		w := n.Args[i].Width
		return fmt.Sprintf("(int32_t)((uint32_t)%s<<%d)>>%d", v[i], 32-w, 32-w)
	}
	switch n.Op {
	case Concat:
		var parts []string
		at := 0
		for i, x := range v {
			parts = append(parts, fmt.Sprintf("%s%s<<%d", word, x, at))
			at += n.Args[i].Width
		}
		return strings.Join(parts, " | ")
	case Extract:
		return fmt.Sprintf("%s>>%d & %s", v[0], n.Val, m)
	case Sext:
		if n.Width > 32 {
			return fmt.Sprintf("(uint64_t)(int64_t)(%s) & %s", signed(0), m)
		}
		return fmt.Sprintf("(%s) & %s", signed(0), m)
	case Sum:
		sum := fmt.Sprintf("%s%#xull", word, n.Val)
		for i, x := range v {
			sum += fmt.Sprintf(" + %s%#xull*%s%s", word, n.Coefs[i], word, x)
		}
		return fmt.Sprintf("(%s) & %s", sum, m)
	case Mul, And, Or, Xor:
		sign := map[Op]string{Mul: "*", And: "&", Or: "|", Xor: "^"}[n.Op]
		return fmt.Sprintf("(%s%s %s %s) & %s", word, v[0], sign, v[1], m)
	case Not:
		return fmt.Sprintf("~%s%s & %s", word, v[0], m)
	case Select:
		return fmt.Sprintf("%s ? %s : %s", v[0], v[1], v[2])
	case Eq, Ult:
		return fmt.Sprintf("%s %s %s ? one : zero", v[0], map[Op]string{Eq: "==", Ult: "<"}[n.Op], v[1])
	case Lt:
		return fmt.Sprintf("(%s) < (%s) ? one : zero", signed(0), signed(1))
	case UMax, UMin:
		return fmt.Sprintf("%s %s %s ? %s : %s", v[0], map[Op]string{UMax: ">", UMin: "<"}[n.Op], v[1], v[0], v[1])
	case Shl, Shr:
		return fmt.Sprintf("%s >= %d ? 0 : %s%s %s (%s&%d) & %s", v[1], n.Width, word, v[0], map[Op]string{Shl: "<<", Shr: ">>"}[n.Op], v[1], 2*16-1+n.Width/64*32, m)
	case Sar:
		return fmt.Sprintf("(%s) >> (%s < %d ? %s : %d) & %s", signed(0), v[1], n.Width, v[1], n.Width-1, m)
	case SToF:
		return fmt.Sprintf("raw((float)(%s))", signed(0))
	case UToF:
		return fmt.Sprintf("raw((float)%s)", v[0])
	}
	return fmt.Sprintf("%s(%s)", n.Op, strings.Join(v, ", "))
}

// randomC returns a function that nobody knows as an expression in C.
func (s step) randomC(v []string) string {
	swap, spreads := s.n.Op.commutes()
	h, nan := fmt.Sprintf("%#xu", uint32(s.shape)^uint32(s.shape>>32)), "0"
	for i, x := range v {
		if spreads {
			nan += fmt.Sprintf(" | isNaN(%s)", x)
		}
		switch {
		case swap && i == 0:
			x = fmt.Sprintf("least(%s, %s)", v[0], v[1])
		case swap && i == 1:
			x = fmt.Sprintf("most(%s, %s)", v[0], v[1])
		}
		h = fmt.Sprintf("stir(%s, %s)", h, x)
	}
	return fmt.Sprintf("(%s) ? 0x7fc00000u : %s & ~0x40000000u", nan, h)
}
