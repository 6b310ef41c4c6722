package kernel_test

import (
	"errors"
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

// TestKeyStartsChangeDuringCall: likewise for keys and values of every type, in tiles and
// in skinny kernels: memory behind the slice is not read.
func TestKeyStartsChangeDuringCall(t *testing.T) {
	const d, keys, beyond = 32, 50, 60
	for _, tier := range kernel.Tiers() {
		if !tier.Runs {
			continue
		}
		for _, queries := range []int{1, 100} {
			for _, dtype := range []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16, kernel.Int8} {
				starts := []int{0, keys / 2, keys}
				kv := changedKeys(dtype, (keys+beyond)*d, keys*d, starts, d)
				q, out := testutil.Floats(2*queries*d), make([]float32, 2*queries*d)
				x := func(s []float32) kernel.Tensor { return kernel.BHLD(s, 2, 1, queries, d) }
				value := func() (value any) {
					defer func() { value = recover() }()
					t.Log(kernel.Attention(x(out), x(q), kv, kv, kernel.Options{
						Exec: kernel.Exec{Tier: tier.Name, Threads: 1},
						Score: func(*kernel.ScoreTile) {
							for i := range starts {
								starts[i] = beyond + i
							}
						},
					}))
					return nil
				}()
				if value == nil {
					t.Errorf("%s, %d queries, %v: the call did not panic", tier.Name, queries, dtype)
				}
			}
		}
	}
}

// changedKeys returns a ragged tensor of the first visible elements of memory for n.
func changedKeys(dtype kernel.DType, n, visible int, starts []int, d int) kernel.Tensor {
	switch dtype {
	case kernel.Float16:
		return kernel.Ragged(make([]kernel.F16, n)[:visible:visible], starts, 1, d)
	case kernel.BFloat16:
		return kernel.Ragged(make([]kernel.BF16, n)[:visible:visible], starts, 1, d)
	case kernel.Int8:
		scales := kernel.BHLD(testutil.Filled(visible/d, 1), 1, 1, visible/d, 1)
		return kernel.BHLD(make([]int8, n)[:visible:visible], 1, 1, visible/d, d).Scaled(&scales).Ragged(starts)
	}
	return kernel.Ragged(make([]float32, n)[:visible:visible], starts, 1, d)
}

// TestScoreTileIsCopied: what a Score function does to the fields of its tile has no
// effect on later tiles and calls.
func TestScoreTileIsCopied(t *testing.T) {
	const d, n = 16, 40
	x := testutil.Floats(n * d)
	tensor := func(s []float32) kernel.Tensor { return kernel.BHLD(s, 1, 1, n, d) }
	mine := make([]kernel.ScoreRow, 64)
	for _, score := range []func(*kernel.ScoreTile){
		func(tile *kernel.ScoreTile) {
			if cap(tile.Scores) != tile.Keys*tile.Stride {
				t.Errorf("the scores have a capacity of %d for %d keys with stride %d", cap(tile.Scores), tile.Keys, tile.Stride)
			}
			tile.Rows, tile.Scores = mine, nil
		},
		func(*kernel.ScoreTile) {},
	} {
		out := make([]float32, n*d)
		if err := kernel.Attention(tensor(out), tensor(x), tensor(x), tensor(x), kernel.Options{Score: score}); err != nil {
			t.Fatal(err)
		}
	}
	for i, row := range mine {
		if row != (kernel.ScoreRow{}) {
			t.Fatalf("row %d of the caller's own slice was overwritten: %+v", i, row)
		}
	}
}

// TestPagedTwice: a view of pages, or a ragged one, is no memory of pages.
func TestPagedTwice(t *testing.T) {
	x := kernel.BHLD(make([]float32, 64), 2, 1, 4, 8)
	table := &kernel.PageTable{Pages: [][]int32{{0}}, Lengths: []int{4}}
	q, out := kernel.BHLD(make([]float32, 8), 1, 1, 1, 8), kernel.BHLD(make([]float32, 8), 1, 1, 1, 8)
	for _, keys := range []kernel.Tensor{x.Paged(table).Paged(table), kernel.Ragged(make([]float32, 64), []int{0, 4}, 1, 8).Paged(table)} {
		var wrong *kernel.ArgumentError
		if err := kernel.Attention(out, q, keys, keys, kernel.Options{}); !errors.As(err, &wrong) || wrong.Arg != "k" {
			t.Errorf("Attention returned %v", err)
		}
	}
}
