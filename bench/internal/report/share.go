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

// share returns a share for a line of Go's benchmark format, none if it cannot be relied on.
func share(unit string, of func() (percent float64, ok bool)) []value {
	if percent, ok := of(); ok {
		return []value{{percent, unit}}
	}
	return nil
}
