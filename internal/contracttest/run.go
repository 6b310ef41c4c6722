package contracttest

import (
	"runtime"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// EachTier runs a test on every tier that this CPU can run. Under the race detector it leaves out
// tiers of assembly but the best one: the Go code around kernels is the same for all, and the
// detector sees no access of theirs.
func EachTier(t *testing.T, test func(t *testing.T, tier kernel.Tier)) {
	tiers := kernel.Tiers()
	for i, tier := range tiers {
		if testutil.Race && i > 0 && i < len(tiers)-1 && !strings.HasSuffix(tier.String(), emulated) {
			continue
		}
		t.Run("tier="+tier.String(), func(t *testing.T) { test(t, tier) })
	}
}

// Generic returns the tier in plain Go.
func Generic() kernel.Tier {
	return Handle(&tier.Tiers[len(tier.Tiers)-1])
}

// ForceThreads makes calls of any size use all threads that they ask for, as far as
// there are tasks for them, until the test ends. Otherwise small calls use one thread.
func ForceThreads(t testing.TB) {
	for x := range tier.Tiers {
		before := tier.Tiers[x].ThreadFMAs
		tier.Tiers[x].ThreadFMAs = 1
		t.Cleanup(func() { tier.Tiers[x].ThreadFMAs = before })
	}
}

// AllowThreads raises GOMAXPROCS, which limits the threads of a call, to at least 8 until the
// test ends: for tests that need threads, on machines with fewer CPUs.
func AllowThreads(t testing.TB) {
	before := runtime.GOMAXPROCS(max(8, runtime.GOMAXPROCS(0)))
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// QuickGo reports whether tests are to be quick and this CPU runs the generic tier alone.
// Then all that runs is Go code, which also runs on CPUs that have other tiers.
func QuickGo() bool {
	return len(kernel.Tiers()) == 1 && testutil.Quick()
}

// Repeats returns how often a test repeats what goes wrong rarely, if ever: n times, and
// a few times if tests are to be quick.
func Repeats(n int) int {
	if testutil.Quick() {
		return max(n/6, 2)
	}
	return n
}

// Handle returns a tier as calls take it.
func Handle(x *tier.Tier) kernel.Tier { return kernel.Tier(x.Handle()) }

// Tier returns a copy of a tier, to be changed.
func Tier(t testing.TB, x kernel.Tier) *tier.Tier {
	original, unavailable := tier.Handle(x).Tier()
	if unavailable != nil {
		t.Fatal(unavailable)
	}
	return original.Copy()
}

// SetDefault makes a tier the default one, or none, until the test ends.
func SetDefault(t testing.TB, x *tier.Tier, unavailable *check.Failure) {
	before := tier.Default
	tier.Default = func() (*tier.Tier, *check.Failure) { return x, unavailable }
	t.Cleanup(func() { tier.Default = before })
}

// EachDefault makes each tier that runs here the default one for a test.
func EachDefault(t *testing.T, test func(t *testing.T)) {
	EachTier(t, func(t *testing.T, x kernel.Tier) {
		tier, unavailable := tier.Handle(x).Tier()
		SetDefault(t, tier, unavailable)
		test(t)
	})
}
