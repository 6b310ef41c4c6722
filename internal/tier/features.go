//go:build (amd64 || arm64) && !purego

package tier

import (
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// lacks reports that this CPU or its operating system lacks a feature, or that no such is known.
var lacks = func(feature string) bool {
	id := cpuid.ParseFeature(feature)
	return id == cpuid.UNKNOWN || !cpuid.CPU.Supports(id)
}

// lacking returns a function that names those of the features that the CPU lacks.
func lacking(features ...string) func() string {
	var missing []string
	for _, f := range features {
		if lacks(f) {
			missing = append(missing, f)
		}
	}
	reason := ""
	if missing != nil {
		reason = "the CPU lacks " + strings.Join(missing, ", ")
	}
	return func() string { return reason }
}
