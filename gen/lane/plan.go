package lane

import (
	"cmp"
	"fmt"
	"slices"
)

// A Model is what a plan has to know of a back end.
type Model interface {
	Traits() Traits

	// Size is the number of registers, and Widths are the numbers of vectors of a tile that are
	// computed at a time, the largest first, 1 last. Reorders reports whether the CPUs look for
	// work beyond one vector.
	Size() int
	Widths() []int
	Reorders() bool

	// Home is the number of registers in which a shared value stays. It must stay, or it may: if it
	// does not, it is loaded for each use. Worth is how much a register saves for an operand.
	Home(v *Value) (registers int, must bool)
	Worth(n *Value, operand int) int

	// InPlace lists the operands whose registers the result may take, the best first.
	InPlace(n *Value) []int

	// Scratch is the number of further registers that an operation takes if no value that may stay
	// does.
	Scratch(n *Value) int
}

// A Width is how vectors are computed: how many at a time, and whether their operations take turns.
type Width struct {
	Vectors int
	Turns   bool
}

// A Plan says how wide a program is, and which shared values stay in registers.
type Plan struct {
	Widths []Width
	Stay   []*Value
	All    bool // shared values that may stay
}

// NewPlan plans a program. Operations of several vectors take turns, since they hide each other's
// latency. With more than two vectors all values must stay in registers. If there are not enough
// for that at all, CPUs that reorder take one vector after the other.
func NewPlan(p *Program, m Model) (plan Plan, err error) {
	p.live(m)
	free, all := m.Size(), 0
	var may []*Value
	for _, v := range p.Shared {
		n, must := m.Home(v)
		if must {
			free -= n
			plan.Stay = append(plan.Stay, v)
		} else if n > 0 {
			may = append(may, v)
			if p.Count == "" || p.inRow(v) {
				all += n
			}
		}
	}
	widths := m.Widths()
	if most := max(p.Vectors, 1); !p.Tile && widths[0] > 1 {
		widths = []int{most, 1}
	}
	most := 0
	for _, vectors := range slices.Compact(widths) {
		w := Width{vectors, true}
		peak := p.peak(m, w)
		if peak > free && m.Reorders() {
			w.Turns = false
			peak = p.peak(m, w)
		}
		if vectors > max(p.Vectors, 1) || peak > free || vectors > 2 && w.Turns && peak+all > free {
			continue
		}
		plan.Widths = append(plan.Widths, w)
		most = max(most, peak)
	}
	if len(plan.Widths) == 0 {
		return plan, fmt.Errorf("lane: %s: too few registers", p.Name)
	}
	plan.All = most+all <= free
	p.choose(m, &plan, may, free-most)
	return plan, nil
}

// Needed returns the widths of a plan without those narrower than one that takes all lanes, for
// vectors of so many.
func (p *Program) Needed(widths []Width, lanes int) []Width {
	for i, w := range widths {
		if p.Step > 0 && p.Step%(w.Vectors*lanes) == 0 {
			return widths[:i+1]
		}
	}
	return widths
}

// Repeats reports whether a loop over n lanes or vectors may make a second trip after a loop over
// before of them, or after none if before is 0.
func Repeats(n, before int) bool { return before == 0 || before > 2*n }

// Any reports whether an instruction has a property.
func (p *Program) Any(is func(n *Value) bool) bool {
	for _, nodes := range p.parts() {
		if slices.ContainsFunc(nodes, is) {
			return true
		}
	}
	return false
}

// inRow reports whether the loop over rows uses a value.
func (p *Program) inRow(v *Value) bool {
	return slices.ContainsFunc(p.row, func(n *Value) bool { return slices.Contains(n.Args, v) })
}

// choose lets values stay as long as registers are free, those first that save the most.
func (p *Program) choose(m Model, plan *Plan, may []*Value, free int) {
	const rows = 16 // as many as make loads count
	worth := map[*Value]int{}
	for _, v := range p.Shared {
		for i, a := range v.Args {
			worth[a] += rows * m.Worth(v, i)
		}
	}
	for part, nodes := range p.parts() {
		careful := false
		for _, n := range nodes {
			for i, a := range n.Args {
				w := m.Worth(n, i)
				switch {
				case careful: // at last
				case part == Row && p.Count != "":
					w *= rows * rows
				default:
					w *= rows
				}
				worth[a] += w
			}
			switch n.Op {
			case Rare, Whole:
				careful = true
			case Usual, Done:
				careful = false
			}
		}
	}
	slices.SortStableFunc(may, func(a, b *Value) int { return cmp.Compare(worth[b], worth[a]) })
	for _, v := range may {
		if n, _ := m.Home(v); n <= free && worth[v] > 0 {
			plan.Stay = append(plan.Stay, v)
			free -= n
		}
	}
}

