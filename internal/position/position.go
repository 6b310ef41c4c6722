// Package position computes with the absolute positions of queries and keys and
// with values that are given per batch row.
package position

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
)

// Max bounds positions, so that all distances fit an int32.
const Max = 1 << 30

// Of returns the value of batch row b in a slice that holds one value for all batch
// rows, one for each, or none, which means 0.
func Of(values []int, b int) int {
	switch len(values) {
	case 0:
		return 0
	case 1:
		return values[0]
	}
	return values[b]
}

// Fits tells whether there is one value for all batch rows, one for each, or none.
func Fits(values []int, batch int) bool { return len(values) <= 1 || len(values) == batch }

// Check reports values that are neither one for all batch rows nor one for each, or
// not within least to most. An empty slice passes; it means 0.
func Check(arg, what string, values []int, batch, least, most int) *check.Failure {
	if !Fits(values, batch) {
		return &check.Failure{Where: arg, Got: fmt.Sprintf("%d values", len(values)), Want: fmt.Sprintf("one for all batch rows or one for each: %d", batch)}
	}
	for b, x := range values {
		if x < least || x > most {
			return &check.Failure{Where: arg, Got: fmt.Sprintf("%s %d of batch row %d", what, x, b), Want: fmt.Sprintf("%d to %d", least, most)}
		}
	}
	return nil
}

// AddClamp returns x+y for a position x and any y, limited to the range of an
// int32: beyond all positions the exact sum does not matter.
func AddClamp(x, y int) int {
	sum := int64(x) + min(max(int64(y), -1<<40), 1<<40)
	return int(min(max(sum, math.MinInt32), math.MaxInt32))
}
