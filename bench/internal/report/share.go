package report

import (
	"fmt"
	"io"

	"github.com/attn-go/attn/bench/internal/results"
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

// explainShares says what a dash in place of a share means, if a table has one.
func explainShares(w io.Writer, missing bool) {
	if missing {
		fmt.Fprintf(w, "–: no share, as what limits the calls varied by more than %.0f%% between them, or was less than they reached.\n", 100*results.MostSpread)
	}
}

// share returns a share for a line of Go's benchmark format, none if it cannot be relied on.
func share(unit string, of func() (percent float64, ok bool)) []value {
	if percent, ok := of(); ok {
		return []value{{percent, unit}}
	}
	return nil
}
