package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attn-go/attn/gen/prove/amd64"
	"github.com/attn-go/attn/gen/prove/arm64"
	"github.com/attn-go/attn/gen/prove/equal"
	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
	"github.com/attn-go/attn/gen/prove/reference"
	"github.com/attn-go/attn/gen/prove/riscv64"
)

// A CPU is an interpreter, and what tells CPUs of an architecture apart.
type cpu struct {
	name  string
	isa   machine.ISA
	lanes int // of a vector; 0 if the overrides say it; with more than 16, tiles alone run
}

// cpus are the interpreters, by GOARCH.
var cpus = map[string][]cpu{
	"amd64": {{"", amd64.ISA{}, 0}},
	"arm64": {{"", arm64.ISA{}, 0}},
	"riscv64": {{" VLEN=128", riscv64.ISA{VLEN: 128}, 4}, {" VLEN=256", riscv64.ISA{VLEN: 256}, 8}, {" VLEN=512", riscv64.ISA{VLEN: 512}, 16},
		{" VLEN=1024", riscv64.ISA{VLEN: 1024}, 32}, {" VLEN=2048", riscv64.ISA{VLEN: 2048}, 64}},
}

// A Prover proves kernels.
type Prover struct {
	Source *reference.Source
	Lemmas *equal.Lemmas
	Quick  bool
	Walk   bool // execute the assembly alone with many sizes, to see its loops
	Settle bool // try all values of the lemmas that mutants need, by a C compiler
}

// noTiles is what keeps a kernel from being proven that none of the CPUs takes.
const noTiles = "no CPU has such tiles"

// A Verdict is what came out for a kernel.
type Verdict struct {
	Kernel  *Kernel
	Cases   int
	Sizes   map[string]map[int]bool // of the cases, by parameter
	Words   int                     // that were compared
	Steps   int                     // instructions that were executed
	Lemmas  map[string]int          // that equality needed, and for how many words
	Sampled bool                    // whether samples alone of a lemma were tried
	Err     error                   // a fault or a difference
	Open    string                  // why it is tested only
	Why     error                   // what could not be proven then
	Notes   map[string]bool         // what is odd, but does no harm
	Loops   map[int]*machine.Loop
	Rate    float64 // instructions for a unit of work, most; 0 if that was not measured
}

// A Proof says what the proof of a kernel is about, and what has come out so far.
type Proof struct {
	Architecture *Architecture
	Kernel       *Kernel
	Verdict      *Verdict
	Time         time.Duration // that was spent on it, on the reference by the first kernel
	cpus         []cpu
	covered      machine.Coverage
}

// Group returns the proofs of kernels in groups that have a reference in common. A product's
// depends on the lanes. An expression may be another one for RISC-V, whose operations make one NaN.
func Group(list []*Architecture) (groups [][]*Proof) {
	at := map[string]int{}
	for _, a := range list {
		for _, k := range a.Kernels {
			key := fmt.Sprint(k.Name(), oneNaN(a), k.Params)
			if k.Table == "Products" {
				key += fmt.Sprint(k.Lanes)
			}
			if _, ok := at[key]; !ok {
				at[key] = len(groups)
				groups = append(groups, nil)
			}
			i := at[key]
			groups[i] = append(groups[i], &Proof{Architecture: a, Kernel: k})
		}
	}
	return groups
}

func oneNaN(a *Architecture) bool { return a.GOARCH == "riscv64" }

// Prove executes all cases of the kernels of a group.
func (p *Prover) Prove(group ...*Proof) {
	p.prove(contractOf(group[0].Kernel), group...)
	for _, x := range group {
		x.during("walk", func() { p.finish(x) })
	}
}

// finish adds to a verdict what is not about equality.
func (p *Prover) finish(x *Proof) {
	v := x.Verdict
	if v.Err == nil && v.Cases > 0 && p.Walk {
		v.Err = p.walk(x.Architecture, x.Kernel, v)
	}
	for _, l := range v.Loops {
		if v.Err == nil && l.Bound() == machine.Endless {
			v.Err = errors.New(l.String())
		}
	}
}

