//go:build riscv64 && !purego

package tier

import "testing"

// TestOff: the last option counts, as in package cpu of x/sys.
func TestOff(t *testing.T) {
	for options, want := range map[string]bool{
		"":                                false,
		"cpu.v=off":                       true,
		"gctrace=0,cpu.all=off":           true,
		"cpu.v=off,cpu.v=on":              false,
		"cpu.all=on,cpu.v=off,panicnil=1": true,
		"cpu.zvbb=off,cpu.v=no":           false,
	} {
		if got := isOff(options); got != want {
			t.Errorf("%q: %v", options, got)
		}
	}
}
