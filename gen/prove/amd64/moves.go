package amd64

import (
	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// moveVector executes loads, stores, broadcasts and what puts parts of vectors into others.
func (e *exec) moveVector(op string, args []machine.Operand, m masked) bool {
	switch op {
	case "VMOVUPS", "VMOVAPS", "VMOVDQU", "VMOVDQU32", "VMOVDQA32", "VMOVDQA", "VMOVUPD":
		e.moveWhole(op, args, m)
	case "VMASKMOVPS":
		e.maskMove(args, 1)
	case "VMASKMOVPD":
		e.maskMove(args, 2)
	case "VMOVSS", "VMOVD":
		e.moveFirst(args, 1)
	case "VMOVSD", "VMOVQ", "VMOVLPS":
		e.moveFirst(args, 2)
	case "VBROADCASTSS", "VPBROADCASTD":
		e.broadcast(args, 1, m)
	case "VBROADCASTSD", "VPBROADCASTQ":
		e.broadcast(args, 2, m)
	case "VBROADCASTF128", "VBROADCASTI128", "VBROADCASTF32X4", "VBROADCASTI32X4":
		e.broadcast(args, 4, m)
	case "VINSERTF128", "VINSERTI128", "VINSERTF32X4", "VINSERTI32X4":
		e.insert(args, 4)
	case "VINSERTF64X4", "VINSERTI64X4":
		e.insert(args, 8)
	case "VEXTRACTF128", "VEXTRACTI128", "VEXTRACTF32X4", "VEXTRACTI32X4":
		e.extract(args, 4)
	case "VEXTRACTF64X4", "VEXTRACTI64X4":
		e.extract(args, 8)
	case "VINSERTPS":
		e.insertWord(args)
	case "VPINSRB":
		v := e.read(args[2], 4)
		at := int(args[0].Imm)
		b := e.value(args[1], 8)
		e.pieces(args[3], 8, func(i int) *expr.Node {
			if i == at {
				return b
			}
			return e.octet(v, i)
		})
	case "VPINSRD":
		v := e.read(args[2], 4)
		v[args[0].Imm] = e.value(args[1], 32)
		e.write(args[3], v)
	case "VPEXTRW", "VPEXTRB":
		w := map[string]int{"VPEXTRW": 16, "VPEXTRB": 8}[op]
		h := e.g.Extract(e.g.Concat(e.read(args[1], 4)[int(args[0].Imm)*w/32]), int(args[0].Imm)*w%32, w)
		if isMemory(args[2]) {
			e.Store(e.address(args[2]), h)
		} else {
			e.set(args[2], e.g.Zext(h, 32))
		}
	case "VPEXTRD":
		e.set(args[2], e.read(args[1], 4)[args[0].Imm])
	case "VMOVHLPS":
		x, y := e.read(args[1], 4), e.read(args[0], 4)
		e.write(args[2], vec{y[2], y[3], x[2], x[3]})
	case "VMOVLHPS":
		x, y := e.read(args[1], 4), e.read(args[0], 4)
		e.write(args[2], vec{x[0], x[1], y[0], y[1]})
	case "VMOVSHDUP":
		v := e.read(args[0], len(e.reg(args[1])))
		e.lanes(args[1], func(i int) *expr.Node { return v[i|1] })
	case "VMOVMSKPS":
		v := e.reg(args[0])
		e.read(args[0], len(v))
		bits := make([]*expr.Node, len(v))
		for i, x := range v {
			bits[i] = e.g.Extract(x, 31, 1)
		}
		e.set(args[1], e.g.Zext(e.g.Concat(bits...), 64))
	default:
		return false
	}
	return true
}

func (e *exec) moveWhole(op string, args []machine.Operand, m masked) {
	from, to := args[0], args[1]
	if isMemory(to) {
		v := e.read(from, len(e.reg(from)))
		e.storeWords(e.address(to), v, m)
		return
	}
	words := len(e.reg(to))
	if m.mask == nil || !isMemory(from) {
		e.writeMasked(to, e.read(from, words), m)
		return
	}
	e.writeMasked(to, e.loadMasked(e.address(from), words, m), m)
}

// loadMasked loads the words that a mask chooses. The others are not touched, so there need be no
// memory.
func (e *exec) loadMasked(at *expr.Node, words int, m masked) vec {
	v := make(vec, words)
	for i := range v {
		b := e.bit(m, i)
		if !b.IsConst() {
			machine.Failf("%v: a load by a mask that depends on data", e.in)
		}
		if b.Val == 1 {
			v[i] = e.Load(e.g.Add(at, e.g.Int(int64(4*i))), 4)
		}
	}
	return v
}

func (e *exec) storeWords(at *expr.Node, v vec, m masked) {
	for i, x := range v {
		b := e.bit(m, i)
		if !b.IsConst() {
			machine.Failf("%v: a store by a mask that depends on data", e.in)
		}
		if b.Val == 1 {
			e.Store(e.g.Add(at, e.g.Int(int64(4*i))), x)
		}
	}
}

// maskMove is a load or a store by the signs of a vector.
func (e *exec) maskMove(args []machine.Operand, words int) {
	signs := func(o machine.Operand) masked {
		v := e.read(o, len(e.reg(o)))
		bits := make([]*expr.Node, len(v))
		for i := range v { // an element has the sign of its last word
			bits[i] = e.g.Extract(v[i/words*words+words-1], 31, 1)
		}
		return masked{e.g.Concat(bits...), true}
	}
	m := signs(args[1])
	if isMemory(args[2]) {
		e.storeWords(e.address(args[2]), e.read(args[0], len(e.reg(args[0]))), m)
		return
	}
	e.writeMasked(args[2], e.loadMasked(e.address(args[0]), len(e.reg(args[2])), m), m)
}

// moveFirst moves the lowest words between vectors, registers and memory; the others become 0.
func (e *exec) moveFirst(args []machine.Operand, words int) {
	from, to := args[0], args[1]
	if len(args) > 2 {
		machine.Failf("%v: no such form", e.in)
	}
	if _, _, ok := vecNumber(to.Reg); ok && !isMemory(to) {
		v := vec{e.g.Const(32, 0), e.g.Const(32, 0), e.g.Const(32, 0), e.g.Const(32, 0)}
		if _, _, isVec := vecNumber(from.Reg); isVec || isMemory(from) {
			copy(v, e.read(from, words))
		} else {
			x := e.value(from, 32*words)
			for i := range words {
				v[i] = e.g.Extract(x, 32*i, 32)
			}
		}
		e.write(to, v)
		return
	}
	v := e.read(from, words)
	if isMemory(to) {
		e.storeWords(e.address(to), v, masked{})
		return
	}
	e.set(to, e.g.Concat(v...))
}

// broadcast repeats the lowest words of an operand, or a register.
func (e *exec) broadcast(args []machine.Operand, words int, m masked) {
	from, to := args[0], args[1]
	var x vec
	if _, ok := gpNumbers[from.Reg]; ok && from.Kind == machine.Register {
		x = vec{e.value(from, 32)}
	} else {
		x = e.read(from, words)
	}
	v := make(vec, len(e.reg(to)))
	for i := range v {
		v[i] = x[i%words]
	}
	e.writeMasked(to, v, m)
}

func (e *exec) insert(args []machine.Operand, words int) {
	at := int(args[0].Imm) * words
	v := e.read(args[2], len(e.reg(args[3])))
	copy(v[at:], e.read(args[1], words))
	e.write(args[3], v)
}

func (e *exec) extract(args []machine.Operand, words int) {
	at := int(args[0].Imm) * words
	v := e.read(args[1], len(e.reg(args[1])))[at:][:words]
	if isMemory(args[2]) {
		e.storeWords(e.address(args[2]), v, masked{})
		return
	}
	e.write(args[2], v)
}

// insertWord is VINSERTPS: the number says which word goes where, and which ones become 0.
func (e *exec) insertWord(args []machine.Operand) {
	imm := int(args[0].Imm)
	var x *expr.Node
	if isMemory(args[1]) {
		x = e.read(args[1], 1)[0]
	} else {
		x = e.read(args[1], 4)[imm>>6&3]
	}
	v := e.read(args[2], 4)
	v[imm>>4&3] = x
	for i := range v {
		if imm>>i&1 == 1 {
			v[i] = e.g.Const(32, 0)
		}
	}
	e.write(args[3], v)
}