// closed reports whether nothing more is to be executed.
func (v *Verdict) closed() bool { return v.Err != nil || v.Open != "" }

// An entry is a case of a kernel.
type entry struct {
	*Proof
	c Case
}

// prove executes all cases of kernels, and for those with the same arguments the reference once.
func (p *Prover) prove(contract contract, group ...*Proof) {
	var order []string
	cases := map[string][]entry{} // by their sizes
	for _, x := range group {
		x.covered, x.cpus = machine.NewCoverage(), cpusOf(x.Architecture, x.Kernel)
		x.Verdict = &Verdict{Kernel: x.Kernel, Sizes: map[string]map[int]bool{}, Lemmas: map[string]int{}, Notes: map[string]bool{}, Loops: map[int]*machine.Loop{}}
		switch {
		case contract.cases == nil:
			x.Verdict.Open = "package fallback has no such kernel, and nothing here says yet what it computes"
			continue
		case len(x.cpus) == 0:
			x.Verdict.Open = noTiles
			continue
		}
		for _, c := range contract.cases(x.Kernel, p.Quick) {
			text := c.text(x.Kernel)
			x.Verdict.addSizes(c)
			if cases[text] == nil {
				order = append(order, text)
			}
			cases[text] = append(cases[text], entry{x, c})
		}
	}
	for _, text := range order {
		for list := cases[text]; len(list) > 0; {
			list = p.same(contract, list)
		}
	}
}

// same executes the first of several cases with the same sizes, with those that have the same
// data, and returns the others.
func (p *Prover) same(contract contract, list []entry) (others []entry) {
	list = slices.DeleteFunc(list, func(e entry) bool { return e.Verdict.closed() })
	if len(list) == 0 {
		return nil
	}
	g := expr.New()
	g.OneNaN = oneNaN(list[0].Architecture)
	var l *call
	var q *equal.Query
	var result *expr.Node
	var uses map[string]int // of rules by the reference
	ok := list[0].attempt(contract, "reference", func() (err error) {
		if l, err = layOut(g, list[0].Kernel, list[0].c); err != nil {
			return fmt.Errorf(": %w", err)
		}
		l.keep()
		if q, err = p.query(l, contract); err != nil {
			return fmt.Errorf(": %w", err)
		}
		if result, err = p.reference(l); err != nil {
			return fmt.Errorf(": the reference: %w", err)
		}
		uses = q.Rules()
		return nil
	})
	if !ok {
		return list[1:]
	}
	for i, e := range list {
		e.attempt(contract, "kernel", func() error {
			if i > 0 {
				own, err := layOut(g, e.Kernel, e.c)
				if err != nil {
					return fmt.Errorf(": %w", err)
				}
				if !l.same(own) {
					others = append(others, e)
					return nil
				}
			}
			return p.one(e, l.of(e), contract, result, q, uses)
		})
	}
	return others
}

// during adds the time of f to the time of a proof, and names both in profiles.
func (x *Proof) during(part string, f func()) {
	at := time.Now()
	pprof.Do(context.Background(), pprof.Labels("kernel", x.Kernel.Override()+" "+x.Kernel.Name(), "part", part), func(context.Context) { f() })
	x.Time += time.Since(at)
}

// attempt executes a part of a case. An error closes the verdict, as does what a mutant breaks. It
// reports whether there was none.
func (e entry) attempt(contract contract, part string, f func() error) bool {
	v := e.Verdict
	defer func() {
		switch x := recover().(type) {
		case nil:
		case error:
			v.Err = x
		default:
			panic(x)
		}
	}()
	var err error
	e.during(part, func() { err = f() })
	switch {
	case err == nil:
	case errors.Is(err, equal.ErrUnproven) && contract.open != "":
		v.Open, v.Why = contract.open, err
	default:
		v.Err = fmt.Errorf("%s%w", e.c.text(e.Kernel), err)
	}
	return !v.closed()
}

