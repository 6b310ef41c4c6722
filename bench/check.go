package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"

	"github.com/attn-go/attn/kernel"
)

// reference is the tier that the others are compared with.
const reference = "generic"

// checked is what came out of checking one group.
type checked struct {
	group    *group
	tiers    []string // that were compared
	threads  []int
	sha      string
	ours     errorSum // of the contract, against float64
	theirs   errorSum // of PyTorch
	failures []string
}

// runnable returns the names of the tiers that run here, best first.
func runnable() []string {
	var names []string
	for _, t := range kernel.Tiers() {
		if t.Runs {
			names = append(names, t.Name)
		}
	}
	return names
}

// checkThreads are the thread counts of the check: one, and all or at least two.
func checkThreads() []int { return []int{1, max(2, runtime.GOMAXPROCS(0))} }

// check computes a group on every tier that runs here and on one and many
// threads, and compares the bits with those of the reference on one thread.
func check(g *group) (checked, error) {
	c := checked{group: g, tiers: runnable(), threads: checkThreads()}
	want := g.newOut()
	if err := g.attend(&want, reference, 1); err != nil {
		return c, fmt.Errorf("%s: %s: %w", g.name, reference, err)
	}
	for _, tier := range c.tiers {
		for _, threads := range c.threads {
			got := g.newOut()
			poison(got.data)
			if err := g.attend(&got, tier, threads); err != nil {
				return c, fmt.Errorf("%s: %s: %w", g.name, tier, err)
			}
			if diff := difference(&want, &got); diff != "" {
				c.failures = append(c.failures, fmt.Sprintf("%s: %s threads=%d differs from %s %s", g.name, tier, threads, reference, diff))
			}
		}
	}
	c.sha = hashBits(want.data)
	if g.sha != "" && c.sha != g.sha {
		c.failures = append(c.failures, fmt.Sprintf("%s: %s gives sha256 %s, contract %d gives %s", g.name, reference, c.sha, kernel.Contract, g.sha))
	}
	truth := exact(g)
	c.ours, c.theirs = errorOf(want.data, truth), errorOf(g.theirs.data, truth)
	return c, nil
}

// poison fills a result with a NaN that no tier computes, so that an element
// that it does not write differs.
func poison(x []float32) {
	for i := range x {
		x[i] = math.Float32frombits(0x7FBADBAD)
	}
}

// difference describes the first element whose bits differ, "" if none does.
func difference(want, got *array) string {
	first, n := -1, 0
	for i, w := range want.data {
		if math.Float32bits(w) != math.Float32bits(got.data[i]) {
			if n == 0 {
				first = i
			}
			n++
		}
	}
	if n == 0 {
		return ""
	}
	b, h, i, d := index(want.shape, first)
	w, x := want.data[first], got.data[first]
	return fmt.Sprintf("in %d of %d elements, first at b %d, h %d, i %d, d %d: %#08x (%g) instead of %#08x (%g)",
		n, len(want.data), b, h, i, d, math.Float32bits(x), x, math.Float32bits(w), w)
}

// index splits the index of an element into its coordinates.
func index(shape [4]int, at int) (b, h, i, d int) {
	at, d = at/shape[3], at%shape[3]
	at, i = at/shape[2], at%shape[2]
	return at / shape[1], at % shape[1], i, d
}

// hashBits is the sha256 of the bits, as little-endian float32.
func hashBits(x []float32) string {
	raw := make([]byte, 0, 4*len(x))
	for _, e := range x {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(e))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
