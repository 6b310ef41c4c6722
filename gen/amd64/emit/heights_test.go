package emit

import (
	"math/bits"
	"testing"
)

// TestHeightCodes compares each code with what it is compared with, as CMPQ does, and counts the
// rows after the least ones that are not jumped over: JEQ, JPS, JCC, JPL and JOC, in this order.
func TestHeightCodes(t *testing.T) {
	for want, code := range heightCodes {
		y := int64(heightsCompared)
		d := code - y
		absent := []bool{d == 0, bits.OnesCount8(uint8(d))%2 == 0, uint64(code) >= uint64(y), d >= 0, (code^y)&(code^d) >= 0}
		got := 0
		for got < len(absent) && !absent[got] {
			got++
		}
		if got != want {
			t.Errorf("%#x: %d more rows, want %d", code, got, want)
		}
	}
}
