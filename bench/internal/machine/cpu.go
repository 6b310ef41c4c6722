// Package machine describes this machine and measures its limits: the FMA peak, the
// bandwidth of reading, and the rate of tanh.
package machine

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// CPUName returns the name that the CPU reports or, if it reports none, the name that the
// operating system knows.
func CPUName() string {
	if name := strings.Join(strings.Fields(cpuid.CPU.BrandName), " "); name != "" {
		return name
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if name := nameInCPUInfo(string(info)); name != "" {
			return name
		}
	}
	return "unknown " + runtime.GOARCH
}

// nameInCPUInfo finds the CPU's name in the text of Linux's /proc/cpuinfo.
func nameInCPUInfo(info string) string {
	for line := range strings.Lines(info) {
		key, value, ok := strings.Cut(line, ":")
		switch key = strings.ToLower(strings.TrimSpace(key)); key {
		case "model name", "cpu model", "cpu", "uarch":
			if value = strings.Join(strings.Fields(value), " "); ok && value != "" {
				return value
			}
		}
	}
	return ""
}

// simdPrefixes begin the names of the features that matter to the kernels.
var simdPrefixes = []string{"SSE4", "AVX", "FMA3", "F16C", "VAES", "AMX", "ASIMD", "FPHP", "SVE", "SME", "BF16", "I8MM"}

// SIMDFeatures returns the names of the CPU's vector features.
func SIMDFeatures() []string {
	return slices.DeleteFunc(cpuid.CPU.FeatureSet(), func(f string) bool {
		return !slices.ContainsFunc(simdPrefixes, func(p string) bool { return strings.HasPrefix(f, p) })
	})
}

// CacheSizes returns the bytes of one core's L2 cache and of the L3 cache. If the CPU does
// not report them, it returns common sizes.
func CacheSizes() (l2, l3 int) {
	l2, l3 = cpuid.CPU.Cache.L2, cpuid.CPU.Cache.L3
	if l2 <= 0 {
		l2 = 1 << 20
	}
	if l3 <= l2 {
		l3 = 32 << 20
	}
	return l2, l3
}

// MemoryBytes returns how many bytes measurements read from memory: several times L3, but at
// most 1 GB.
func MemoryBytes() int {
	_, l3 := CacheSizes()
	return min(max(4*l3, 256<<20), 1<<30)
}
