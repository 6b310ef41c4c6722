//go:build arm64 && !purego

package tier

import "testing"

// TestCPUNames names CPUs by their MIDR_EL1.
func TestCPUNames(t *testing.T) {
	for _, x := range []struct {
		identity uint64
		want     string
	}{
		{0x413fd0c1, NeoverseN1},
		{0x411fd401, NeoverseV1},
		{0x410fd4f0, NeoverseV2},
		{0x410fd034, AnyCPU}, // Cortex-A53
		{0x430fd0c1, AnyCPU}, // not of Arm
	} {
		if got := cpuName(x.identity); got != x.want {
			t.Errorf("MIDR_EL1 %#x: got %s, want %s", x.identity, got, x.want)
		}
	}
}
