package kernel_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/kernel"
)

// TestMain lists the tiers, so that every test log says what was tested.
func TestMain(m *testing.M) {
	fmt.Printf("attn: %s/%s, contract %d\n", runtime.GOOS, runtime.GOARCH, kernel.Contract)
	for _, t := range kernel.Tiers() {
		if !t.Runs {
			fmt.Printf("attn: tier %s is NOT tested: %s\n", t.Name, t.Reason)
			continue
		}
		fmt.Printf("attn: tier %s is tested\n", t.Name)
		if k, _ := ukernel.Select(t.Name, "TestMain"); k.Skinny.QKF16 == nil {
			fmt.Printf("attn: tier %s lacks skinny kernels that widen keys and values in registers\n", t.Name)
		}
	}
	os.Exit(m.Run())
}
