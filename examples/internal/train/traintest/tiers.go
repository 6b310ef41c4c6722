package traintest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/tuning"
)

// EachTier runs a test on every tier that this CPU can run.
func EachTier(t *testing.T, test func(t *testing.T, tier string)) {
	for _, tier := range kernel.Tiers() {
		if tier.Runs {
			t.Run("tier="+tier.Name, func(t *testing.T) { test(t, tier.Name) })
		}
	}
}

// inChild is set in the environment of the processes that EachDefault starts.
const inChild = "ATTN_TRAINTEST_CHILD"

// EachDefault runs a test in processes of their own, in each of which another tier is the default
// one. The test must be all that its test function does.
func EachDefault(t *testing.T, test func(t *testing.T)) {
	if os.Getenv(inChild) != "" {
		test(t)
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	EachTier(t, func(t *testing.T, tier string) {
		name, _, _ := strings.Cut(t.Name(), "/")
		child := exec.Command(program, "-test.v", "-test.run=^"+name+"$")
		child.Env = append(os.Environ(), inChild+"=1", "ATTN_TIER="+tier)
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// ForceThreads makes calls of any size use all threads that they ask for, as far as there are
// tasks for them, until the test ends. Otherwise small calls use one thread.
func ForceThreads(t *testing.T) {
	t.Helper()
	set := func(tier, changes string) {
		if err := tuning.Set(tier, changes); err != nil {
			t.Fatal(err)
		}
	}
	for _, tier := range kernel.Tiers() {
		if !tier.Runs {
			continue
		}
		before, err := tuning.Numbers(tier.Name)
		if err != nil {
			t.Fatal(err)
		}
		set(tier.Name, "ThreadFMAs=1")
		t.Cleanup(func() { set(tier.Name, before) })
	}
}
