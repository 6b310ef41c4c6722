package parallel

import "sync/atomic"

// A part is a range of neighbouring tasks, which a goroutine takes before it helps others with
// theirs. There are as many parts as threads, and a goroutine has the same one in the next call: if
// task i of that needs what task i of this one has written, such as rows of a batch in the layers
// of a model, it mostly lies in the cache of the same core. Two threads compute a batch of 8
// sentences of MiniLM 5% faster by that on Emerald Rapids.
type part struct {
	next atomic.Int64 // its first task that is not taken, or its end or more
	_    [56]byte     // others write the neighbours
}

// partOf returns the tasks of part p: from lo to below hi.
func (g *Group[W, S]) partOf(p int) (lo, hi int) {
	n := len(g.parts)
	return p * g.tasks / n, (p + 1) * g.tasks / n
}

// makeParts cuts the tasks into a part for each thread.
func (g *Group[W, S]) makeParts(threads int) {
	g.parts = g.parts[:threads]
	for p := range g.parts {
		lo, _ := g.partOf(p)
		g.parts[p].next.Store(int64(lo))
	}
}

// take returns a task that nobody has taken, in part p or else in those after it. The caller has
// taken one off remaining, so that there is one.
func (g *Group[W, S]) take(p int) int {
	for p %= len(g.parts); ; p = (p + 1) % len(g.parts) {
		next := &g.parts[p].next
		if _, hi := g.partOf(p); next.Load() < int64(hi) {
			if i := int(next.Add(1)) - 1; i < hi {
				return i
			}
		}
	}
}
