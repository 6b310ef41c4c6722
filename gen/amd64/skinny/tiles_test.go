package skinny

import (
	"testing"

	"github.com/attn-go/attn/gen/amd64/emit"
)

// The tile for the queries that are left, of which there are more than in any tile, too, has the
// steps that its variant says.
func TestLeastOf(t *testing.T) {
	for _, isa := range []emit.ISA{emit.AVX2{}, emit.AVX512{}} {
		variants, _ := isa.SkinnyVariants()
		for _, v := range variants {
			for n := 1; n <= maxRows; n++ {
				if got, want := n >= leastOf(v), looksAhead(v, min(n, isa.SkinnyRows())); got != want {
					t.Errorf("%T %+v: %d queries: ahead is %v, want %v", isa, v, n, got, want)
				}
			}
		}
	}
}
