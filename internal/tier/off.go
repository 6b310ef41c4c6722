package tier

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Off are the CPU features that ATTN_FEATURES switches off, and BadFeatures says why the variable
// is ignored, "" if it is not. It is read once.
var Off, BadFeatures = readFeatures(os.Getenv("ATTN_FEATURES"))

// readFeatures reads items with commas between, as GODEBUG has them: avx512vnni=off.
func readFeatures(value string) (off []string, bad string) {
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, state, _ := strings.Cut(item, "=")
		if name = strings.ToUpper(name); state != "off" || !isFeature(name) {
			return nil, fmt.Sprintf("%q: want NAME=off, with a CPU feature of %s", item, featureNames)
		}
		off = append(off, name)
	}
	return off, ""
}

// lacks tells whether kernels cannot use a feature of the CPU: it or its operating system does not
// have it, or the feature is switched off.
var lacks = func(feature string) bool {
	return slices.Contains(Off, feature) || hostLacks(feature)
}

// lacking returns a function that names the features that lack.
func lacking(features ...string) func() string {
	var missing []string
	for _, f := range features {
		switch {
		case slices.Contains(Off, f):
			missing = append(missing, f+" (off by ATTN_FEATURES)")
		case lacks(f):
			missing = append(missing, f)
		}
	}
	reason := ""
	if missing != nil {
		reason = "the CPU lacks " + strings.Join(missing, ", ")
	}
	return func() string { return reason }
}
