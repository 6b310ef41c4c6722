package kvcache_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// TestTreeIsTokenByToken: a step with a tree of drafted tokens, of which Keep keeps one path, has
// the outputs of this path's tokens and leaves the sequence as if they had come one by one: to the
// last bit, in each type, across blocks of 256 keys and pages, with a window and without, and
// beside a sequence that takes a shorter tree.
func TestTreeIsTokenByToken(t *testing.T) {
	for n, dtype := range contracttest.KeyTypes() {
		for _, past := range []int{0, 30, 253} {
			for _, window := range []int{0, 40} {
				c := smallConfig()
				c.Layers, c.KeyType, c.ValueType, c.Window, c.Layout = 1, dtype, dtype, window, kvcache.PageLayout(n%2)
				t.Run(fmt.Sprintf("%v/past=%d/window=%d", dtype, past, window), func(t *testing.T) {
					contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) { draftTree(t, c, past, tier) })
				})
			}
		}
	}
}

func draftTree(t *testing.T, config kvcache.Config, past int, tier kernel.Tier) {
	const heads = 6
	parents := []int32{-1, 0, 0, -1, 2, 2, 5, 1}
	path := []int{0, 2, 5, 6} // the accepted one
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r := testutil.Rand(uint64(past))
	rows := func(h, n, d int) kernel.Tensor {
		x := make([]float32, h*n*d)
		r.Fill(x)
		return kernel.BLHD(x, 1, n, h, d)
	}
	cache, err := kvcache.New(config)
	must(err)
	tree, single := cache.NewSequence(), cache.NewSequence()
	step := func(s *kvcache.Sequence, q, k, v kernel.Tensor, parents []int32) kernel.Tensor {
		t.Helper()
		batch, err := cache.NewBatch(s)
		must(err)
		must(batch.Append(k, v))
		out := kernel.BLHD(make([]float32, q.Shape()[2]*heads*config.ValueSize), 1, q.Shape()[2], heads, config.ValueSize)
		keys, values := batch.View(0)
		o := kernel.Options{Exec: kernel.Exec{Tier: tier}, Scoring: batch.Scoring()}
		o.Parents = parents
		must(kernel.Attention(out, q, keys, values, &o))
		return out
	}
	if past > 0 {
		k, v, q := rows(config.Heads, past, config.HeadSize), rows(config.Heads, past, config.ValueSize), rows(heads, past, config.HeadSize)
		step(tree, q, k, v, nil)
		step(single, q, k, v, nil)
	}
	n := len(parents)
	q, k, v := rows(heads, n, config.HeadSize), rows(config.Heads, n, config.HeadSize), rows(config.Heads, n, config.ValueSize)
	all := step(tree, q, k, v, parents)
	batch, err := cache.NewBatch(tree)
	must(err)
	positions, err := batch.TreePositions(parents)
	must(err)
	same := func(token int) { // the outputs of the next token of a sequence
		t.Helper()
		part := func(x *kernel.Tensor) kernel.Tensor { return contracttest.Rows(*x, token, token+1) }
		if positions[token] != single.Len() {
			t.Errorf("token %d has position %d, want %d", token, positions[token], single.Len())
		}
		want, got := step(single, part(&q), part(&k), part(&v), nil), part(&all)
		contracttest.Same(t, fmt.Sprint("token ", token), &got, &want)
	}
	for _, token := range path {
		same(token)
	}
	must(tree.Keep(path))
	for range 2 {
		q, k, v := rows(heads, 1, config.HeadSize), rows(config.Heads, 1, config.HeadSize), rows(config.Heads, 1, config.ValueSize)
		got, want := step(tree, q, k, v, nil), step(single, q, k, v, nil)
		contracttest.Same(t, "after Keep", &got, &want)
	}
	unevenTrees(t, config)
}

// unevenTrees: sequences take trees of different sizes in one step, the shorter one with parents
// for rows that nobody reads.
func unevenTrees(t *testing.T, config kvcache.Config) {
	cache, err := kvcache.New(config)
	if err != nil {
		t.Fatal(err)
	}
	r := testutil.Rand(9)
	tensor := func(b, h, n, d int) kernel.Tensor {
		x := make([]float32, b*h*n*d)
		r.Fill(x)
		return kernel.BHLD(x, b, h, n, d)
	}
	a, b := cache.NewSequence(), cache.NewSequence()
	batch, err := cache.NewBatch(a, b)
	if err == nil {
		err = batch.Extend(20, 9)
	}
	if err == nil {
		err = batch.Store(0, tensor(2, config.Heads, 20, config.HeadSize), tensor(2, config.Heads, 20, config.ValueSize))
	}
	if err == nil {
		err = batch.Extend(5, 2)
	}
	if err == nil {
		err = batch.Store(0, tensor(2, config.Heads, 5, config.HeadSize), tensor(2, config.Heads, 5, config.ValueSize))
	}
	if err != nil {
		t.Fatal(err)
	}
	parents := []int32{-1, 0, 0, 2, 1, -1, 0, 1, 1, 1}
	q, out := tensor(2, 2, 5, config.HeadSize), tensor(2, 2, 5, config.ValueSize)
	k, v := batch.View(0)
	o := kernel.Options{Scoring: batch.Scoring()}
	o.Parents = parents
	if err := kernel.Attention(out, q, k, v, &o); err != nil {
		t.Fatal(err)
	}
	for i, n := range []int{5, 2} { // alone
		one, err := cache.NewBatch([]*kvcache.Sequence{a, b}[i])
		if err != nil {
			t.Fatal(err)
		}
		k, v := one.View(0)
		o := kernel.Options{Scoring: one.Scoring()}
		o.Parents = parents[5*i:][:n]
		part := func(x kernel.Tensor) kernel.Tensor { return contracttest.Rows(contracttest.Batch(x, i), 0, n) }
		want := kernel.BHLD(make([]float32, 2*n*config.ValueSize), 1, 2, n, config.ValueSize)
		if err := kernel.Attention(want, part(q), k, v, &o); err != nil {
			t.Fatal(err)
		}
		got := part(out)
		contracttest.Same(t, fmt.Sprintf("sequence %d of a batch", i), &got, &want)
	}
}

// TestTreePositions: a token has the position after its parent, in the tree of its own sequence.
func TestTreePositions(t *testing.T) {
	cache, err := kvcache.New(smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	long, short := cache.NewSequence(), cache.NewSequence()
	batch, err := cache.NewBatch(long)
	if err == nil {
		err = batch.Extend(3)
	}
	if err == nil {
		batch, err = cache.NewBatch(long, short)
	}
	if err == nil {
		err = batch.Extend(4, 4)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		parents []int32
		want    []int
	}{{[]int32{-1, 0, 0, 2}, []int{3, 4, 4, 5, 0, 1, 1, 2}}, {[]int32{-1, 0, 0, 2, -1, -1, 1, 2}, []int{3, 4, 4, 5, 0, 0, 1, 2}}} {
		if got, err := batch.TreePositions(test.parents); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, %v, want %v", test.parents, got, err, test.want)
		}
	}
}
