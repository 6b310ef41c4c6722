package expr

// A memory has the results of operations on integers and bits that were built lately. Both sides,
// and each row of a product, take the same weights apart again.
type memory struct {
	list  []made // by a hash; its length is 0 or a power of two
	epoch uint32 // of entries that hold
}

// A made is an operation, with its numbers, and its result.
type made struct {
	x, y, result *Node
	numbers      uint16
	op           Op
	epoch        uint32
}

// mostMade is how many entries there are at most.
const mostMade = 1 << 15

// grow makes room for the operations of a graph with a table of so many places.
func (m *memory) grow(places int) {
	if n := min(places/2, mostMade); n > len(m.list) {
		m.list = make([]made, n)
	}
}

// forget drops all, as what is known of nodes changes.
func (m *memory) forget() { m.epoch++ }

// place is where the result of an operation would be.
func (m *memory) place(op Op, x, y *Node, numbers uint16) *made {
	h := x.hash ^ uint64(numbers)<<8 ^ uint64(op)
	if y != nil {
		h = mix(h, y.hash)
	}
	h *= 0x9e3779b97f4a7c15
	return &m.list[h>>40&uint64(len(m.list)-1)]
}

// once returns what f returns for an operation, which depends on the arguments alone and on what is
// known of them.
func (g *Graph) once(op Op, x, y *Node, numbers uint16, f func(g *Graph, x, y *Node, numbers uint16) *Node) *Node {
	m := &g.memory
	if m.list == nil {
		return f(g, x, y, numbers)
	}
	if e := m.place(op, x, y, numbers); e.x == x && e.y == y && e.op == op && e.numbers == numbers && e.epoch == m.epoch {
		return e.result
	}
	n := f(g, x, y, numbers)
	*m.place(op, x, y, numbers) = made{x, y, n, numbers, op, m.epoch}
	return n
}

// mark begins a search in which each node is met once: meet reports whether that is so.
func (g *Graph) mark() { g.marks++ }

func (g *Graph) meet(n *Node) bool {
	if n.mark == g.marks {
		return false
	}
	n.mark = g.marks
	return true
}

// Number begins to number nodes, in the order in which NumberOf meets them.
func (g *Graph) Number() {
	g.mark()
	g.met = 0
}

// NumberOf returns the number of a node, and whether it has met it before. Nothing may be built
// between calls.
func (g *Graph) NumberOf(n *Node) (number int, before bool) {
	if !g.meet(n) {
		return int(n.at), true
	}
	n.at = int32(g.met)
	g.met++
	return int(n.at), false
}
