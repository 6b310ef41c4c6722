package scalar

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"
)

// fused reports that FMA is an instruction here.
var fused = func() bool {
	_, ok := any(Wide(0)).(float32)
	return ok
}()

// TestMain prints which FMA is tested here.
func TestMain(m *testing.M) {
	kind := "emulated"
	if fused {
		kind = "one instruction"
	}
	fmt.Printf("attn: %s/%s, fma is %s\n", runtime.GOOS, runtime.GOARCH, kind)
	os.Exit(m.Run())
}

var (
	inf     = float32(math.Inf(1))
	nan     = float32(math.NaN())
	negZero = float32(math.Copysign(0, -1))
)
