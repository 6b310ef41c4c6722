package report

import (
	"fmt"

	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/table"
)

// Line returns a result in one line.
func Line(r results.Speed) string {
	line := fmt.Sprintf("%s %s threads=%d: %s, %s GFLOP/s", label(r.Shape, r.Alias), r.Tier, r.Threads, table.Duration(r.Ns), table.GFLOPs(r.GFLOPs))
	if percent, ok := r.Share(); ok {
		return line + fmt.Sprintf(", %.1f%% of peak", percent)
	}
	return line + ", no share: the peak varied"
}

// label returns the name of a shape, with its alias if it has one.
func label(shape, alias string) string {
	if alias == "" {
		return shape
	}
	return shape + " (" + alias + ")"
}
