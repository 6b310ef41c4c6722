package machine

import (
	"errors"
	"slices"

	"github.com/attn-go/attn/gen/prove/expr"
)

// An ISA executes instructions.
type ISA interface {
	// Registers is how many words State.W has.
	Registers() int

	// Step executes an instruction. Of a jump it returns the condition, else nil.
	Step(s *State, in *Inst) *expr.Node

	// Enter is called where a function begins, with the address of its frame, and Leave where it
	// returns.
	Enter(s *State, frame *expr.Node)
	Leave(s *State)

	// Conditional reports whether an instruction jumps, and whether it may go on instead.
	Jumps(in *Inst) (jumps, conditional bool)
}

// A Coverage is what runs have executed, by lines.
type Coverage struct {
	Executed map[int]bool // instructions
	Taken    map[int]bool // jumps
}

// NewCoverage returns that nothing was executed.
func NewCoverage() Coverage { return Coverage{map[int]bool{}, map[int]bool{}} }

// branch adds a jump with its condition. One that depends on data goes both ways.
func (c Coverage) branch(line int, condition *expr.Node) {
	if !condition.IsConst() || condition.Val == 1 {
		c.Taken[line] = true
	}
}

// A Run is an execution of a function.
type Run struct {
	file    *File
	isa     ISA
	State   *State
	Steps   int // instructions that were executed
	Covered Coverage
	joins   map[*Function][]int
	forked  int
	ends    map[*Function]map[int][]int
	watches []*watch
	last    int           // the instruction before
	Loops   map[int]*Loop // by the line of the jump back

	Misaligned int // of the frame, to 64 bytes; a multiple of 8
}

// NewRun prepares an execution with memory.
func NewRun(g *expr.Graph, file *File, isa ISA, args *Region, regions ...*Region) *Run {
	s := &State{G: g, W: make([]*expr.Node, isa.Registers()), regions: map[*expr.Node]*Region{}, statics: map[string]*Region{}, data: file.Data, Notes: map[string]bool{}}
	for _, r := range append(regions, args) {
		s.Add(r)
	}
	s.params = args
	r := &Run{file: file, isa: isa, State: s, Covered: NewCoverage(), joins: map[*Function][]int{}, ends: map[*Function]map[int][]int{}, Loops: map[int]*Loop{}}
	s.accessed = r.accessed
	return r
}

// Param returns the address of a parameter.
func (s *State) Param(o Operand) *expr.Node { return s.G.Add(s.params.Base, s.G.Int(o.Off)) }

const mostSteps = 5_000_000 // of a run, which then counts as one that does not end

// Call executes a function.
func (r *Run) Call(name string) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case fault:
			err = errors.New(string(x))
		default:
			panic(x)
		}
	}()
	r.function(name)
	return nil
}

// function executes a function to its end, with those that it jumps to.
func (r *Run) function(name string) {
	r.watches = nil // no loop goes on in another function
	f := r.file.Functions[name]
	if f == nil {
		Failf("no function %s", name)
	}
	g := r.State.G
	frame := NewRegion(g, "frame of "+name, int(f.Frame)+16+r.Misaligned)
	frame.Base = g.ShlBy(g.Sym(64, "&"+frame.Name), 6)
	r.State.Add(frame)
	r.State.Frame = f.Frame
	r.State.frameEnd = g.Plus(frame.Base, f.Frame+16+int64(r.Misaligned))
	r.isa.Enter(r.State, g.Plus(frame.Base, int64(r.Misaligned)))
	r.run(f, 0, -1)
}

// run executes instructions from one on, up to the end of the function or to stop.
func (r *Run) run(f *Function, pc, stop int) {
	s := r.State
	for pc != stop {
		if pc >= len(f.Insts) {
			Failf("%s runs beyond its end", f.Name)
		}
		in := &f.Insts[pc]
		s.Now = in
		r.Covered.Executed[in.Line] = true
		r.watch(f, pc)
		if r.Steps++; r.Steps > mostSteps {
			Failf("%s: does not end", f.Name)
		}
		if to, ok := f.Tail[pc]; ok {
			if f.Frame != 0 {
				Failf("%v: jumps to another function with a frame", in)
			}
			r.function(to)
			return
		}
		if in.Op == "RET" {
			r.isa.Leave(s)
			return
		}
		c := r.isa.Step(s, in)
		if c != nil {
			r.Covered.branch(in.Line, c)
		}
		switch {
		case c == nil:
			pc++
		case c.IsConst() && c.Val == 1:
			pc = r.target(in)
		case c.IsConst():
			pc++
		default:
			pc = r.fork(f, pc, c)
			if pc < 0 {
				return
			}
		}
	}
}

func (r *Run) target(in *Inst) int {
	if in.Target < 0 {
		Failf("%v: no target", in)
	}
	return in.Target
}

const mostForks = 4096

// fork executes both sides of a branch that depends on data, up to where they meet, and chooses by
// the condition between what they leave. It returns where they meet, or -1 for the end of the
// function.
func (r *Run) fork(f *Function, pc int, c *expr.Node) int {
	if r.forked++; r.forked > mostForks {
		Failf("%v: too many branches that depend on data: %v", r.State.Now, c)
	}
	s := r.State
	meet := r.join(f, pc)
	before := slices.Clone(s.W)
	s.forks++
	wYes, mYes := r.side(f, r.target(&f.Insts[pc]), meet)
	copy(s.W, before)
	wNo, mNo := r.side(f, pc+1, meet)
	s.forks--
	for i := range s.W {
		s.W[i] = either(s.G, c, wYes[i], wNo[i])
	}
	s.mergeMemory(c, mYes, mNo)
	return meet
}

