package equal

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/attn-go/attn/gen/prove/expr"
)

// A Lemma says that two functions of few words are the same, whatever other words are.
type Lemma struct {
	Name    string // made of the structure of both sides
	IsFloat bool   // but for the bits of a NaN
	Vars    []*expr.Node
	Free    []*expr.Node // of which nothing is used, see [expr.Compile]
	Domains []*Domain    // of Vars; nil for all values
	A, B    *expr.Node
	How     How
	Uses    int
	Steps   int    // operations that both sides consist of
	against string // values for which it does not hold
	mu      sync.Mutex
}

// How says how a lemma was shown.
type How int

const (
	Exhausted How = iota // all values were tried in this run
	Recorded             // all values were tried by [Lemmas.Exhaust], as the record says; here samples were
	Sampled              // values of all kinds were tried, but not all
)

func (h How) String() string { return [...]string{"all values", "all values, recorded", "samples"}[h] }

// Lemmas are those that proofs need.
type Lemmas struct {
	mu       sync.Mutex
	all      map[string]*Lemma
	failed   map[string]string  // what values show that a lemma does not hold
	recorded map[string]string  // the rest of the line of the record
	shapes   map[shape][]string // of claims that were proven, and the lemmas that it took
}

// NewLemmas reads a record: the name of a lemma a line, of which all values were tried. As a name
// is made of both sides, a lemma that changes has another name, and is in no record.
func NewLemmas(record io.Reader) *Lemmas {
	l := &Lemmas{all: map[string]*Lemma{}, failed: map[string]string{}, recorded: map[string]string{}, shapes: map[shape][]string{}}
	for s := bufio.NewScanner(record); s.Scan(); {
		if name, rest, ok := strings.Cut(s.Text(), " "); ok && name != "#" {
			l.recorded[name] = rest
		}
	}
	return l
}

// All returns the lemmas in the order of their names.
func (l *Lemmas) All() (list []*Lemma) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.all {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b *Lemma) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Sampled reports whether all values of a lemma were never tried.
func (l *Lemmas) Sampled(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.all[name]
	return x != nil && x.How == Sampled
}

// try shows a claim as a lemma about functions of some nodes, whatever others are.
func (l *Lemmas) try(c claim, vars, free []*expr.Node, domains map[*expr.Node]*Domain, same ...*expr.Node) (string, bool) {
	x := &Lemma{IsFloat: c.isFloat}
	g := expr.New()
	known := map[*expr.Node]*expr.Node{}
	for i, v := range slices.Concat(vars, free) {
		name := string(rune('x' + i))
		if d := domains[v]; d != nil && i < len(vars) {
			name += d.Name
		}
		known[v] = g.Sym(v.Width, name)
		if i < len(vars) {
			x.Vars, x.Domains = append(x.Vars, known[v]), append(x.Domains, domains[v])
		} else {
			x.Free = append(x.Free, known[v])
		}
	}
	for _, n := range same {
		known[n] = x.Vars[0]
	}
	x.A = g.Copy(c.a, known)
	x.B = g.Copy(c.b, known)
	if x.A == x.B {
		return "identity", true
	}
	x.Name = fmt.Sprintf("%016x", x.A.Hash()*31+x.B.Hash()+uint64(len(vars)))
	if len(free) > 0 {
		x.Name += fmt.Sprint("+", len(free))
	}
	if x.IsFloat {
		x.Name += "f"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if why := l.failed[x.Name]; why != "" { // also of one that samples did not refute
		return why, false
	}
	if old, ok := l.all[x.Name]; ok {
		old.Uses++
		return x.Name, true
	}
	if !l.show(x) {
		l.failed[x.Name] = x.against
		return x.against, false
	}
	x.Uses = 1
	l.all[x.Name] = x
	return x.Name, true
}

const atOnce = 20 // bits that are always exhausted

// show tries values, all if they are few.
func (l *Lemmas) show(x *Lemma) bool {
	p, err := expr.Compile(batch, x.Vars, x.Free, x.A, x.B)
	if err != nil {
		x.against = err.Error()
		return false
	}
	x.Steps = p.Steps()
	switch bits := x.Bits(); {
	case bits <= atOnce:
		x.How = Exhausted
		return x.exhaust(p, 0, 1<<bits)
	case !x.dense(p):
		return false
	case bits <= 32 && l.recorded[x.Name] != "":
		x.How = Recorded
		return true
	}
	x.How = Sampled
	return true
}

const batch = 256

// agree compares both sides for the values that the variables have been set to.
func (x *Lemma) agree(p *expr.Program) bool {
	p.Run()
	a, b := p.Values(x.A), p.Values(x.B)
	for i := range a {
		if a[i] != b[i] && !(x.IsFloat && expr.SameFloat(a[i], b[i])) {
			x.mu.Lock()
			x.against = fmt.Sprintf("%#x and %#x for", a[i], b[i])
			for _, v := range x.Vars {
				x.against += fmt.Sprintf(" %s=%#x", v.Name, p.Values(v)[i])
			}
			x.mu.Unlock()
			return false
		}
	}
	return true
}

// limit replaces values that are not in the domain by one that is.
func (d *Domain) limit(values []uint64) {
	if d == nil {
		return
	}
	for i, v := range values {
		if !d.Has(v) {
			values[i] = 0
		}
	}
}

// exhaust tries all values from lo up to hi.
func (x *Lemma) exhaust(p *expr.Program, lo, hi uint64) bool {
	for at := lo; at < hi; at += batch {
		shift := 0
		for k, v := range x.Vars {
			values, m := p.Values(v), uint64(1)<<v.Width-1
			for i := range values {
				values[i] = min(at+uint64(i), hi-1) >> shift & m
			}
			x.Domains[k].limit(values)
			shift += v.Width
		}
		if !x.agree(p) {
			return false
		}
	}
	return true
}

// dense tries numbers of all kinds: special ones with each other, their neighbours, and random
// ones.
func (x *Lemma) dense(p *expr.Program) bool {
	r := rand.New(rand.NewPCG(x.A.Hash(), x.B.Hash()))
	for range 1024 {
		for k, v := range x.Vars {
			values := p.Values(v)
			for i := range values {
				values[i] = anyValue(r) & (^uint64(0) >> (64 - v.Width))
			}
			x.Domains[k].limit(values)
		}
		if !x.agree(p) {
			return false
		}
	}
	return true
}

func anyValue(r *rand.Rand) uint64 {
	switch r.IntN(4) {
	case 0:
		return uint64(special[r.IntN(len(special))] + r.Uint32N(5) - 2)
	case 1:
		return uint64(r.Uint32N(2)<<31 | (100+r.Uint32N(50))<<23 | r.Uint32N(1<<23))
	}
	return r.Uint64()
}

// Bits is how many bits the variables have.
func (x *Lemma) Bits() (bits int) {
	for _, v := range x.Vars {
		bits += v.Width
	}
	return bits
}
