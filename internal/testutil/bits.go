package testutil

import (
	"math"
	"testing"
)

// Numbers without a literal.
var (
	NaN = float32(math.NaN())
	Inf = float32(math.Inf(1))
)

// SameBits reports whether x and y are equal to the bit, or both NaN.
func SameBits(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

// CheckBits fails the test unless got and want are of the same length and hold the
// same bits, or NaN. what names them in the message.
func CheckBits(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, x := range want {
		if !SameBits(got[i], x) {
			t.Fatalf("%s: [%d] is %v (%08x), want %v (%08x)", what, i, got[i], math.Float32bits(got[i]), x, math.Float32bits(x))
		}
	}
}
