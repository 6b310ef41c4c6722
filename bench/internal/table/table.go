// Package table prints aligned tables, and the numbers in them with three digits.
package table

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// Write prints rows of cells in aligned columns. Tabs separate the cells of a row.
func Write(w io.Writer, rows ...string) {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(tw, r)
	}
	tw.Flush()
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

// Wrap joins words by spaces into lines of about width characters. All lines but the
// first are indented.
func Wrap(words []string, width int, indent string) string {
	var b strings.Builder
	line := 0
	for i, word := range words {
		switch {
		case i == 0:
		case line+1+len(word) > width:
			b.WriteString("\n" + indent)
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String()
}

// Duration formats nanoseconds with three digits and a unit.
func Duration(ns float64) string {
	for _, u := range []struct {
		unit string
		size time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if x := ns / float64(u.size); x >= 0.9995 {
			return fmt.Sprintf("%.*f %s", decimals(x), x, u.unit)
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// decimals returns how many decimals of x, at least 1, make three significant digits.
func decimals(x float64) int {
	switch {
	case x >= 99.95:
		return 0
	case x >= 9.995:
		return 1
	}
	return 2
}

// GFLOPs formats a rate with one decimal, or two if it is below 10.
func GFLOPs(rate float64) string {
	if rate >= 10 {
		return fmt.Sprintf("%.1f", rate)
	}
	return fmt.Sprintf("%.2f", rate)
}

// Error formats a small number with three digits, such as 1.23e-6.
func Error(x float64) string {
	return strings.Replace(fmt.Sprintf("%.3g", x), "e-0", "e-", 1)
}

// Ratio formats a/b with two decimals, or returns "-" if it is not finite.
func Ratio(a, b float64) string {
	if b == 0 || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}
