package numeric_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/numeric"
)

// TestLargest compares Argmax and TopK with a stable sort, with ties, infinities and NaN.
func TestLargest(t *testing.T) {
	var r testutil.Rand
	for n := range 200 {
		x := make([]float32, n%23)
		for i := range x {
			x[i] = float32(r.IntN(7))
			switch r.IntN(12) {
			case 0:
				x[i] = testutil.NaN
			case 1:
				x[i] = -testutil.Inf
			}
		}
		all := make([]int, len(x))
		for i := range all {
			all[i] = i
		}
		slices.SortStableFunc(all, func(i, j int) int {
			switch a, b := x[i], x[j]; {
			case a > b || a == a && b != b:
				return -1
			case b > a || b == b && a != a:
				return 1
			}
			return 0
		})
		for k := range len(x) + 1 {
			dst := make([]int, k)
			if err := numeric.TopK(dst, x); err != nil || !slices.Equal(dst, all[:k]) {
				t.Fatalf("TopK %d of %v: %v, %v, want %v", k, x, dst, err, all[:k])
			}
		}
		want := -1
		if len(x) > 0 && x[all[0]] == x[all[0]] {
			want = all[0]
		}
		if got := numeric.Argmax(x); got != want {
			t.Fatalf("Argmax of %v: %d, want %d", x, got, want)
		}
	}
	contracttest.CheckArgument(t, "too many", numeric.TopK(make([]int, 3), make([]float32, 2)), "dst", "at most 2")
}

// The three most probable tokens.
func ExampleTopK() {
	logits := []float32{0.5, 3, -1, 3, 2}
	top := make([]int, 3)
	err := numeric.TopK(top, logits)
	fmt.Println(numeric.Argmax(logits), top, err)

	// Output: 1 [1 3 4] <nil>
}
