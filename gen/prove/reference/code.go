package reference

import (
	"sync"

	"golang.org/x/tools/go/ssa"
)

// A code is a function with numbers in the place of values.
type code struct {
	name      string // of the source, without type arguments
	registers int    // parameters, free variables and results of instructions
	fixed     []ssa.Value
	blocks    [][]inst
	joins     func() []*ssa.BasicBlock // where all ways from each block meet first, nil for the end
}

// An inst is an instruction with its operands, in the order of [ssa.Instruction.Operands].
type inst struct {
	in  ssa.Instruction
	to  int // the register of the result
	ops []operand
}

// An operand is the number of a register, or ^n for number n of what is fixed; it is none for an
// operand that is left out.
type operand int

const none operand = -1 << 31

func (s *Source) codeOf(fn *ssa.Function) *code {
	if c, ok := s.codes.Load(fn); ok {
		return c.(*code)
	}
	c := newCode(fn)
	s.codes.Store(fn, c)
	return c
}

func newCode(fn *ssa.Function) *code {
	c := &code{name: fn.String(), joins: sync.OnceValue(func() []*ssa.BasicBlock { return postdominators(fn) })}
	if origin := fn.Origin(); origin != nil {
		c.name = origin.String()
	}
	number := map[ssa.Value]operand{}
	register := func(v ssa.Value) {
		number[v] = operand(c.registers)
		c.registers++
	}
	for _, p := range fn.Params {
		register(p)
	}
	for _, v := range fn.FreeVars {
		register(v)
	}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if v, ok := in.(ssa.Value); ok {
				register(v)
			}
		}
	}
	for _, b := range fn.Blocks {
		var list []inst
		for _, in := range b.Instrs {
			x := inst{in: in}
			if v, ok := in.(ssa.Value); ok {
				x.to = int(number[v])
			}
			for _, v := range in.Operands(nil) {
				if *v == nil {
					x.ops = append(x.ops, none)
					continue
				}
				n, ok := number[*v]
				if !ok {
					n = ^operand(len(c.fixed))
					number[*v] = n
					c.fixed = append(c.fixed, *v)
				}
				x.ops = append(x.ops, n)
			}
			list = append(list, x)
		}
		c.blocks = append(c.blocks, list)
	}
	return c
}

// fixedOf returns the constants, functions and addresses that a function refers to.
func (m *Machine) fixedOf(c *code) []Value {
	if list, ok := m.fixed[c]; ok {
		return list
	}
	list := make([]Value, len(c.fixed))
	for i, v := range c.fixed {
		switch v := v.(type) {
		case *ssa.Const:
			list[i] = m.constant(v)
		case *ssa.Function:
			list[i] = &Closure{fn: v}
		case *ssa.Global:
			list[i] = Pointer{to: m.global(v)}
		case *ssa.Builtin:
			list[i] = v
		}
	}
	m.fixed[c] = list
	return list
}
