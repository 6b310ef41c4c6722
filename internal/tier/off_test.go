package tier

import (
	"slices"
	"strings"
	"testing"
)

// TestReadFeatures: every item is used, or the whole variable is ignored with the item named.
func TestReadFeatures(t *testing.T) {
	for _, value := range []string{"", " ", ","} {
		if off, bad := readFeatures(value); off != nil || bad != "" {
			t.Errorf("%q: %v, %q", value, off, bad)
		}
	}
	for _, item := range []string{"nonsense=off", "avx2", "avx2=on", "=off", "V = off"} {
		if off, bad := readFeatures(item); off != nil || !strings.Contains(bad, item) || !strings.Contains(bad, "want NAME=off") {
			t.Errorf("%q: %v, %q", item, off, bad)
		}
	}
	for _, item := range []string{"avx512vnni=off", "FMA3=off", "v=off"} {
		name, _, _ := strings.Cut(strings.ToUpper(item), "=")
		if !isFeature(name) {
			continue // on another architecture
		}
		if off, bad := readFeatures(" " + item + " ,"); !slices.Equal(off, []string{name}) || bad != "" {
			t.Errorf("%q: %v, %q", item, off, bad)
		}
		if off, bad := readFeatures(item + ",nonsense=off"); off != nil || bad == "" {
			t.Errorf("%q with a bad item: %v, %q", item, off, bad)
		}
	}
}

// TestTiersCanBeOff: each assembly tier has a feature that switches it off.
func TestTiersCanBeOff(t *testing.T) {
	before := Off
	defer func() { Off = before }()
	for i, tier := range archTiers() {
		Off = []string{map[string]string{"avx512": "AVX512DQ", "avx2": "FMA3", "neon": "ASIMD", "rvv": "V"}[tier.Name]}
		if lacks := archTiers()[i].Lacks(); !strings.Contains(lacks, Off[0]+" (off by ATTN_FEATURES)") {
			t.Errorf("%s with %s off lacks %q", tier.Name, Off[0], lacks)
		}
	}
}
