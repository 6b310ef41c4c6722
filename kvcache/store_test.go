package kvcache_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// TestStoreOfDroppedTokens: tokens that were dropped before they were stored are not
// stored, and no page of another sequence is written to.
func TestStoreOfDroppedTokens(t *testing.T) {
	cache, err := kvcache.New(kvcache.Config{Heads: 1, HeadSize: 1, PageSize: 3, Pages: 4})
	if err != nil {
		t.Fatal(err)
	}
	rows := func(x ...float32) kernel.Tensor { return kernel.BHLD(x, 1, 1, len(x), 1) }
	first, second := cache.NewSequence(), cache.NewSequence()
	batch, err := cache.NewBatch(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(batch.Extend(5), first.DropBefore(3)); err != nil {
		t.Fatal(err)
	}
	other, err := cache.NewBatch(second) // takes the page that was dropped
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Append(rows(1000, 1001, 1002), rows(1000, 1001, 1002)); err != nil {
		t.Fatal(err)
	}
	if err := batch.Store(0, rows(0, 1, 2, 3, 4), rows(0, 1, 2, 3, 4)); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		batch *kvcache.Batch
		want  []float32
	}{{batch, []float32{3, 4}}, {other, []float32{1000, 1001, 1002}}} {
		k, v := x.batch.View(0)
		n := len(x.want)
		// Equal scores for all keys: the result is the mean of the values.
		out := make([]float32, 1)
		if err := kernel.Attention(kernel.BHLD(out, 1, 1, 1, 1), rows(0), k, v, nil); err != nil {
			t.Fatal(err)
		}
		mean := float32(0)
		for _, w := range x.want {
			mean += w / float32(n)
		}
		if !slices.Equal(out, []float32{mean}) {
			t.Errorf("the mean of the values is %v, want %v", out[0], mean)
		}
	}
}

// TestStoreIntoSharedRows: if the values of a layer are a part of its keys, storing values
// would overwrite keys; it is an error.
func TestStoreIntoSharedRows(t *testing.T) {
	memory := make([]float32, 4*8)
	keys := kernel.BHLD(memory, 1, 1, 4, 8)
	values := kernel.Strided(memory, [4]int{1, 1, 4, 4}, keys.Strides())
	cache, err := kvcache.NewWithMemory([]kernel.Tensor{keys}, []kernel.Tensor{values}, 0)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := cache.NewBatch(cache.NewSequence())
	if err != nil {
		t.Fatal(err)
	}
	ones := slices.Repeat([]float32{1}, 8)
	k, v := kernel.BHLD(ones, 1, 1, 1, 8), kernel.BHLD([]float32{9, 9, 9, 9}, 1, 1, 1, 4)
	if err := batch.Extend(1); err != nil {
		t.Fatal(err)
	}
	var wrong *kernel.Error
	if err := batch.Store(0, k, v); !errors.As(err, &wrong) || wrong.Arg() != "v" {
		t.Errorf("Store with v returned %v", err)
	}
	if slices.Contains(memory, 9) {
		t.Error("keys were overwritten")
	}
	if err := batch.Store(0, k, kernel.Tensor{}); err != nil {
		t.Error(err)
	}
}

