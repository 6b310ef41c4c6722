package soak

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/attn-go/attn/kernel"
)

type config struct {
	time       time.Duration
	goroutines int
	seed       uint64
}

// A tally counts what was done, by name, and what went wrong. It prints a finding at once: who
// stops a long run has seen all of them.
type tally struct {
	out  io.Writer
	mu   sync.Mutex
	done map[string]int
}

func (t *tally) count(name string) {
	t.mu.Lock()
	t.done[name]++
	t.mu.Unlock()
}

// find counts a finding. It prints the first ones only.
func (t *tally) find(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done["findings"]++; t.done["findings"] <= 20 {
		fmt.Fprintf(t.out, format+"\n", args...)
	}
}

// soak runs until the time is over or the context ends. It prints a line each minute, findings and
// a report, and returns the number of findings.
func soak(ctx context.Context, c config, out io.Writer) int {
	t := &tally{out: out, done: map[string]int{}}
	before := measure()
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.time)
	defer cancel()
	undo := disturb(ctx, c.seed, t)
	var wg sync.WaitGroup
	for g := range c.goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(c.seed, uint64(g)))
			for i := g; ctx.Err() == nil; i++ {
				step(r, scenarios[i%len(scenarios)], t)
			}
		})
	}
	wg.Go(func() { t.tell(ctx, start, time.Minute) })
	wg.Wait()
	undo()
	t.compare(before)
	return t.report(time.Since(start))
}

var (
	tiers   = kernel.Tiers()
	generic = tiers[len(tiers)-1]
)

// step makes the calls of a scenario, or in every tenth case a call that misbehaves.
func step(r *rand.Rand, s scenario, t *tally) {
	seed := r.Uint64()
	if r.IntN(10) == 0 {
		misbehave(rand.New(rand.NewPCG(seed, 0)), t)
		return
	}
	run := func(e kernel.Exec) ([]float32, error) { return s.run(rand.New(rand.NewPCG(seed, 1)), e) }
	want, err := run(kernel.Exec{Tier: generic, Threads: 1})
	if err != nil {
		t.find("%s, seed %d: generic: %v", s.name, seed, err)
		return
	}
	e := randomExec(r)
	got, err := run(e)
	if err != nil {
		t.find("%s, seed %d, %s: %v", s.name, seed, e.Tier, err)
		return
	}
	if i := firstDifference(got, want); i >= 0 {
		t.find("%s, seed %d, %s, %d threads: element %d is %v, want %v", s.name, seed, e.Tier, e.Threads, i, got[i], want[i])
	}
	t.count(s.name)
}

// firstDifference returns the index of the first element whose bits differ, or -1.
func firstDifference(x, y []float32) int {
	for i := range y {
		if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
			return i
		}
	}
	return -1
}

// randomExec chooses a tier that runs here, threads, and in every fourth case a parallel-for.
func randomExec(r *rand.Rand) kernel.Exec {
	var e kernel.Exec
	e.Tier = tiers[r.IntN(len(tiers))]
	e.Threads = r.IntN(9)
	if r.IntN(4) == 0 {
		e.ParallelFor = parallelFor
	}
	return e
}

// parallelFor is a program's own: a goroutine for every task.
func parallelFor(n int, task func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { task(i) })
	}
	wg.Wait()
}
