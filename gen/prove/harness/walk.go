package harness

import (
	"slices"

	"github.com/attn-go/attn/gen/prove/expr"
	"github.com/attn-go/attn/gen/prove/machine"
)

// mostWalks is about how many calls of a kernel are walked through.
const mostWalks = 20

// walk executes the assembly alone to see its loops and to count its instructions. Floats are 0,
// which is a rare case for some functions: a loop that leaves its lines for that shows no trips. So
// where none does, floats are 1, too.
func (p *Prover) walk(a *Architecture, k *Kernel, v *Verdict) error {
	rate, err := walkWith(a, k, v, 0)
	v.Rate = rate
	shown := len(v.Loops) == 0
	for _, l := range v.Loops {
		shown = shown || l.Bound() != machine.Once
	}
	if err == nil && !shown {
		_, err = walkWith(a, k, v, 1)
	}
	return err
}

// walkWith executes the assembly with one number for all floats. Of many sizes it takes some of
// each kind, the last one and the longest ones. It returns the most instructions a unit of work.
func walkWith(a *Architecture, k *Kernel, v *Verdict, float float32) (rate float64, err error) {
	list := contractOf(k).cases(k, false)
	most := map[string]int{}
	for _, c := range list {
		for name := range c {
			n, _ := c[name].(int)
			most[name] = max(most[name], n)
		}
	}
	long := 0
	for _, c := range list {
		long = max(long, work(k, c, most))
	}
	for i, c := range list {
		if i%(1+len(list)/mostWalks) != 0 && i != len(list)-1 && work(k, c, most) < long*9/10 {
			continue
		}
		for _, cpu := range cpusOf(a, k, 0) {
			g := expr.New()
			l, err := layOut(g, k, c)
			if err != nil {
				return 0, err
			}
			l.fill(float)
			run := machine.NewRun(g, a.Files[k.ISA], cpu.isa, l.args, l.regions...)
			run.Misaligned = i * 8 % 64
			if err := run.Call(k.Function); err != nil {
				return 0, err
			}
			v.join(run, c)
			rate = max(rate, float64(run.Steps)/float64(work(k, c, most)))
		}
	}
	return rate, nil
}

// fill makes one number of all floats, zeros of other data, and 1 of each number that is an
// argument. Offsets become multiples of a distance: a loop that takes rows from a table has the
// same trips then.
func (l *call) fill(float float32) {
	for _, p := range l.kernel.Params {
		switch v := l.c[p.Name].(type) {
		case Unknown:
			l.args.SetWord(p.Offset, l.g.Const(8*sizes[p.Type], 0x3f800000))
		case Buffer:
			b, far := l.buffers[p.Name], 0
			if len(v.Values) > 1 {
				far = slices.Max(v.Values) / (v.Len - 1)
			}
			w := widths[b.elem]
			for i := range v.Len {
				n := l.g.Const(w, uint64(i*far))
				if b.elem == "float32" {
					n = l.g.Float(float)
				}
				b.region.SetWord(i*w/8, n)
			}
		}
	}
}

// longestTile is how many rows or columns a step of a loop takes at most, about.
const longestTile = 16

// work is the product of the sizes of a call, or the length of its longest slice where that is
// more. Sizes that go beyond a tile count as a tile longer, as one that is not whole costs as much.
func work(k *Kernel, c Case, most map[string]int) int {
	product, longest := max(k.Lanes, 1), 0
	if k.Table == "Weights" && c["lanes"] == nil && c["m"] != nil {
		product = panelLanes
	}
	for _, name := range []string{"m", "n", "k", "d", "dv", "lanes", "pairs", "size"} {
		if n, ok := c[name].(int); ok && most[name] > longestTile {
			product *= n + longestTile
		} else if ok {
			product *= max(n, 1)
		}
	}
	if off, ok := c["off"].(Buffer); ok && k.Table == "Skinny" && c["next"] != nil {
		product *= max(off.Len, 1)
	}
	for _, v := range c {
		if b, ok := v.(Buffer); ok && !b.Absent {
			longest = max(longest, b.Len)
		}
	}
	return max(product, longest+longestTile*longestTile)
}

// cpusOf returns the CPUs that may have a kernel's tiles, for call i of it. The longest registers
// let a tile begin another way. All other kernels take them for more of the same: a call of seven
// tries that.
func cpusOf(a *Architecture, k *Kernel, i int) []cpu {
	return slices.DeleteFunc(slices.Clone(cpus[a.GOARCH]), func(x cpu) bool {
		if k.Table != "Products" {
			return x.lanes > longestTile && i%7 != 6
		}
		return x.lanes > 0 && k.Lanes != x.lanes && k.Lanes != 2*x.lanes && k.Lanes != 4*x.lanes
	})
}

// join adds what the execution of a case has shown of loops. With an empty slice it shows
// nothing: loops over such rows access no memory, but their number is small.
func (v *Verdict) join(run *machine.Run, c Case) {
	for _, x := range c {
		if b, ok := x.(Buffer); ok && b.Len == 0 {
			return
		}
	}
	for line, loop := range run.Loops {
		if v.Loops[line] != nil {
			v.Loops[line].Join(loop)
		} else {
			v.Loops[line] = loop
		}
	}
}

// JoinLoops joins what kernels have shown of the loops that they have in common.
func JoinLoops(all []*Verdict) map[string]*machine.Loop {
	loops := map[string]*machine.Loop{}
	for _, v := range all {
		for line, l := range v.Loops {
			if old := loops[l.Name()]; old != nil {
				old.Join(l)
				v.Loops[line] = old
			} else {
				loops[l.Name()] = l
			}
		}
	}
	return loops
}
