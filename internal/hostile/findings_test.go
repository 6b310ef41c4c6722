package hostile

import (
	"errors"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/retrieval"
	"github.com/attn-go/attn/rope"
)

// TestFindings are calls that once panicked, did not return or ended the program, as it
// ran out of memory. Now each returns what it has to.
func TestFindings(t *testing.T) {
	one := make([]float32, 4)
	huge := big(62)
	for _, test := range []struct {
		name      string
		arg, want string // of the error; "" if there is none
		call      func() error
	}{
		{"a cache of 2^46 elements", "Config", "fits memory and", func() error {
			_, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1 << 20, PageSize: 1 << 16, Pages: 1 << 10})
			return err
		}},
		{"a cache of 2^30 layers without pages", "Config.Layers", "1 to", func() error {
			_, err := kvcache.New(kvcache.Config{Layers: 1 << 30, Heads: 1, HeadSize: 1})
			return err
		}},
		{"a cache of 2^31-1 pages without heads", "keys", "head", func() error {
			memory := []kernel.Tensor{kernel.BHLD([]float32{}, math.MaxInt32, 0, 1, 1)}
			_, err := kvcache.NewWithMemory(memory, memory, 0)
			return err
		}},
		{"Extend by more pages than an int counts", "", "", func() error {
			cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 1, Pages: 4})
			if err != nil {
				return err
			}
			b, err := cache.NewBatch(cache.NewSequence(), cache.NewSequence(), cache.NewSequence())
			if err != nil {
				return err
			}
			if err := b.Extend(1 << 30); err == nil {
				t.Error("a cache of 4 pages has room for 3·2^30 tokens")
			} else if undocumented(err) != "" {
				return err
			}
			return b.Extend(1)
		}},
		{"a linear layer of 2^46 rows that are one", "w", "memory", func() error {
			_, err := linear.New(linear.StridedMatrix(one, big(46), 1, 0, 1), nil, kernel.Exec{})
			return err
		}},
		{"a linear layer of 2^46 columns that are one", "w", "memory", func() error {
			_, err := linear.New(linear.StridedMatrix(one, 1, big(46), 1, 0), nil, kernel.Exec{})
			return err
		}},
		{"a linear layer of 2^40 outputs without inputs", "w", "memory", func() error {
			_, err := linear.New(linear.DenseMatrix(one, big(40), 0), nil, kernel.Exec{})
			return err
		}},
		{"partials of MaxInt blocks", "blocks", "fits memory and", func() error {
			_, err := kernel.NewPartials(math.MaxInt, 1, 1, 1, 1)
			return err
		}},
		{"partials of 2^40 numbers", "blocks", "fits memory and", func() error {
			_, err := kernel.NewPartials(1, 1, 1, 1, big(40))
			return err
		}},
		{"a merge of no rows of 2^50", "", "", func() error {
			return kernel.MergePartials(kernel.BHLD(one, 1, 1, 0, big(50)), nil, kernel.MergeOptions{})
		}},
		{"a merge of 2^62 batch rows without queries", "", "", func() error {
			return kernel.MergePartials(kernel.BHLD(one, huge, 1, 0, 1), nil, kernel.MergeOptions{})
		}},
		{"the zero Rope", "the Rope", "New", func() error {
			return new(rope.Rope).Apply(kernel.BHLD(floats(4), 1, 1, 1, 4), []int{1}, kernel.Exec{})
		}},
		{"a rope for 2^62 batch rows without tokens", "", "", func() error {
			r, err := rope.New(rope.Config{Dims: 2})
			if err != nil {
				return err
			}
			return r.Apply(kernel.BHLD(one, huge, 1, 0, 2), nil, kernel.Exec{})
		}},
		{"a rope for 2^62 tokens without heads", "positions", "one per row", func() error {
			r, err := rope.New(rope.Config{Dims: 2})
			if err != nil {
				return err
			}
			return r.Apply(kernel.BHLD(one, huge, 0, 4, 2), nil, kernel.Exec{})
		}},
		{"a rope for 2^62 batch rows without heads", "", "", func() error {
			r, err := rope.New(rope.Config{Dims: 2})
			if err != nil {
				return err
			}
			return r.Apply(kernel.BHLD(one, huge, 0, 4, 2), make([]int, 4), kernel.Exec{})
		}},
		{"a weighted sum for 2^62 batch rows without queries", "", "", func() error {
			return layer.WeightedSum(kernel.BHLD(one, huge, 1, 0, 1), kernel.BHLD(one, huge, 1, 0, 1), kernel.Strided(one, [4]int{huge, 1, 1, 1}, [3]int{}), kernel.Exec{})
		}},
		{"a weighted sum of no rows of 2^50", "", "", func() error {
			return layer.WeightedSum(kernel.BHLD(one, 1, 0, 1, big(50)), kernel.BHLD(one, 1, 0, 1, 1), kernel.BHLD(one, 1, 0, 1, big(50)), kernel.Exec{})
		}},
		{"cosines for 2^62 batch rows without queries", "", "", func() error {
			return layer.Cosine{}.Attend(kernel.BHLD(one, huge, 1, 0, 1), kernel.BHLD(one, huge, 1, 0, 1),
				kernel.BHLD(one, huge, 1, 0, 1), kernel.BHLD(one, huge, 1, 0, 1), nil)
		}},
		{"scores for 2^28 keys in no memory", "dst", "a slice of at least", func() error {
			return layer.Scores(kernel.BHLD(one, 1, 1, 1, 1<<28), kernel.BHLD(floats(2), 1, 1, 1, 2),
				kernel.Strided(floats(2), [4]int{1, 1, 1 << 28, 2}, [3]int{}), layer.Dot{}, nil)
		}},
		{"scores for keys of 2^28 that there are none of", "q", "memory for B·H·Lq", func() error {
			q := kernel.Strided(one, [4]int{1, 1, 1 << 20, 1}, [3]int{})
			return layer.Scores(kernel.BHLD(one, 1, 1, 1<<20, 0), q, kernel.BHLD(one, 1, 1, 0, 1<<28), layer.Dot{}, nil)
		}},
		{"a query of 2^26 numbers that are few, beside little memory", "query", "fits memory and", func() error {
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(128 << 20))
			few := floats(retrieval.MostSize)
			q := kernel.Strided(few, [4]int{1, 1, retrieval.MostTokens, retrieval.MostSize}, [3]int{})
			return retrieval.MaxSim(make([]float32, 2), q, kernel.Strided(few, [4]int{2, 1, 1, retrieval.MostSize}, [3]int{}), kernel.Exec{})
		}},
		{"segments of 2^62 batch rows without keys", "", "", func() error {
			none := kernel.BHLD(one, huge, 1, 0, 1)
			return kernel.Attention(none, none, none, none, &kernel.Options{Scoring: kernel.Scoring{Mask: kernel.Segments(nil, nil)}})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := newCaller().try(t, func() string { return "the call" }, test.call)
			if test.arg != "" {
				refused(t, "the call", err, test.arg, test.want)
				if isMemory := strings.Contains(test.want, "memory "); errors.Is(err, kernel.ErrMemory) != isMemory || errors.Is(err, kernel.ErrArgument) == isMemory {
					t.Errorf("the call: the error is of the kind %q", errors.Unwrap(err))
				}
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestScoreTileRows: a function that assigns the rows of its tile keeps its own slice. Once
// the engine took that slice for the rows of later tiles.
func TestScoreTileRows(t *testing.T) {
	const queries, keys = 70, 600
	mine := make([]kernel.ScoreRow, 64)
	for i := range mine {
		mine[i].Head = -1
	}
	hook := func(tile *kernel.ScoreTile) { tile.Rows, tile.Scores = mine[:0], nil }
	x := kernel.BHLD(floats(2*keys*4), 1, 2, keys, 4)
	for _, n := range []int{1, queries} {
		q := kernel.BHLD(floats(2*n*4), 1, 2, n, 4)
		out := kernel.BHLD(make([]float32, 2*n*4), 1, 2, n, 4)
		for range 3 {
			if err := kernel.Attention(out, q, x, x, &kernel.Options{Scoring: kernel.Scoring{Score: hook}, Exec: kernel.Exec{Threads: 1}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range mine {
		if mine[i] != (kernel.ScoreRow{Head: -1}) {
			t.Fatalf("row %d is %v: a later call has overwritten it", i, mine[i])
		}
	}
}
