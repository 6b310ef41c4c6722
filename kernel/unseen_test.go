package kernel_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// beforeFence returns twice as many elements as some that lie before an inaccessible memory page,
// which begins where the second half does.
func beforeFence[E any](t *testing.T, some []E) []E {
	bytes := len(view.BytesOf(some))
	room := ints.RoundUp(bytes, os.Getpagesize())
	mem := testutil.GuardedRegion(t, 2*room)
	all := testutil.Typed[E](mem[room-bytes : room+bytes])
	copy(all, some)
	testutil.Fence(t, mem[room:])
	return all
}

// TestUnseenKeys: kernels that take whole groups of columns, more than a key has, read no number of
// a key that no query sees.
func TestUnseenKeys(t *testing.T) {
	const d = 24
	for _, keys := range []int{20, 64, 300} {
		for _, heads := range []int{1, 2} {
			n := keys * heads
			halves, codes := make([]kernel.BF16, n*d), make([]int8, n*d)
			for i, x := range testutil.Floats(n * d) {
				halves[i], codes[i] = kernel.BF16(scalar.ToBF16(scalar.RoundBF16(x))), int8(100*x)
			}
			scales := testutil.Floats(2 * n)
			of := func(rows int, halves []kernel.BF16, codes []int8) map[string]kernel.Tensor {
				s := kernel.BLHD(scales, 1, rows, heads, 1)
				return map[string]kernel.Tensor{"BFloat16": kernel.BLHD(halves, 1, rows, heads, d), "DynamicInt12": kernel.BLHD(codes, 1, rows, heads, d).Scaled(&s)}
			}
			seen, all := of(keys, halves, codes), of(2*keys, beforeFence(t, halves), beforeFence(t, codes))
			contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
				for name, x := range seen {
					for _, queries := range []int{1, 3, 40} {
						testUnseenKeys(t, fmt.Sprintf("%s, %d keys, %d heads, %d queries", name, keys, heads, queries), x, all[name], queries,
							kernel.Options{Exec: kernel.Exec{Tier: tier, Threads: 1}, Scoring: kernel.Scoring{BFloat16: name == "BFloat16", DynamicInt12: name != "BFloat16"}})
					}
				}
			})
		}
	}
}

// testUnseenKeys tests all, whose first half are the keys of seen.
func testUnseenKeys(t *testing.T, what string, seen, all kernel.Tensor, queries int, o kernel.Options) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if err := recover(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}()
	heads, keys, d := seen.Shape()[1], seen.Shape()[2], seen.Shape()[3]
	q := kernel.BHLD(testutil.Floats(heads*queries*d), 1, heads, queries, d)
	attention := func(k, v kernel.Tensor) kernel.Tensor {
		out := kernel.BHLD(make([]float32, heads*queries*d), 1, heads, queries, d)
		if err := kernel.Attention(out, q, k, v, &o); err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := attention(seen, seen)
	for _, o.Mask = range []kernel.Mask{kernel.KeyLengths([]int{keys}), kernel.BlockSparse([]bool{true, false}, queries, keys)} {
		got := attention(all, all)
		contracttest.Same(t, what, &got, &want)
	}
}
