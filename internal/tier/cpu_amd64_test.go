//go:build amd64 && !purego

package tier

import "testing"

// TestCPUNames names CPUs by what CPUID says of them.
func TestCPUNames(t *testing.T) {
	for _, x := range []struct {
		vendor, version uint64
		want            string
	}{
		{amd, 0x00800f12, AnyCPU},   // Naples
		{amd, 0x00830f10, Zen2},     // Rome
		{amd, 0x00870f10, Zen2},     // Matisse
		{amd, 0x00a00f11, Zen3},     // Milan
		{amd, 0x00a50f00, Zen3},     // Cezanne
		{amd, 0x00a10f11, Zen4},     // Genoa
		{amd, 0x00a60f12, Zen4},     // Raphael
		{amd, 0x00b00f21, Zen5},     // Turin
		{intel, 0x000306f2, AnyCPU}, // Haswell
		{intel, 0x00050657, SkylakeX},
		{intel, 0x000606a6, SkylakeX}, // Ice Lake
		{intel, 0x000c06f2, SapphireRapids},
		{intel, 0x00090672, AlderLake},
		{intel, 0x00090f72, AnyCPU},
		{0x6f677948, 0x00900f01, AnyCPU}, // Hygon
		{0, 0, AnyCPU},
	} {
		if got := cpuName(x.vendor<<32 | x.version); got != x.want {
			t.Errorf("vendor %#x, version %#x: got %s, want %s", x.vendor, x.version, got, x.want)
		}
	}
}
