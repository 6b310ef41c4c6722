//go:build (amd64 || arm64) && !purego

package tier

import (
	"runtime"

	"github.com/klauspost/cpuid/v2"
)

// HostCPU returns the CPU that the program runs on.
func HostCPU() CPU {
	if runtime.GOARCH == "arm64" && (runtime.GOOS == "darwin" || runtime.GOOS == "ios") {
		return CPU{Apple, ByModel}
	}
	c := &cpuid.CPU
	return name(&host{vendor: c.VendorID, family: c.Family, model: c.Model, l2: c.Cache.L2, lacks: lacks})
}

// A host is what a CPU says of itself.
type host struct {
	vendor        cpuid.Vendor
	family, model int
	l2            int // bytes of the cache of level 2 of a core; 0 or less if unknown
	lacks         func(feature string) bool
}

func (h *host) has(features []string) bool {
	for _, f := range features {
		if h.lacks(f) {
			return false
		}
	}
	return true
}

// A core is the family of CPUs that an entry is for.
type core struct {
	name   string
	vendor cpuid.Vendor
	is     func(family, model int) bool

	// never are features that no such CPU has: a host that has one reports a wrong model.
	never []string

	// Each of shows is a set of features that no older core of the vendor has all of.
	shows []set
}

// A set is features, with a cache of level 2 of at least so many bytes.
type set struct {
	features []string
	l2       int
}

// cores are listed with the newest of a vendor first.
var cores = []core{
	// AMD follows bsp_init_amd in arch/x86/kernel/cpu/amd.c of Linux.
	{
		name: Zen5, vendor: cpuid.AMD, is: func(family, _ int) bool { return family >= 0x1a },
		shows: []set{{features: []string{"AVX512VP2INTERSECT"}}, {features: []string{"AVXVNNI"}}},
	},
	{
		name: Zen4, vendor: cpuid.AMD,
		is: func(family, model int) bool {
			return family == 0x19 && (model >= 0x10 && model <= 0x1f || model >= 0x60)
		},
		never: []string{"AVX512VP2INTERSECT", "AVXVNNI"},
		shows: []set{{features: []string{"AVX512F"}}, {features: []string{"VAES"}, l2: 1 << 20}},
	},
	{
		name: Zen3, vendor: cpuid.AMD, is: func(family, _ int) bool { return family == 0x19 },
		never: []string{"AVX512F", "AVXVNNI"},
		shows: []set{{features: []string{"VAES"}}},
	},
	{
		name: Zen2, vendor: cpuid.AMD,
		is: func(family, model int) bool {
			return family == 0x17 && model >= 0x30 && !(model >= 0x50 && model <= 0x5f)
		},
		never: []string{"AVX512F", "VAES"},
		shows: []set{{features: []string{"AVX2", "WBNOINVD"}}},
	},

	// Intel follows arch/x86/include/asm/intel-family.h of Linux.
	{
		name: GraniteRapids, vendor: cpuid.Intel, is: models(0xad, 0xae),
		shows: []set{{features: []string{"AVX10", "AVX512F"}}, {features: []string{"AMXFP16"}}},
	},
	{
		name: SapphireRapids, vendor: cpuid.Intel, is: models(0x8f, 0xcf), // Emerald Rapids, too
		never: []string{"AVX10", "AMXFP16"},
		shows: []set{
			{features: []string{"AMXTILE"}}, {features: []string{"AVX512FP16"}}, {features: []string{"AVXVNNI", "AVX512F"}},
			{features: []string{"AVX512F"}, l2: 2 << 20},
		},
	},
	{
		name: AlderLake, vendor: cpuid.Intel,
		is:    models(0x97, 0x9a, 0xbe, 0xb7, 0xba, 0xbf, 0xaa, 0xac, 0xc5, 0xc6, 0xb5, 0xbd), // Raptor, Meteor, Arrow, Lunar Lake, too
		never: []string{"AVX512F", "AMXTILE"},
		shows: []set{{features: []string{"AVXVNNI"}}},
	},
	{
		name: SkylakeX, vendor: cpuid.Intel,
		is:    models(0x55, 0x6a, 0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7), // Ice Lake, Tiger Lake, Rocket Lake, too
		never: []string{"AMXTILE", "AVX512FP16", "AVXVNNI", "AVX10"},
		shows: []set{{features: []string{"AVX512F"}}},
	},

	// ARM follows arch/arm64/include/asm/cputype.h of Linux.
	{name: NeoverseV2, vendor: cpuid.ARM, is: part(0xd4f)},
	{name: NeoverseV1, vendor: cpuid.ARM, is: part(0xd40)},
	{name: NeoverseN1, vendor: cpuid.ARM, is: part(0xd0c)},
}

// models tells models of Intel's family 6.
func models(all ...int) func(family, model int) bool {
	return func(family, model int) bool {
		for _, m := range all {
			if family == 6 && model == m {
				return true
			}
		}
		return false
	}
}

// part tells a part of ARM, which is above the revision in what cpuid calls the model.
func part(number int) func(family, model int) bool {
	return func(_, model int) bool { return model>>4 == number }
}

// name returns the CPU that h is.
func name(h *host) CPU {
	for i := range cores {
		if c := &cores[i]; c.vendor == h.vendor && c.is(h.family, h.model) && !h.hasAny(c.never) {
			return CPU{c.name, ByModel}
		}
	}
	for i := range cores {
		if c := &cores[i]; c.vendor == h.vendor && h.shows(c) {
			return CPU{c.name, ByFeatures}
		}
	}
	return CPU{AnyCPU, ByNone}
}

func (h *host) hasAny(features []string) bool {
	for _, f := range features {
		if !h.lacks(f) {
			return true
		}
	}
	return false
}

// shows tells whether h can do what a core can and no older one.
func (h *host) shows(c *core) bool {
	for _, s := range c.shows {
		if h.has(s.features) && h.l2 >= s.l2 && !h.hasAny(c.never) {
			return true
		}
	}
	return false
}
