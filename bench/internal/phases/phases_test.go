package phases

import (
	"testing"
	"time"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/kernel"
)

// A call of many scores spends its time in the products, and all shares are of one whole.
func TestSplit(t *testing.T) {
	const heads, n, d = 2, 256, 64
	x := kernel.BHLD(numbers.Normals(heads*n*d), 1, heads, n, d)
	out := kernel.BHLD(make([]float32, heads*n*d), 1, heads, n, d)
	o := kernel.Options{Exec: kernel.Exec{Threads: 1}}
	ns, shares, err := Split(t.Context(), func() error { return kernel.Attention(out, x, x, x, &o) }, 400*time.Millisecond)
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	if ns <= 0 || sum < 0.999 || sum > 1.001 || shares["scores"] == 0 || shares["values"] == 0 || shares["scores"]+shares["values"] < 0.4 {
		t.Errorf("%.0f ns, %v", ns, shares)
	}
}
