//go:build (amd64 || arm64) && !purego

package tier

import (
	"runtime"

	"github.com/klauspost/cpuid/v2"
)

// HostCPU returns the name of the CPU that the program runs on.
func HostCPU() string {
	if runtime.GOARCH == "arm64" && (runtime.GOOS == "darwin" || runtime.GOOS == "ios") {
		return Apple
	}
	return cpuName(cpuid.CPU.VendorID, cpuid.CPU.Family, cpuid.CPU.Model)
}

// cpuName returns the name of a CPU by its vendor, family and model, as cpuid gives them.
func cpuName(vendor cpuid.Vendor, family, model int) string {
	switch vendor {
	case cpuid.AMD:
		return amdName(family, model)
	case cpuid.Intel:
		if family == 6 {
			return intelName(model)
		}
	case cpuid.ARM:
		return armName(model >> 4) // below is the revision
	}
	return AnyCPU
}

// amdName follows bsp_init_amd in arch/x86/kernel/cpu/amd.c of Linux.
func amdName(family, model int) string {
	switch {
	case family == 0x17 && model >= 0x30 && !(model >= 0x50 && model <= 0x5f):
		return Zen2
	case family == 0x19 && (model >= 0x10 && model <= 0x1f || model >= 0x60):
		return Zen4
	case family == 0x19:
		return Zen3
	case family >= 0x1a:
		return Zen5
	}
	return AnyCPU
}

// intelName follows arch/x86/include/asm/intel-family.h of Linux.
func intelName(model int) string {
	switch model {
	case 0x55, 0x6a, 0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7: // Skylake-X, Ice Lake, Tiger Lake, Rocket Lake
		return SkylakeX
	case 0x8f, 0xcf, 0xad, 0xae: // Sapphire, Emerald and Granite Rapids
		return SapphireRapids
	case 0x97, 0x9a, 0xbe, 0xb7, 0xba, 0xbf, 0xaa, 0xac, 0xc5, 0xc6, 0xb5, 0xbd: // Alder, Raptor, Meteor, Arrow, Lunar Lake
		return AlderLake
	}
	return AnyCPU
}

// armName follows arch/arm64/include/asm/cputype.h of Linux.
func armName(part int) string {
	switch part {
	case 0xd0c:
		return NeoverseN1
	case 0xd40:
		return NeoverseV1
	case 0xd4f:
		return NeoverseV2
	}
	return AnyCPU
}
