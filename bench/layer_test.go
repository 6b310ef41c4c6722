package main

import (
	"strings"
	"testing"
	"time"
)

func TestLayerReport(t *testing.T) {
	defer func(m []multiHead, a []additive, d time.Duration) { multiHeads, additives, layerTime = m, a, d }(multiHeads, additives, layerTime)
	multiHeads, additives, layerTime = []multiHead{{2, 5, 8, 2}}, []additive{{2, 1, 20, 8, 4}}, time.Millisecond
	code, out, err := runCommand("-layer", "-threads", "1,2", "-tiers", "generic")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, err)
	}
	for _, want := range []string{"2 × 5 × 8, 2", "[2, 1, 8], 20, 4", "generic", "% of peak", "ns/tanh"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
}
