package contracttest

import (
	"runtime"
	"testing"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// EachTier runs a test on every tier that this CPU can run.
func EachTier(t *testing.T, test func(t *testing.T, tier string)) {
	for _, tier := range kernel.Tiers() {
		if tier.Runs {
			t.Run("tier="+tier.Name, func(t *testing.T) { test(t, tier.Name) })
		}
	}
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
	for _, tier := range kernel.Tiers() {
		if tier.Runs && tier.Name != "generic" {
			return false
		}
	}
	return testutil.Quick()
}

// Repeats returns how often a test repeats what goes wrong rarely, if ever: n times, and
// a few times if tests are to be quick.
func Repeats(n int) int {
	if testutil.Quick() {
		return max(n/6, 2)
	}
	return n
}

// AddTier adds a tier to the list of all tiers, under its name, until the test ends.
func AddTier(t testing.TB, added tier.Tier) {
	before := tier.Tiers
	tier.Tiers = append(before[:len(before):len(before)], added)
	t.Cleanup(func() { tier.Tiers = before })
}

// Tier returns a copy of a tier that this CPU can run, to be changed and renamed.
func Tier(t testing.TB, name string) tier.Tier {
	x, bad := tier.Select(name, "contracttest.Tier")
	if bad != nil {
		t.Fatal(bad)
	}
	return x.Copy()
}

// SetDefault makes a tier the default one, or none, until the test ends.
func SetDefault(t testing.TB, x *tier.Tier, unavailable *check.Failure) {
	before := tier.Default
	tier.Default = func() (*tier.Tier, *check.Failure) { return x, unavailable }
	t.Cleanup(func() { tier.Default = before })
}

// EachDefault makes each tier that runs here the default one for a test.
func EachDefault(t *testing.T, test func(t *testing.T)) {
	EachTier(t, func(t *testing.T, name string) {
		tier, unavailable := tier.Select(name, "")
		SetDefault(t, tier, unavailable)
		test(t)
	})
}
