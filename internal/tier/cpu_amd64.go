//go:build amd64 && !purego

package tier

import "github.com/attn-go/attn/asm"

// HostCPU returns the name of the CPU that the program runs on.
func HostCPU() string { return cpuName(asm.Machine[0].Kernels.Identity()) }

// The first four letters of a vendor's name, as CPUID gives them.
const (
	amd   = 'A' | 'u'<<8 | 't'<<16 | 'h'<<24
	intel = 'G' | 'e'<<8 | 'n'<<16 | 'u'<<24
)

// cpuName returns the name of a CPU by its identity, see ukernel.Machine.
func cpuName(identity uint64) string {
	family, model := int(identity>>8&0xf), int(identity>>4&0xf|identity>>12&0xf0)
	if family == 0xf {
		family += int(identity >> 20 & 0xff)
	}
	switch vendor := identity >> 32; {
	case vendor == amd:
		return amdName(family, model)
	case vendor == intel && family == 6:
		return intelName(model)
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
