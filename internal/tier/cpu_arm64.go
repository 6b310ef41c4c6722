//go:build arm64 && !purego

package tier

import (
	"runtime"

	"golang.org/x/sys/cpu"

	"github.com/attn-go/attn/asm"
)

// HostCPU returns the name of the CPU that the program runs on. Linux says whether a program may read
// which one it is, FreeBSD lets all programs, and elsewhere the instruction may end the program.
func HostCPU() string {
	switch {
	case runtime.GOOS == "darwin" || runtime.GOOS == "ios":
		return Apple
	case cpu.ARM64.HasCPUID || runtime.GOOS == "freebsd":
		return cpuName(asm.Machine[0].Kernels.Identity())
	}
	return AnyCPU
}

// cpuName returns the name of a CPU by its identity, see ukernel.Machine. It follows
// arch/arm64/include/asm/cputype.h of Linux.
func cpuName(identity uint64) string {
	const arm = 0x41
	if identity>>24&0xff != arm {
		return AnyCPU
	}
	switch identity >> 4 & 0xfff { // the part
	case 0xd0c:
		return NeoverseN1
	case 0xd40:
		return NeoverseV1
	case 0xd4f:
		return NeoverseV2
	}
	return AnyCPU
}
