package kernel_test

import (
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// TestStartsChangeDuringCall: a program that changes the starts of a ragged tensor
// during a call breaks the rules, but no memory outside of its slices is touched: the
// call panics as an index out of range does.
func TestStartsChangeDuringCall(t *testing.T) {
	const d, tokens, beyond = 32, 48, 64
	for _, tier := range kernel.Tiers() {
		if !tier.Runs {
			continue
		}
		for _, starts := range [][]int{{0, tokens}, {0, 1, tokens}} {
			memory := testutil.Filled((tokens+beyond)*d, 12345)
			out := memory[:tokens*d]
			x := testutil.Floats(tokens * d)
			changed := append([]int(nil), starts...)
			ragged := func(s []float32) kernel.Tensor { return kernel.Ragged(s, changed, 1, d) }
			value := func() (value any) {
				defer func() { value = recover() }()
				// K and V are not ragged: only the rows of q and out move.
				keys := kernel.BHLD(x, len(starts)-1, 1, tokens/(len(starts)-1), d)
				t.Log(kernel.Attention(ragged(out), ragged(x), keys, keys, kernel.Options{
					Exec: kernel.Exec{Tier: tier.Name, Threads: 1},
					Score: func(*kernel.ScoreTile) {
						for i := range changed {
							changed[i] = starts[i] + beyond/2
						}
					},
				}))
				return nil
			}()
			if text, ok := value.(string); !ok || !strings.Contains(text, "changed during the call") {
				t.Errorf("%s: the call panicked with %v", tier.Name, value)
			}
			for i, y := range memory[len(out):] {
				if y != 12345 {
					t.Fatalf("%s: element %d behind out was overwritten", tier.Name, i)
				}
			}
		}
	}
}
