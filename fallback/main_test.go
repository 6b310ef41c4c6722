package fallback

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// fused reports that FMA is an instruction here.
var fused = func() bool {
	_, ok := any(wide(0)).(float32)
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
