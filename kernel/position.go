package kernel

import (
	"fmt"
	"math"
)

// maxPosition bounds positions, so that all distances fit an int32.
const maxPosition = 1 << 30

// each returns the value of batch row b in a slice that holds one value for all
// batch rows, one for each, or none, which is 0.
func each(values []int, b int) int {
	switch len(values) {
	case 0:
		return 0
	case 1:
		return values[0]
	}
	return values[b]
}

// checkPerBatch reports values that are neither one for all batch rows nor one
// for each, or out of range.
func checkPerBatch(arg, what string, values []int, batch, least, most int) error {
	if n := len(values); n != batch && n > 1 {
		return &ArgumentError{arg, fmt.Sprintf("%d values", n), fmt.Sprintf("one for all batch rows or one for each: %d", batch)}
	}
	for b, x := range values {
		if x < least || x > most {
			return &ArgumentError{arg, fmt.Sprintf("%s %d of batch row %d", what, x, b), fmt.Sprintf("%d to %d", least, most)}
		}
	}
	return nil
}

// addClamp adds where x is a position and y may be anything: sums beyond all
// positions are as good as the true ones, and fit an int of 32 bits.
func addClamp(x, y int) int {
	sum := int64(x) + min(max(int64(y), -1<<40), 1<<40)
	return int(min(max(sum, math.MinInt32), math.MaxInt32))
}
