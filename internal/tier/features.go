//go:build (amd64 || arm64) && !purego

package tier

import "github.com/klauspost/cpuid/v2"

// featureNames says what the names of features are.
const featureNames = "klauspost/cpuid"

// isFeature tells whether a feature has that name.
func isFeature(name string) bool { return cpuid.ParseFeature(name) != cpuid.UNKNOWN }

// hostLacks tells whether this CPU or its operating system lacks a feature, or no such is known.
func hostLacks(feature string) bool {
	id := cpuid.ParseFeature(feature)
	return id == cpuid.UNKNOWN || !cpuid.CPU.Supports(id)
}
