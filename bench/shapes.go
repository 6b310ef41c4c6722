package main

import (
	"fmt"
	"math/rand/v2"
)

// shape is a workload to time.
type shape struct {
	name           string
	heads, kvHeads int
	lq, lk, d      int
	causal         bool
}

// realShape is the shape that stands for the real activations.
const realShape = "R"

var shapes = []shape{
	{"A", 8, 8, 1024, 1024, 64, false},
	{"B", 4, 4, 2048, 2048, 128, true},
	{"C", 32, 8, 1, 4096, 128, false},
	{"D", 12, 12, 128, 128, 64, false},
	{"E", 4, 4, 2048, 2048, 128, false},
	{"M", 12, 12, 128, 128, 32, false},
	{"S1", 12, 12, 1, 1, 64, false},
	{"S2", 12, 12, 2, 2, 64, false},
	{"S4", 12, 12, 4, 4, 64, false},
	{"S8", 12, 12, 8, 8, 64, false},
	{"S16", 12, 12, 16, 16, 64, false},
	{"S32", 12, 12, 32, 32, 64, false},
	{name: realShape},
}

// smallFlops is the most work that generic is timed on without being asked.
const smallFlops = 32e6

// workload is what one timed call computes.
type workload struct {
	name, what string
	groups     []*group
	outs       []array
	flops      float64
	first      string  // the cell that computed want
	want       []array // the results, to compare with
}

// load makes the inputs of a shape; the real shape has those of groups.
func (s *shape) load(groups []*group) *workload {
	w := &workload{name: s.name, groups: groups, what: "real activations"}
	if s.name != realShape {
		g := s.group()
		w.groups, w.what = []*group{g}, g.describe()
	}
	for _, g := range w.groups {
		w.outs = append(w.outs, g.newOut())
		w.flops += g.flops()
	}
	return w
}

// flops is the work of one call, without making the inputs.
func (s *shape) flops(groups []*group) float64 {
	if s.name != realShape {
		groups = []*group{s.outline()}
	}
	n := 0.0
	for _, g := range groups {
		n += g.flops()
	}
	return n
}

// outline is the shape's group without its numbers.
func (s *shape) outline() *group {
	return &group{
		name:   s.name,
		q:      array{shape: [4]int{1, s.heads, s.lq, s.d}},
		k:      array{shape: [4]int{1, s.kvHeads, s.lk, s.d}},
		v:      array{shape: [4]int{1, s.kvHeads, s.lk, s.d}},
		causal: s.causal,
	}
}

// group is the shape on unit-normal numbers, the same on every machine.
func (s *shape) group() *group {
	g := s.outline()
	rng := rand.New(rand.NewPCG(uint64(s.lq)<<32|uint64(s.lk), uint64(s.heads)<<32|uint64(s.d)))
	for _, a := range []*array{&g.q, &g.k, &g.v} {
		*a = newArray(a.shape[0], a.shape[1], a.shape[2], a.shape[3])
		for i := range a.data {
			a.data[i] = normal(rng)
		}
	}
	return g
}

// normal is nearly unit-normal: a sum of twelve uniform numbers, less its mean.
// Integers make it exact, so that every machine gets the same.
func normal(rng *rand.Rand) float32 {
	sum := -12 * 65535 / 2
	for range 3 {
		for x := rng.Uint64(); x != 0; x >>= 16 {
			sum += int(x & 0xFFFF)
		}
	}
	return float32(sum) / 65536
}

// call computes the workload once.
func (w *workload) call(tier string, threads int) error {
	for i, g := range w.groups {
		if err := g.attend(&w.outs[i], tier, threads); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return nil
}

// compare returns how the results of the last call, made by the named cell,
// differ from those of the first that was compared.
func (w *workload) compare(cell string) (failures []string) {
	if w.want == nil {
		w.first = cell
		for i := range w.outs {
			w.want = append(w.want, array{append([]float32(nil), w.outs[i].data...), w.outs[i].shape})
		}
		return nil
	}
	for i, g := range w.groups {
		if diff := difference(&w.want[i], &w.outs[i]); diff != "" {
			failures = append(failures, fmt.Sprintf("%s: %s differs from %s %s", g.name, cell, w.first, diff))
		}
	}
	return failures
}
