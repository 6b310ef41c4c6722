package report

import (
	"fmt"
)

// Share returns a percentage with some decimals, or a dash if it cannot be relied on.
func Share(percent float64, ok bool) func(decimals int) string {
	return func(decimals int) string {
		if !ok {
			return "–"
		}
		return fmt.Sprintf("%.*f%%", decimals, percent)
	}
}
