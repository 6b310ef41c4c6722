//go:build (amd64 || arm64) && !purego

package tier

import (
	"slices"
	"testing"

	"github.com/klauspost/cpuid/v2"
)

// TestCPUNames names CPUs by their families and models. It names CPUs of virtual machines that
// report other models, or hide features, by what they can do.
func TestCPUNames(t *testing.T) {
	zen3 := []string{"AVX2", "FMA3", "WBNOINVD", "VAES"}
	zen4 := append(zen3[:4:4], "AVX512F", "AVX512VL", "AVX512VNNI", "AVX512BF16")
	zen5 := append(zen4[:8:8], "AVX512VP2INTERSECT", "AVXVNNI")
	skylake := []string{"AVX2", "FMA3", "AVX512F", "AVX512VL"}
	iceLake := append(skylake[:4:4], "VAES", "AVX512VNNI")
	alderLake := []string{"AVX2", "FMA3", "VAES", "AVXVNNI"}
	rapids := append(iceLake[:6:6], "AVX512BF16", "AVX512FP16", "AVXVNNI", "AMXTILE", "AMXINT8", "AMXBF16")
	granite := append(rapids[:12:12], "AVX10", "AMXFP16")
	for _, x := range []struct {
		vendor            cpuid.Vendor
		family, model, l2 int
		features          []string
		want              CPU
	}{
		{cpuid.AMD, 0x17, 0x01, 512 << 10, []string{"AVX2"}, CPU{AnyCPU, ByNone}},                       // Naples
		{cpuid.AMD, 0x17, 0x31, 512 << 10, []string{"AVX2", "WBNOINVD"}, CPU{Zen2, ByModel}},            // Rome
		{cpuid.AMD, 0x17, 0x71, 512 << 10, []string{"AVX2", "WBNOINVD"}, CPU{Zen2, ByModel}},            // Matisse
		{cpuid.AMD, 0x19, 0x01, 512 << 10, zen3, CPU{Zen3, ByModel}},                                    // Milan
		{cpuid.AMD, 0x19, 0x50, 512 << 10, zen3, CPU{Zen3, ByModel}},                                    // Cezanne
		{cpuid.AMD, 0x19, 0x11, 1 << 20, zen4, CPU{Zen4, ByModel}},                                      // Genoa
		{cpuid.AMD, 0x19, 0x61, 1 << 20, zen3, CPU{Zen4, ByModel}},                                      // Raphael without AVX-512
		{cpuid.AMD, 0x1a, 0x02, 1 << 20, zen5, CPU{Zen5, ByModel}},                                      // Turin
		{cpuid.AMD, 0x17, 0x31, 1 << 20, zen4, CPU{Zen4, ByFeatures}},                                   // Genoa as Rome
		{cpuid.AMD, 0x19, 0x01, 1 << 20, zen5, CPU{Zen5, ByFeatures}},                                   // Turin as Milan
		{cpuid.AMD, 0x19, 0x11, 1 << 20, zen5, CPU{Zen5, ByFeatures}},                                   // Turin as Genoa
		{cpuid.AMD, 0x0f, 0x06, 1 << 20, zen3, CPU{Zen4, ByFeatures}},                                   // Genoa as qemu64, without AVX-512
		{cpuid.AMD, 0x0f, 0x06, 512 << 10, zen3, CPU{Zen3, ByFeatures}},                                 // Milan as qemu64
		{cpuid.AMD, 0x0f, 0x06, 0, []string{"AVX2", "WBNOINVD"}, CPU{Zen2, ByFeatures}},                 // Rome as qemu64
		{cpuid.AMD, 0x0f, 0x06, 0, []string{"AVX2"}, CPU{AnyCPU, ByNone}},                               // Naples as qemu64
		{cpuid.Intel, 6, 0x3f, 256 << 10, []string{"AVX2", "FMA3"}, CPU{AnyCPU, ByNone}},                // Haswell
		{cpuid.Intel, 6, 0x55, 1 << 20, skylake, CPU{SkylakeX, ByModel}},                                // Skylake-X
		{cpuid.Intel, 6, 0x6a, 5 << 18, iceLake, CPU{SkylakeX, ByModel}},                                // Ice Lake
		{cpuid.Intel, 6, 0xa7, 512 << 10, iceLake, CPU{SkylakeX, ByModel}},                              // Rocket Lake
		{cpuid.Intel, 6, 0xa7, 2 << 20, rapids, CPU{SapphireRapids, ByFeatures}},                        // Sapphire Rapids as Rocket Lake
		{cpuid.Intel, 6, 0xa7, 2 << 20, granite[:13], CPU{GraniteRapids, ByFeatures}},                   // Granite Rapids as Rocket Lake
		{cpuid.Intel, 6, 0xcf, 2 << 20, granite, CPU{GraniteRapids, ByFeatures}},                        // as Emerald Rapids
		{cpuid.Intel, 6, 0x6a, 2 << 20, rapids[:9], CPU{SapphireRapids, ByFeatures}},                    // as Ice Lake, without AMX
		{cpuid.Intel, 6, 0x3f, 2 << 20, iceLake, CPU{SapphireRapids, ByFeatures}},                       // as Haswell, with its cache alone
		{cpuid.Intel, 6, 0x3f, 1 << 20, skylake, CPU{SkylakeX, ByFeatures}},                             // Skylake-X as Haswell
		{cpuid.Intel, 6, 0xcf, 2 << 20, rapids, CPU{SapphireRapids, ByModel}},                           // Emerald Rapids
		{cpuid.Intel, 6, 0xcf, 2 << 20, rapids[:9], CPU{SapphireRapids, ByModel}},                       // in a VM that hides AMX
		{cpuid.Intel, 6, 0xad, 2 << 20, skylake, CPU{GraniteRapids, ByModel}},                           // Granite Rapids, features hidden
		{cpuid.Intel, 6, 0x97, 5 << 18, alderLake, CPU{AlderLake, ByModel}},                             // Alder Lake
		{cpuid.Intel, 6, 0x97, 5 << 18, rapids[:9], CPU{SapphireRapids, ByFeatures}},                    // with the AVX-512 that its cores have
		{cpuid.Intel, 6, 0xff, 2 << 20, alderLake, CPU{AlderLake, ByFeatures}},                          // a later one
		{cpuid.Intel, 6, 0xff, 2 << 20, append(alderLake[:4:4], "AVX10"), CPU{AlderLake, ByFeatures}},   // and with AVX10 of 256 bits
		{cpuid.Intel, 19, 0x01, 2 << 20, rapids, CPU{SapphireRapids, ByFeatures}},                       // a later server
		{cpuid.Intel, 19, 0x01, 2 << 20, granite, CPU{GraniteRapids, ByFeatures}},                       // and with AVX10
		{cpuid.Intel, 6, 0x6a, 2 << 20, append(iceLake[:6:6], "AVX10"), CPU{GraniteRapids, ByFeatures}}, // as Ice Lake, with its features and AVX10
		{cpuid.Intel, 15, 0x97, 0, nil, CPU{AnyCPU, ByNone}},
		{cpuid.ARM, 0x3f, 0xd0c1, 0, nil, CPU{NeoverseN1, ByModel}},
		{cpuid.ARM, 0x1f, 0xd401, 0, nil, CPU{NeoverseV1, ByModel}},
		{cpuid.ARM, 0x0f, 0xd4f0, 0, nil, CPU{NeoverseV2, ByModel}},
		{cpuid.ARM, 0x0f, 0xd030, 0, nil, CPU{AnyCPU, ByNone}}, // Cortex-A53
		{cpuid.VendorUnknown, 0, 0, 0, nil, CPU{AnyCPU, ByNone}},
	} {
		lacks := func(f string) bool { return !slices.Contains(x.features, f) }
		if got := name(&host{x.vendor, x.family, x.model, x.l2, lacks}); got != x.want {
			t.Errorf("%v, family %#x, model %#x, %v: got %v, want %v", x.vendor, x.family, x.model, x.features, got, x.want)
		}
	}
}

// TestCoreFeaturesAreKnown: a rule whose feature cpuid does not know would never tell a CPU.
func TestCoreFeaturesAreKnown(t *testing.T) {
	for _, c := range cores {
		all := c.never
		for _, s := range c.shows {
			all = append(all, s.features...)
		}
		for _, f := range all {
			if !isFeature(f) {
				t.Errorf("%s: cpuid does not know %s", c.name, f)
			}
		}
	}
}
