//go:build (amd64 || arm64) && !purego

package tier

import (
	"testing"

	"github.com/klauspost/cpuid/v2"
)

// TestCPUNames names CPUs by their families and models.
func TestCPUNames(t *testing.T) {
	for _, x := range []struct {
		vendor        cpuid.Vendor
		family, model int
		want          string
	}{
		{cpuid.AMD, 0x17, 0x01, AnyCPU}, // Naples
		{cpuid.AMD, 0x17, 0x31, Zen2},   // Rome
		{cpuid.AMD, 0x17, 0x71, Zen2},   // Matisse
		{cpuid.AMD, 0x19, 0x01, Zen3},   // Milan
		{cpuid.AMD, 0x19, 0x50, Zen3},   // Cezanne
		{cpuid.AMD, 0x19, 0x11, Zen4},   // Genoa
		{cpuid.AMD, 0x19, 0x61, Zen4},   // Raphael
		{cpuid.AMD, 0x1a, 0x02, Zen5},   // Turin
		{cpuid.Intel, 6, 0x3f, AnyCPU},  // Haswell
		{cpuid.Intel, 6, 0x55, SkylakeX},
		{cpuid.Intel, 6, 0x6a, SkylakeX}, // Ice Lake
		{cpuid.Intel, 6, 0xcf, SapphireRapids},
		{cpuid.Intel, 6, 0x97, AlderLake},
		{cpuid.Intel, 15, 0x97, AnyCPU},
		{cpuid.ARM, 0x3f, 0xd0c1, NeoverseN1},
		{cpuid.ARM, 0x1f, 0xd401, NeoverseV1},
		{cpuid.ARM, 0x0f, 0xd4f0, NeoverseV2},
		{cpuid.ARM, 0x0f, 0xd030, AnyCPU}, // Cortex-A53
		{cpuid.VendorUnknown, 0, 0, AnyCPU},
	} {
		if got := cpuName(x.vendor, x.family, x.model); got != x.want {
			t.Errorf("%v, family %#x, model %#x: got %s, want %s", x.vendor, x.family, x.model, got, x.want)
		}
	}
}
