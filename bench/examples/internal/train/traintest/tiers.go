package traintest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// EachTier runs a test on every tier that this CPU can run. Calls of any size use all threads that they
// ask for, as far as there are tasks for them; otherwise small calls use one thread.
func EachTier(t *testing.T, test func(t *testing.T, tier kernel.Tier)) {
	for _, tier := range kernel.Tiers() {
		t.Run("tier="+tier.String(), func(t *testing.T) {
			eager, err := tier.Tuned(eager)
			if err != nil {
				t.Fatal(err)
			}
			test(t, eager)
		})
	}
}

// eager are the tuning numbers with which one more thread is always worth it.
const eager = "ThreadFMAs=1"

// inChild is set in the environment of the processes that EachDefault starts.
const inChild = "ATTN_TRAINTEST_CHILD"

// EachDefault runs a test in processes of their own, in each of which another tier is the default
// one, with the numbers of EachTier. The test must be all that its test function does.
func EachDefault(t *testing.T, test func(t *testing.T)) {
	if os.Getenv(inChild) != "" {
		test(t)
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	EachTier(t, func(t *testing.T, tier kernel.Tier) {
		name, _, _ := strings.Cut(t.Name(), "/")
		child := exec.Command(program, "-test.v", "-test.run=^"+name+"$")
		child.Env = append(os.Environ(), inChild+"=1", "ATTN_TIER="+tier.String(), "ATTN_TUNING="+eager)
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%v: %s", err, out)
		}
	})
}
