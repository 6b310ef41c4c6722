//go:build (amd64 || arm64) && !purego

package tier

import "github.com/klauspost/cpuid/v2"

// lacks reports that this CPU or its operating system lacks a feature, or that no such is known.
var lacks = func(feature string) bool {
	id := cpuid.ParseFeature(feature)
	return id == cpuid.UNKNOWN || !cpuid.CPU.Supports(id)
}
