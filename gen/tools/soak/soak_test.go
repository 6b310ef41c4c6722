package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"math/rand/v2"

	"github.com/attn-go/attn/kernel"
)

// TestSoak is a short run. Every kind of call must be made, in more runs where a machine is slow
// or busy.
func TestSoak(t *testing.T) {
	var out bytes.Buffer
	for end := time.Now().Add(time.Minute); ; {
		if n := soak(context.Background(), config{time: 3 * time.Second, goroutines: 6, seed: uint64(time.Now().UnixNano())}, &out); n > 0 {
			t.Errorf("%d findings", n)
		}
		missing := slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return strings.Contains(out.String(), s.name) })
		if len(missing) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Errorf("no call of %s", missing[0].name)
			break
		}
	}
	t.Log(out.String())
}

// TestSoakFinds: a scenario whose results depend on the tier is found.
func TestSoakFinds(t *testing.T) {
	defer func(s []scenario) { scenarios = s }(scenarios)
	calls := float32(0)
	scenarios = []scenario{{"counting", func(*rand.Rand, kernel.Exec) ([]float32, error) {
		calls++
		return []float32{calls}, nil
	}}}
	tally := &tally{done: map[string]int{}}
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		step(r, scenarios[0], tally)
	}
	if tally.done["findings"] == 0 {
		t.Error("results that differ are not found")
	}
}
