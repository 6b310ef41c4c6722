package main

import (
	"strings"
	"testing"
	"time"
)

func TestLinearReport(t *testing.T) {
	defer func(all []layer, d time.Duration) { layers, linearTime = all, d }(layers, linearTime)
	layers, linearTime = []layer{{17, 20, 30}, {1, 50, 64}}, time.Millisecond
	code, out, err := runCommand("-linear", "-threads", "1,2")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, err)
	}
	for _, want := range []string{"17 × 30 → 20", "1 × 64 → 50", "float16", "generic", "% of peak", "% of read"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
}