// one executes a case of a kernel on all CPUs that may have its tiles, and compares what they leave
// with what the reference has left.
func (p *Prover) one(e entry, l *call, contract contract, result *expr.Node, q *equal.Query, uses map[string]int) error {
	before := q.Rules()
	for _, cpu := range e.cpus {
		l.reset()
		if err := p.execute(e.Architecture, cpu, l, e.Verdict, e.covered); err != nil {
			return fmt.Errorf("%s: %w", cpu.name, err)
		}
		if err := p.compare(l, contract, result, q, e.Verdict); err != nil {
			return fmt.Errorf("%s: %w", cpu.name, err)
		}
	}
	for name, n := range q.Rules() {
		if n += uses[name] - before[name]; n > 0 {
			e.Verdict.Lemmas[name] += n
		}
	}
	return nil
}

// execute executes a case of a kernel on a CPU.
func (p *Prover) execute(a *Architecture, cpu cpu, l *call, v *Verdict, covered machine.Coverage) error {
	v.Cases++
	k := l.kernel
	run := machine.NewRun(l.g, a.Files[k.ISA], cpu.isa, l.args, l.regions...)
	run.Covered, run.Misaligned = covered, v.Cases*8%64
	err := run.Call(k.Function)
	v.Steps += run.Steps
	if err != nil {
		return err
	}
	for note := range run.State.Notes {
		v.Notes[note] = true
	}
	v.join(run, l.c)
	return nil
}

// reference executes the reference.
func (p *Prover) reference(l *call) (result *expr.Node, err error) {
	defer func() {
		if f, ok := recover().(reference.Fault); ok {
			err = errors.New(string(f))
		}
	}()
	m := p.Source.New(l.g)
	var r reference.Value
	if f := l.kernel.fallback(m); f != nil {
		r = m.CallValue(f, l.values...)
	} else {
		name := l.kernel.Field
		if l.kernel.Array != name {
			name = l.kernel.Index + name
		}
		r = m.Call("gen/prove/composed", name, l.values...)
	}
	result, _ = r.(*expr.Node)
	return result, nil
}

// fallback returns the function of package fallback, nil if it has none.
func (k *Kernel) fallback(m *reference.Machine) reference.Value {
	var args []reference.Value
	switch k.Table {
	case "Machine":
		return nil
	case "Products":
		args = append(args, m.G.Int(int64(k.Lanes)))
	}
	table := m.Table("fallback", k.Table, args...)
	switch {
	case k.Array != "" && k.Array == k.Field: // an array of functions
		return table.Field(k.Array).Element(k.Index).Value
	case k.Array != "":
		return table.Field(k.Array).Element(k.Index).Field(k.Field).Value
	}
	return table.Field(k.Field).Value
}

// A pair is a word that both sides have left.
type pair struct {
	name      string
	want, got *expr.Node
	isFloat   bool
}

// half is the pair of the lower or the upper halves of words.
func (x pair) half(g *expr.Graph, i int) pair {
	return pair{name: x.name, want: half(g, x.want, i), got: half(g, x.got, i)}
}

// half is half of x. Selections of the other half are left out.
func half(g *expr.Graph, x *expr.Node, i int) *expr.Node {
	if x.Op == expr.Select {
		return g.Select(x.Args[0], half(g, x.Args[1], i), half(g, x.Args[2], i))
	}
	return g.Extract(x, 16*i, 16)
}

