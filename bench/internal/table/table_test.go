package table

import (
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	var b strings.Builder
	Write(&b, "a\tb", "long\t", "c\td")
	if got, want := b.String(), "a     b\nlong\nc     d\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNumbers(t *testing.T) {
	for ns, want := range map[float64]string{
		12: "12 ns", 999.4: "999 ns", 999.6: "1.00 µs", 1500: "1.50 µs", 24771.9: "24.8 µs",
		999499: "999 µs", 14.13e6: "14.1 ms", 8.6e9: "8.60 s",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%g) = %q, want %q", ns, got, want)
		}
	}
	for x, want := range map[float64]string{1.234e-6: "1.23e-6", 0: "0", 1e-12: "1e-12"} {
		if got := Error(x); got != want {
			t.Errorf("Error(%g) = %q, want %q", x, got, want)
		}
	}
	if got := Ratio(3, 2) + Ratio(1, 0); got != "1.50-" {
		t.Errorf("ratios %q", got)
	}
	if got := GFLOPs(9.99) + " " + GFLOPs(10); got != "9.99 10.0" {
		t.Errorf("rates %q", got)
	}
}

func TestWrap(t *testing.T) {
	if got := Wrap([]string{"one", "two", "three"}, 8, "  "); got != "one two\n  three" {
		t.Errorf("Wrap = %q", got)
	}
}
