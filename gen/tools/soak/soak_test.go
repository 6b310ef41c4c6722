package soak

import (
	"bytes"
	"cmp"
	"flag"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
)

var (
	long       = flag.Duration("time", 3*time.Second, "how long")
	goroutines = flag.Int("goroutines", 6, "how many goroutines make calls")
	seed       = flag.Uint64("seed", 0, "number of the sequence of calls; 0: the time")
)

// TestSoak makes random calls for a while. Every kind of call must be made, in more runs where a
// machine is slow or busy.
func TestSoak(t *testing.T) {
	var out bytes.Buffer
	both := io.MultiWriter(t.Output(), &out)
	c := config{time: *long, goroutines: *goroutines, seed: cmp.Or(*seed, uint64(time.Now().UnixNano()))}
	for runs := 1; ; runs++ {
		if n := soak(t.Context(), c, both); n > 0 {
			t.Errorf("%d findings", n)
		}
		missing := slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return strings.Contains(out.String(), s.name) })
		if len(missing) == 0 {
			break
		}
		if runs == 1000 {
			t.Errorf("no call of %s", missing[0].name)
			break
		}
		c.seed++
	}
}

// TestSoakFinds: a scenario whose results depend on the tier is found, and printed at once.
func TestSoakFinds(t *testing.T) {
	defer func(s []scenario) { scenarios = s }(scenarios)
	calls := float32(0)
	scenarios = []scenario{{"counting", func(*rand.Rand, kernel.Exec) ([]float32, error) {
		calls++
		return []float32{calls}, nil
	}}}
	var out strings.Builder
	tally := &tally{out: &out, done: map[string]int{}}
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		step(r, scenarios[0], tally)
	}
	if found := tally.done["findings"]; found == 0 || strings.Count(out.String(), "counting, seed") != min(found, 20) {
		t.Errorf("results that differ: %d are found, of which these are printed: %s", found, out.String())
	}
}