// compare compares what both sides have left in the slices that they may write to, and the result.
func (p *Prover) compare(l *call, contract contract, result *expr.Node, q *equal.Query, v *Verdict) error {
	var pairs []pair
	for _, param := range l.kernel.Params {
		b := l.buffers[param.Name]
		if b == nil || !b.Write || b.Same != "" {
			continue
		}
		got := b.region.Words(l.g, widths[b.elem]/8)
		for i, want := range b.slice.Nodes() {
			if b.Ignored != nil && b.Ignored(i) {
				continue
			}
			x := pair{fmt.Sprintf("%s[%d]", param.Name, i), want, got[i], b.elem == "float32" && !contract.strict}
			if param.Name == contract.halves && x.got != nil {
				pairs = append(pairs, x.half(l.g, 0), x.half(l.g, 1))
				continue
			}
			pairs = append(pairs, x)
		}
	}
	if r := l.kernel.Result; r != nil {
		size := sizes[r.Type]
		got := l.args.Words(l.g, 1)[r.Offset:][:size]
		if slices.Contains(got, nil) {
			return fmt.Errorf("the result is not set")
		}
		x := pair{"result", l.g.Zext(result, 8*size), l.g.Concat(got...), false}
		if n, ok := l.c[resultBits].(int); ok {
			x.want, x.got = l.g.Extract(x.want, 0, n), l.g.Extract(x.got, 0, n)
		}
		pairs = append(pairs, x)
	}
	v.Words += len(pairs)
	for _, x := range pairs {
		if x.got == nil {
			return fmt.Errorf("%s is not defined", x.name)
		}
		if x.got == x.want {
			continue
		}
		used, err := q.Equal(x.want, x.got, x.isFloat)
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		for _, name := range used {
			v.Lemmas[name]++
		}
	}
	return nil
}

// query returns what compares the words of a call.
func (p *Prover) query(l *call, contract contract) (*equal.Query, error) {
	known := equal.Suppose{Domains: map[*expr.Node]*equal.Domain{}, Kinds: map[*expr.Node]equal.Kind{}, Same: map[*expr.Node]*expr.Node{},
		Given: map[*expr.Node]map[*expr.Node]*expr.Node{}}
	if contract.suppose != nil {
		contract.suppose(l, &known)
	}
	return equal.New(l.g, p.Lemmas, known)
}

// Sampled reports whether a proof needs a lemma of which samples alone were tried.
func (p *Prover) Sampled(v *Verdict) bool {
	for name := range v.Lemmas {
		if p.Lemmas.Sampled(name) {
			return true
		}
	}
	return false
}

// Each runs f for all numbers below n, on some goroutines.
func Each(n, workers int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				f(i)
			}
		}()
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// addSizes adds the sizes of a case, or the length of its longest slice if it has none.
func (v *Verdict) addSizes(c Case) {
	add := func(name string, n int) {
		if v.Sizes[name] == nil {
			v.Sizes[name] = map[int]bool{}
		}
		v.Sizes[name][n] = true
	}
	longest, none := 0, true
	for _, p := range v.Kernel.Params {
		switch x := c[p.Name].(type) {
		case int:
			add(p.Name, x)
			none = false
		case Buffer:
			longest = max(longest, x.Len)
		}
	}
	if none {
		add("length", longest)
	}
}

// sizes tells how many there are of each parameter, and the largest.
func (v *Verdict) sizes() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(v.Sizes)) {
		s := slices.Sorted(maps.Keys(v.Sizes[name]))
		list = append(list, fmt.Sprintf("%s %d…%d (%d)", name, s[0], s[len(s)-1], len(s)))
	}
	return strings.Join(list, ", ")
}

// String tells the verdict in a line.
func (v *Verdict) String() string {
	s := v.Kernel.Override() + " " + v.Kernel.Name() + ": "
	switch {
	case v.Open != "":
		return s + "tested only: " + v.Open
	case v.Err != nil:
		return s + "FAILED: " + v.Err.Error()
	}
	s += fmt.Sprintf("proven in %d cases, %d words, with %s", v.Cases, v.Words, v.sizes())
	if len(v.Lemmas) > 0 {
		s += fmt.Sprintf(", lemmas %v", v.Lemmas)
	}
	for note := range v.Notes {
		s += "; " + note
	}
	inductive, most := 0, 0.0
	for _, line := range slices.Sorted(maps.Keys(v.Loops)) {
		if l := v.Loops[line]; l.Inductive() {
			inductive++
			most = max(most, float64(l.Insts)/float64(max(l.Bytes, 1)))
		} else {
			s += "\n    " + l.String()
		}
	}
	s += fmt.Sprintf("\n    %d of %d loops have the inductive step", inductive, len(v.Loops))
	if inductive > 0 {
		s += fmt.Sprintf(", with up to %.2f instructions for each byte that a trip moves on by", most)
	}
	return s
}
