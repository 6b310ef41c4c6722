package kernel_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// TestMain lists the tiers, so that every test log says what was really tested.
func TestMain(m *testing.M) {
	fmt.Printf("attn: %s/%s, contract %d\n", runtime.GOOS, runtime.GOARCH, kernel.Contract)
	for _, t := range kernel.Tiers() {
		if t.Runs {
			fmt.Printf("attn: tier %s is tested\n", t.Name)
			if x, _ := tierFor(t.Name); x.panels[0].fewScoresF16 == nil {
				fmt.Printf("attn: tier %s lacks kernels that widen K and V of few rows on the way\n", t.Name)
			}
		} else {
			fmt.Printf("attn: tier %s is NOT tested: %s\n", t.Name, t.Reason)
		}
	}
	os.Exit(m.Run())
}

// eachTier runs a test on every tier that this CPU can run.
func eachTier(t *testing.T, test func(t *testing.T, tier *tier)) {
	for i := range tiers {
		if tiers[i].lacks() == "" {
			t.Run("tier="+tiers[i].name, func(t *testing.T) { test(t, &tiers[i]) })
		}
	}
}
