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
