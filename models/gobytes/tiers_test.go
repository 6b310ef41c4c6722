package gobytes

import (
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// checkGradients compares the norm of the gradient of every tensor with the difference of the
// losses on both sides along it: there the loss changes most. Losses are float32, so the sides lie
// as far apart as their rounding demands. loss computes the loss with the weights as they are, and
// must not change gradients.
func checkGradients(t *testing.T, weights, gradients []tensor, loss func() float64) {
	t.Helper()
	for i, w := range weights {
		g, norm := *gradients[i].Numbers, 0.0
		for _, x := range g {
			norm += float64(x) * float64(x)
		}
		if norm = math.Sqrt(norm); norm == 0 {
			t.Errorf("%s: the gradient is 0", w.Name)
			continue
		}
		h := 0.004 / max(norm, 0.5)
		before := slices.Clone(*w.Numbers)
		at := func(h float64) float64 {
			for k, x := range g {
				(*w.Numbers)[k] = before[k] + float32(h*float64(x)/norm)
			}
			return loss()
		}
		got := (at(h) - at(-h)) / (2 * h)
		copy(*w.Numbers, before)
		if math.Abs(got-norm) > 0.02*norm+5e-5 {
			t.Errorf("%s: the loss changes by %v along the gradient, want its norm, %v", w.Name, got, norm)
		}
	}
}

// eachEagerTier runs a test on every tier that this CPU can run. Calls of any size use all threads
// that they ask for, as far as there are tasks for them; otherwise small calls use one thread.
func eachEagerTier(t *testing.T, test func(t *testing.T, tier kernel.Tier)) {
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

// inChild is set in the environment of the processes that eachDefault starts.
const inChild = "ATTN_TRAIN_CHILD"

// eachDefault runs a test in processes of their own, in each of which another tier is the default
// one, with the numbers of eachEagerTier. The test must be all that its test function does.
func eachDefault(t *testing.T, test func(t *testing.T)) {
	if os.Getenv(inChild) != "" {
		test(t)
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eachEagerTier(t, func(t *testing.T, tier kernel.Tier) {
		name, _, _ := strings.Cut(t.Name(), "/")
		child := exec.Command(program, "-test.v", "-test.run=^"+name+"$")
		child.Env = append(os.Environ(), inChild+"=1", "ATTN_TIER="+tier.String(), "ATTN_TUNING="+eager)
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%v: %s", err, out)
		}
	})
}