// TestStoreFromCache: what lies in other pages of a cache's memory may be stored, and what lies
// in the page that is written to may not.
func TestStoreFromCache(t *testing.T) {
	for _, typed := range []kernel.Tensor{kernel.BHLD(make([]float32, 96), 2, 2, 4, 3), kernel.BHLD(make([]kernel.F16, 96), 2, 2, 4, 3)} {
		memory := make([]float32, 2*2*4*3) // of values, heads first: page 1 begins at 24
		for i := range memory {
			memory[i] = float32(i)
		}
		cache, err := kvcache.NewWithMemory([]kernel.Tensor{typed}, []kernel.Tensor{kernel.BHLD(memory, 2, 2, 4, 3)}, 0)
		if err != nil {
			t.Fatal(err)
		}
		first, second := cache.NewSequence(), cache.NewSequence()
		batch, err := cache.NewBatch(first)
		if err != nil {
			t.Fatal(err)
		}
		other, err := cache.NewBatch(second)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(batch.Extend(4), other.Extend(2)); err != nil {
			t.Fatal(err)
		}
		rows := func(at int) kernel.Tensor {
			return kernel.Strided(memory[at:], [4]int{1, 2, 2, 3}, [3]int{0, 12, 3})
		}
		var wrong *kernel.Error
		for _, at := range []int{24, 27} { // rows of its own alone; its last row and one after it
			for _, arg := range []string{"k", "v"} {
				k, v := rows(0), rows(0)
				if arg == "k" {
					k = rows(at)
				} else {
					v = rows(at)
				}
				if err := other.Store(0, k, v); !errors.As(err, &wrong) || wrong.Arg() != arg {
					t.Errorf("%s from %d: error %v, want one about %s", arg, at, err, arg)
				}
			}
		}
		if err := other.Store(0, rows(0), rows(3)); err != nil {
			t.Fatal(err)
		}
		if want := []float32{3, 4, 5, 6, 7, 8, 30, 31}; !slices.Equal(memory[24:32], want) {
			t.Errorf("page 1 begins with %v, want %v", memory[24:32], want)
		}
	}
}

// TestStoreSubnormal: a cache of float32 or bfloat16 stores +0 for numbers below 2^-126,
// and of integers no scales that are. The largest numbers are read back as finite ones.
func TestStoreSubnormal(t *testing.T) {
	const d = 6
	x := []float32{0x1p-126, 0x1p-127, -0x1p-149, -0x1.8p-126, 0x1.fffffcp-127, -3}
	for dtype, want := range map[kernel.DType][]float32{
		kernel.Float32: {0x1p-126, 0, 0, -0x1.8p-126, 0, -3}, kernel.BFloat16: {0x1p-126, 0, 0, -0x1.8p-126, 0x1p-126, -3},
	} {
		for _, layout := range []kvcache.PageLayout{kvcache.LayoutHND, kvcache.LayoutNHD} {
			got := stored(t, kvcache.Config{Heads: 2, HeadSize: d, PageSize: 3, Pages: 4, KeyType: dtype, ValueType: dtype, Layout: layout}, x)
			testutil.CheckBits(t, dtype.String(), got, want)
		}
	}
	for _, dtype := range []kernel.DType{kernel.Int8, kernel.Int4} {
		c := kvcache.Config{Heads: 2, HeadSize: d, PageSize: 3, Pages: 4, KeyType: dtype, ValueType: dtype}
		tiny := []float32{0x1p-124, -0x1p-125, 0x1p-130, 0, 0x1p-149, 0x1p-126}
		testutil.CheckBits(t, dtype.String(), stored(t, c, tiny), make([]float32, d))
		large := []float32{math.MaxFloat32, -math.MaxFloat32, 1, -1e38, 2e38, 0}
		for i, y := range stored(t, c, large) {
			if step := math.MaxFloat32 / 7; !(math.Abs(float64(y)-float64(large[i])) < step) {
				t.Errorf("%v: %v is read back as %v", dtype, large[i], y)
			}
		}
	}
}

// stored returns what x becomes, a value of all heads and of several tokens.
func stored(t *testing.T, c kvcache.Config, x []float32) []float32 {
	t.Helper()
	const tokens = 7
	cache, err := kvcache.New(c)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := cache.NewBatch(cache.NewSequence())
	if err != nil {
		t.Fatal(err)
	}
	rows := kernel.BHLD(slices.Repeat(x, c.Heads*tokens), 1, c.Heads, tokens, len(x))
	if err := batch.Append(rows, rows); err != nil {
		t.Fatal(err)
	}
	_, v := batch.View(0)
	var row []float32
	for h := range c.Heads {
		for l := range tokens {
			again := contracttest.Row(ptr(contracttest.Widened(v)), 0, h, l)
			if row != nil && !slices.Equal(row, again) {
				t.Fatalf("%v of head %d, token %d, and %v of another", again, h, l, row)
			}
			row = again
		}
	}
	return row
}

func ptr[E any](x E) *E { return &x }
