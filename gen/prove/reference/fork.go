package reference

import (
	"golang.org/x/tools/go/ssa"

	"github.com/attn-go/attn/gen/prove/expr"
)

// fork executes both sides of a branch whose condition is a symbol: each from the same memory up to
// the first block that all ways from the branch lead to, or to the end of the function. What the
// sides leave in variables and phis is then chosen by the condition. A side that panics does not
// count.
func (f *frame) fork(b *ssa.BasicBlock, c *expr.Node) (*ssa.BasicBlock, end) {
	m := f.m
	join := f.code.joins()[b.Index]
	m.forks++
	yes, wroteYes := f.side(b.Succs[0], b, join)
	no, wroteNo := f.side(b.Succs[1], b, join)
	m.forks--
	switch {
	case yes.dead && no.dead:
		return join, yes
	case yes.dead:
		m.adopt(wroteNo)
		return join, no
	case no.dead:
		m.adopt(wroteYes)
		return join, yes
	}
	m.mergeMemory(c, wroteYes, wroteNo)
	e := end{phis: make([]Value, len(yes.phis))}
	for i := range e.phis {
		e.phis[i] = m.merge(c, yes.phis[i], no.phis[i])
	}
	if join == nil {
		e.result = m.merge(c, yes.result, no.result)
	}
	return join, e
}

// writes are the values that variables got, in the order of their first change.
type writes struct {
	order []*Cell
	value map[*Cell]Value
}

// side executes a side of a branch, and takes back what it has written.
func (f *frame) side(b, pred, join *ssa.BasicBlock) (end, writes) {
	m := f.m
	mark := len(m.journal)
	e := f.run(b, pred, join)
	w := writes{value: map[*Cell]Value{}}
	for _, ch := range m.journal[mark:] {
		if _, ok := w.value[ch.c]; !ok {
			w.order = append(w.order, ch.c)
			w.value[ch.c] = ch.c.V
		}
	}
	for i := len(m.journal) - 1; i >= mark; i-- {
		m.journal[i].c.V = m.journal[i].old
	}
	m.journal = m.journal[:mark]
	return e, w
}

func (m *Machine) adopt(w writes) {
	for _, c := range w.order {
		m.store(c, w.value[c])
	}
}

func (m *Machine) mergeMemory(c *expr.Node, yes, no writes) {
	for _, at := range yes.order {
		other, ok := no.value[at]
		if !ok {
			other = at.V
		}
		m.store(at, m.merge(c, yes.value[at], other))
	}
	for _, at := range no.order {
		if _, ok := yes.value[at]; !ok {
			m.store(at, m.merge(c, at.V, no.value[at]))
		}
	}
}

// postdominators returns for every block the next one that all ways from it to the end of the
// function lead to. Blocks that panic lead nowhere.
func postdominators(fn *ssa.Function) []*ssa.BasicBlock {
	n := len(fn.Blocks)
	all := make([]map[int]bool, n) // the blocks on all ways; n is the end
	full := func() map[int]bool {
		m := map[int]bool{}
		for i := range n + 1 {
			m[i] = true
		}
		return m
	}
	for i := range all {
		all[i] = full()
	}
	for changed := true; changed; {
		changed = false
		for i := n - 1; i >= 0; i-- {
			b := fn.Blocks[i]
			now := full()
			if len(b.Succs) == 0 {
				if _, isPanic := b.Instrs[len(b.Instrs)-1].(*ssa.Panic); !isPanic {
					now = map[int]bool{n: true}
				}
			}
			for _, s := range b.Succs {
				for x := range now {
					if !all[s.Index][x] {
						delete(now, x)
					}
				}
			}
			now[i] = true
			if len(now) != len(all[i]) {
				all[i], changed = now, true
			}
		}
	}
	joins := make([]*ssa.BasicBlock, n)
	for i := range joins {
		best := -1
		for x := range all[i] {
			if x != i && x < n && (best < 0 || len(all[x]) > len(all[best])) {
				best = x
			}
		}
		if best >= 0 {
			joins[i] = fn.Blocks[best]
		}
	}
	return joins
}
