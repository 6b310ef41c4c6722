package problem

import (
	"math"
	"strings"
	"testing"
)

func TestDifference(t *testing.T) {
	a, b := NewArray([4]int{2, 3, 4, 5}), NewArray([4]int{2, 3, 4, 5})
	if diff := Difference(&a, &b); diff != "" {
		t.Errorf("equal arrays differ: %s", diff)
	}
	b.Data[((1*3+2)*4+3)*5+4] = float32(math.Copysign(0, -1))
	diff := Difference(&a, &b)
	for _, want := range []string{"1 of 120", "b 1, h 2, i 3, d 4", "0x80000000", "0x00000000"} {
		if !strings.Contains(diff, want) {
			t.Errorf("%q does not contain %q", diff, want)
		}
	}
	for i := range a.Data {
		a.Data[i] = float32(math.NaN())
	}
	copy(b.Data, a.Data)
	if diff := Difference(&a, &b); diff != "" {
		t.Errorf("equal NaNs differ: %s", diff)
	}
}
