//go:build riscv64 && !purego

package tier

import (
	"os"
	"strings"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"github.com/attn-go/attn/asm"
)

// featureNames says what the names of features are.
const featureNames = `RISC-V, which is "V" alone`

func isFeature(name string) bool { return name == "V" }

// hostLacks tells whether this CPU or its operating system lacks a feature, or no such is known.
func hostLacks(feature string) bool { return !isFeature(feature) || vectorLanes() == 0 }

// vectorLanes returns how many float32 a vector register has, 0 if there are no vectors. Package
// cpu asks the kernel in a way that Linux has since 6.4. Others, and emulators of them, only have a
// bit that vectors of a draft set as well, but then the CPU itself knows.
//
// GODEBUG=cpu.v=off, or cpu.all=off, turns vectors off for both ways to find them.
func vectorLanes() int {
	if isOff(os.Getenv("GODEBUG")) {
		return 0
	}
	if cpu.RISCV64.HasV || hasVectorBit() {
		return asm.Machine[0].Kernels.VectorLanes()
	}
	return 0
}

// isOff reports whether the options of GODEBUG, of which the last one counts, turn vectors off.
func isOff(options string) (off bool) {
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "cpu.v=off", "cpu.all=off":
			off = true
		case "cpu.v=on", "cpu.all=on":
			off = false
		}
	}
	return off
}

// hasVectorBit reports whether the kernel says at the start of a program that it may use vectors.
func hasVectorBit() bool {
	const (
		hwcap = 16 // AT_HWCAP
		v     = 1 << ('V' - 'A')
	)
	words, err := unix.Auxv()
	for _, w := range words {
		if err == nil && w[0] == hwcap {
			return w[1]&v != 0
		}
	}
	return false
}
