package activation_test

import (
	"testing"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// TestExec: tier, threads and parallel-for change no bit, of elements and of rows.
func TestExec(t *testing.T) {
	contracttest.ForceThreads(t)
	const rows, size = 211, 97
	backwards := func(n int, task func(i int)) {
		for i := range n {
			task(n - 1 - i)
		}
	}
	run := func(exec kernel.Exec) (results [][]float32) {
		x, up := random(rows*size, 1, testutil.NonFinite), random(rows*size, 2, testutil.NonFinite)
		slice := func(n int) []float32 {
			results = append(results, make([]float32, n*rows*size))
			return results[len(results)-1]
		}
		in, hidden := random(3*rows*size, 3, testutil.Mantissas), random(3*rows*size, 4, testutil.Mantissas)
		state := slice(1)
		copy(state, random(rows*size, 5, testutil.Mantissas))
		for _, err := range []error{
			activation.SiLU(slice(1), x, exec), activation.GeGLU(slice(1), x, up, exec),
			activation.TanhBackward(slice(1), x, up, exec), activation.SwiGLUBackward(slice(1), slice(1), up, x, x, exec),
			activation.GRU(state, slice(3), in, hidden, size, exec),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return results
	}
	want := run(kernel.Exec{Tier: contracttest.Generic(), Threads: 1})
	for _, tier := range kernel.Tiers() {
		for _, exec := range []kernel.Exec{{Tier: tier, Threads: 1}, {Tier: tier, Threads: 3}, {Tier: tier, Threads: 5, ParallelFor: backwards}} {
			for i, x := range run(exec) {
				testutil.CheckBits(t, tier.String(), x, want[i])
			}
		}
	}
}

func TestExecErrors(t *testing.T) {
	x := make([]float32, 3)
	contracttest.CheckArgument(t, "threads", activation.SiLU(x, x, kernel.Exec{Threads: -1}), "exec.Threads", "at least 1, or 0 for all")
}