// A place is one in a program: the part that it is in, and the instruction.
type place struct{ part, at int }

func (p place) after(q place) bool { return p.part > q.part || p.part == q.part && p.at > q.at }

// The parts of a program: before, in and after the loop over rows.
const (
	Before = iota
	Row
	After
)

const atEnd = 1 << 30

func (p *Program) parts() [3][]*Value { return [3][]*Value{p.before, p.row, p.after} }

// live finds out how long values live. What the loop uses from before it lives until its end. The
// result of an operation whose only use is to become a variable, at once, is computed in its place.
func (p *Program) live(m Model) {
	first, uses := map[*Value]place{}, map[*Value]int{}
	for part, nodes := range p.parts() {
		for at, n := range nodes {
			here := place{part, at}
			first[n], n.last = here, here
			for _, a := range n.Args {
				uses[a]++
				use := here
				if part == Row && first[a].part == Before && p.Count != "" {
					use.at = atEnd
				}
				if use.after(a.last) {
					a.last = use
				}
			}
		}
	}
	for _, nodes := range p.parts() {
		for at, n := range nodes {
			if n.Op != Set || at == 0 || nodes[at-1] != n.Args[1] || uses[n.Args[1]] != 1 {
				continue
			}
			if x := n.Args[1]; x.Op > Set && x.mayReplace(n.Args[0], m) {
				x.into = n.Args[0]
			}
		}
	}
}

// AlongRows returns the values of rows in lanes that a back end computes along the rows: products
// of widened numbers, or else the numbers. inner are those that only such values use.
func (p *Program) AlongRows() (turned, inner []*Value) {
	var all []*Value
	along := func(v *Value) bool { return slices.Contains(all, v) }
	products := slices.ContainsFunc(p.row, func(n *Value) bool { return n.Op == Mul && n.Double })
	for _, n := range p.row {
		wide := products && (n.Op == Widen || n.Op == Mul && n.Double)
		if n.Op == Load && n.Stream.Across || wide && !slices.ContainsFunc(n.Args, func(a *Value) bool { return !along(a) }) {
			all = append(all, n)
		}
	}
	for _, v := range all {
		if p.Any(func(n *Value) bool { return slices.Contains(n.Args, v) && !along(n) }) {
			turned = append(turned, v)
		} else {
			inner = append(inner, v)
		}
	}
	return turned, inner
}

// Once reports whether x is used once alone, by the instruction that follows it, and returns that
// with the operand that x is.
func (p *Program) Once(x *Value) (n *Value, operand int) {
	uses := 0
	for _, nodes := range p.parts() {
		for at, user := range nodes {
			for i, a := range user.Args {
				if a == x {
					uses++
					if at > 0 && nodes[at-1] == x {
						n, operand = user, i
					}
				}
			}
		}
	}
	if uses > 1 {
		return nil, 0
	}
	return n, operand
}

// mayReplace reports whether the result of n may take the place of a variable.
func (n *Value) mayReplace(v *Value, m Model) bool {
	for i, a := range n.Args {
		if a == v && !slices.Contains(m.InPlace(n), i) {
			return false
		}
	}
	return true
}

// peak is the largest number of registers that the program takes beside values that stay.
func (p *Program) peak(m Model, w Width) int {
	c := &counter{Model: m}
	f := NewFrame[int](p, c)
	for part := range p.parts() {
		f.Run(part, w)
	}
	return c.peak
}

// A counter is a machine that counts registers.
type counter struct {
	Model
	next, used, peak int
}

func (c *counter) Alloc() int {
	c.next++
	c.used++
	c.peak = max(c.peak, c.used)
	return c.next
}

func (c *counter) Free(int) { c.used-- }

func (c *counter) Emit(_ *Frame[int], n *Value, _, _ int) {
	c.peak = max(c.peak, c.used+c.Scratch(n))
}
