package emit

import (
	"math/bits"
	"testing"
)

// TestHeightCodes compares each code with what it is compared with, as CMPB does, and counts the rows after the least
// ones that are not jumped over: JEQ, JPS, JCC, JPL and JOC, in this order.
func TestHeightCodes(t *testing.T) {
	for want, code := range heightCodes {
		x, y := uint8(code), uint8(heightsCompared)
		d := x - y
		absent := []bool{d == 0, bits.OnesCount8(d)%2 == 0, x >= y, d < 0x80, (x^y)&(x^d) < 0x80}
		got := 0
		for got < len(absent) && !absent[got] {
			got++
		}
		if got != want {
			t.Errorf("%#x: %d more rows, want %d", code, got, want)
		}
	}
}
