package main

import (
	"slices"

	"github.com/mmcloughlin/avo/ir"
)

// interleave emits what two functions emit, the instructions of the second one evenly
// between those that are the first two thirds of the first one's, so that what they make is
// ready in the end, and without comments, which would stand beside the wrong ones. Neither
// may have labels, or need what the other makes.
func (g *gen) interleave(main, beside func()) {
	fn := g.current()
	others, nodes := g.emitted(beside), g.emitted(main)
	others = slices.DeleteFunc(others, func(n ir.Node) bool { _, is := n.(*ir.Comment); return is })
	done := 0
	for i, n := range nodes {
		fn.AddNode(n)
		for due := (i + 1) * 3 * len(others) / (2 * len(nodes)); done < min(due, len(others)); done++ {
			fn.AddNode(others[done])
		}
	}
}

// emitted returns what a function emits, which is taken back.
func (g *gen) emitted(emit func()) []ir.Node {
	fn := g.current()
	start := len(fn.Nodes)
	emit()
	nodes := slices.Clone(fn.Nodes[start:])
	fn.Nodes = fn.Nodes[:start]
	return nodes
}

// current is the function at hand.
func (g *gen) current() *ir.Function {
	file, _ := g.Result() // with the errors of all, which are seen in the end
	fns := file.Functions()
	return fns[len(fns)-1]
}