// either returns x where c is set, else y. What is defined on one side only, or has no common
// width, is not.
func either(g *expr.Graph, c, x, y *expr.Node) *expr.Node {
	switch {
	case x == y:
		return x
	case x == nil || y == nil || x.Width != y.Width:
		return nil
	}
	return g.Select(c, x, y)
}

type place struct {
	r  *Region
	at int
}

type changes struct {
	order []place
	value map[place]part
}

// side executes a side of a branch, and takes back what it has written to memory.
func (r *Run) side(f *Function, pc, meet int) ([]*expr.Node, changes) {
	s := r.State
	mark := len(s.journal)
	r.run(f, pc, meet)
	w := slices.Clone(s.W)
	c := changes{value: map[place]part{}}
	for _, u := range s.journal[mark:] {
		p := place{u.r, u.at}
		if _, ok := c.value[p]; !ok {
			c.order = append(c.order, p)
			c.value[p] = u.r.bytes[u.at]
		}
	}
	for i := len(s.journal) - 1; i >= mark; i-- {
		u := s.journal[i]
		u.r.bytes[u.at] = u.old
	}
	s.journal = s.journal[:mark]
	return w, c
}

func (s *State) mergeMemory(c *expr.Node, yes, no changes) {
	set := func(p place, x, y part) {
		if s.forks > 0 {
			s.journal = append(s.journal, undo{p.r, p.at, p.r.bytes[p.at]})
		}
		switch {
		case x == y:
			p.r.bytes[p.at] = x
		case x.n == nil || y.n == nil:
			p.r.bytes[p.at] = part{}
		case x.i == y.i && x.n.Width == y.n.Width:
			p.r.bytes[p.at] = part{s.G.Select(c, x.n, y.n), x.i}
		default:
			b := s.G.Select(c, s.G.Extract(x.n, 8*int(x.i), 8), s.G.Extract(y.n, 8*int(y.i), 8))
			p.r.bytes[p.at] = part{b, 0}
		}
	}
	for _, p := range yes.order {
		old := p.r.bytes[p.at]
		other, ok := no.value[p]
		if !ok {
			other = old
		}
		set(p, yes.value[p], other)
	}
	for _, p := range no.order {
		if _, ok := yes.value[p]; !ok {
			set(p, p.r.bytes[p.at], no.value[p])
		}
	}
}

// join returns the first instruction that all ways from pc lead to, -1 for the end of the function.
func (r *Run) join(f *Function, pc int) int {
	joins, ok := r.joins[f]
	if !ok {
		joins = r.postdominators(f)
		r.joins[f] = joins
	}
	return joins[pc]
}

// postdominators returns for every instruction the next one that all ways to the end lead to. It is
// the algorithm of Cooper, Harvey and Kennedy on the graph with its edges turned around.
func (r *Run) postdominators(f *Function) []int {
	n := len(f.Insts)
	preds, succs := make([][]int, n+1), make([][]int, n+1)
	for i := range f.Insts {
		for _, to := range r.successors(f, i) {
			if to < 0 || to > n {
				to = n
			}
			succs[i] = append(succs[i], to)
			preds[to] = append(preds[to], i)
		}
	}
	order := backwards(n, preds)
	number := make([]int, n+1)
	for i, x := range order {
		number[x] = i + 1
	}
	idom := make([]int, n+1)
	for i := range idom {
		idom[i] = -1
	}
	idom[n] = n
	for changed := true; changed; {
		changed = false
		for _, x := range order[1:] {
			best := -1
			for _, t := range succs[x] {
				if idom[t] < 0 {
					continue
				}
				if best < 0 {
					best = t
				}
				for t != best {
					for number[t] > number[best] {
						t = idom[t]
					}
					for number[best] > number[t] {
						best = idom[best]
					}
				}
			}
			if best != idom[x] {
				idom[x], changed = best, true
			}
		}
	}
	for i, x := range idom {
		if x == n {
			idom[i] = -1
		}
	}
	return idom
}

// backwards returns the instructions from the end on, each after one that follows it.
func backwards(end int, preds [][]int) []int {
	seen := make([]bool, end+1)
	var post []int
	type visit struct{ at, next int }
	stack := []visit{{end, 0}}
	seen[end] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(preds[top.at]) {
			post = append(post, top.at)
			stack = stack[:len(stack)-1]
			continue
		}
		p := preds[top.at][top.next]
		top.next++
		if !seen[p] {
			seen[p] = true
			stack = append(stack, visit{p, 0})
		}
	}
	slices.Reverse(post)
	return post
}

func (r *Run) successors(f *Function, i int) []int {
	in := &f.Insts[i]
	if _, ok := f.Tail[i]; ok || in.Op == "RET" {
		return []int{-1}
	}
	jumps, conditional := r.isa.Jumps(in)
	switch {
	case !jumps:
		return []int{i + 1}
	case conditional:
		return []int{in.Target, i + 1}
	}
	return []int{in.Target}
}
