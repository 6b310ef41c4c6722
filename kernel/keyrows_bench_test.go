package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// BenchmarkKeyRows compares lists of random rows with as many keys in a row, for a query of 1 or 8
// heads for each key head. Neither finds its keys in L2 again.
func BenchmarkKeyRows(b *testing.B) {
	const d, hkv = 128, 2
	r := testutil.Rand(1)
	for _, dtype := range contracttest.KeyTypes() {
		for _, keys := range []int{4 << 10, 32 << 10} {
			c := contracttest.Case{B: 1, H: hkv, HKV: hkv, Lq: 1, Lk: keys, D: d, Dv: d}.With(contracttest.TypesOf(kernel.Float32, dtype, dtype, kernel.Float32))
			k, v := huge(b, c), huge(b, c)
			for _, group := range []int{1, 8} {
				c.H = hkv * group
				q, _, _ := c.Inputs()
				for _, n := range []int{512, 2048} {
					var lists [16][]int32
					for x := range lists {
						lists[x] = make([]int32, 0, n)
						for row := range keys { // as many of all in ascending order
							if r.IntN(keys-row) < n-len(lists[x]) {
								lists[x] = append(lists[x], int32(row))
							}
						}
					}
					out := c.Out()
					run := func(name string, rows func(i int) kernel.KeyRows) {
						b.Run(fmt.Sprintf("%v/keys=%d/group=%d/n=%d/%s", dtype, keys, group, n, name), func(b *testing.B) {
							o := kernel.Options{Exec: kernel.Exec{Threads: 1}}
							for i := range b.N {
								o.KeyRows = rows(i)
								k, v := k, v
								if o.KeyRows.Rows == nil {
									k, v = window(k, i*n%(keys-n+1), n), window(v, i*n%(keys-n+1), n)
								}
								if err := kernel.Attention(out, q, k, v, &o); err != nil {
									b.Fatal(err)
								}
							}
						})
					}
					run("contiguous", func(int) kernel.KeyRows { return kernel.KeyRows{} })
					run("listed", func(i int) kernel.KeyRows {
						return kernel.KeyRows{Rows: lists[i%16], Shape: [4]int{1, 1, 1, n}}
					})
				}
			}
		}
	}
}

// huge returns keys or values in huge pages, as caches have them.
func huge(b *testing.B, c contracttest.Case) kernel.Tensor {
	cache, err := kvcache.New(kvcache.Config{Heads: c.HKV, HeadSize: c.D, KeyType: c.Types.K, ValueType: c.Types.V, Pages: 1, PageSize: c.Lk, Layout: kvcache.LayoutHND})
	if err != nil {
		b.Fatal(err)
	}
	text := cache.NewSequence()
	batch, err := cache.NewBatch(text)
	if err != nil {
		b.Fatal(err)
	}
	_, k, v := c.Inputs()
	if err := batch.Append(k, v); err != nil {
		b.Fatal(err)
	}
	k, _ = cache.Memory(0)
	return k
}

// window returns n rows of x from lo on.
func window(x kernel.Tensor, lo, n int) kernel.Tensor { return contracttest.Rows(x, lo, lo+n) }

// BenchmarkTree compares a tree of 16 queries with as many calls of one query, and with a mask of
// the last keys.
func BenchmarkTree(b *testing.B) {
	const n, d, hkv = 16, 128, 2
	for _, dtype := range []kernel.DType{kernel.Float32, kernel.BFloat16} {
		for _, past := range []int{512, 4 << 10} {
			c := contracttest.Case{B: 1, H: 8 * hkv, HKV: hkv, Lq: n, Lk: past + n, D: d, Dv: d}.With(contracttest.TypesOf(kernel.Float32, dtype, dtype, kernel.Float32))
			k, v := huge(b, c), huge(b, c)
			q, _, _ := c.Inputs()
			out, tree, sees := c.Out(), someTree(n), make([]bool, n*n)
			for i := range n {
				for x := int32(i); x >= 0; x = tree[x] {
					sees[i*n+int(x)] = true
				}
			}
			run := func(name string, call func(o *kernel.Options) error) {
				b.Run(fmt.Sprintf("%v/past=%d/%s", dtype, past, name), func(b *testing.B) {
					for range b.N {
						if err := call(&kernel.Options{Exec: kernel.Exec{Threads: 1}}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			run("tree", func(o *kernel.Options) error {
				o.Parents, o.QueryStart = tree, []int{past}
				return kernel.Attention(out, q, k, v, o)
			})
			run("mask", func(o *kernel.Options) error {
				o.Mask = kernel.VisibleLast(sees, [4]int{1, 1, n, n})
				return kernel.Attention(out, q, k, v, o)
			})
			run("calls", func(o *kernel.Options) error {
				for i := range n {
					if err := kernel.Attention(contracttest.Rows(out, i, i+1), contracttest.Rows(q, i, i+1), k, v, o); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
}
