// Package check compares the results of attention: their bits between the tiers, and
// their values with float64.
package check

import (
	"fmt"
	"math"
	"runtime"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
)

// threads are the thread counts to check: one, and GOMAXPROCS or at least two.
func threads() []int { return []int{1, max(2, runtime.GOMAXPROCS(0))} }

// Bits computes a problem on every tier that runs here, on one and on several threads, and compares
// the bits with the tier generic on one thread.
func Bits(p *problem.Problem) (results.Check, error) {
	r := results.Check{Name: p.Name, Input: p.Describe(), Contract: p.SHA256}
	want := p.NewOut()
	if err := p.Attend(&want, machine.Generic, 1); err != nil {
		return r, fmt.Errorf("%s: %s: %w", p.Name, machine.Generic, err)
	}
	for _, tier := range kernel.Tiers() {
		for _, n := range threads() {
			got := p.NewOut()
			fillNaN(got.Data)
			if err := p.Attend(&got, tier, n); err != nil {
				return r, fmt.Errorf("%s: %s: %w", p.Name, tier, err)
			}
			r.Hashes = append(r.Hashes, results.Hash{Tier: tier.String(), Threads: n, SHA256: got.SHA256()})
			if diff := problem.Difference(&want, &got); diff != "" {
				r.Failures = append(r.Failures, fmt.Sprintf("%s: %s threads=%d differs from %s %s", p.Name, tier, n, machine.Generic, diff))
			}
		}
	}
	if sum := want.SHA256(); p.SHA256 != "" && sum != p.SHA256 {
		r.Failures = append(r.Failures, fmt.Sprintf("%s: %s gives sha256 %s, contract %d gives %s", p.Name, machine.Generic, sum, kernel.Contract, p.SHA256))
	}
	truth := exact(p)
	r.Error, r.PyTorch = ErrorOf(want.Data, truth), ErrorOf(p.PyTorch.Data, truth)
	return r, nil
}

// fillNaN fills a result with a NaN that no tier computes. So an element that a tier does
// not write differs.
func fillNaN(x []float32) {
	for i := range x {
		x[i] = math.Float32frombits(0x7FBADBAD)
	}
}
