//go:build moving

package kernel_test

import (
	"fmt"
	"testing"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
)

// BenchmarkRagged times decoding on one thread and on two: sequences of very different
// lengths in one call, and one long sequence, whose blocks are spread over threads.
func BenchmarkRagged(b *testing.B) {
	const h, hkv, d = 8, 2, 64
	for name, lengths := range map[string][]int{
		"batch": {4000, 120, 900, 33, 2500, 17, 700, 1300, 260, 5, 6100, 350, 80, 1024, 2048, 12},
		"long":  {20000},
	} {
		keys, queries := []int{0}, []int{0}
		for x, n := range lengths {
			keys, queries = append(keys, keys[x]+n), append(queries, x+1)
		}
		tokens := keys[len(lengths)]
		q := kernel.Ragged(testutil.Floats(len(lengths)*h*d), queries, h, d)
		out := kernel.Ragged(make([]float32, len(lengths)*h*d), queries, h, d)
		k, v := kernel.Ragged(testutil.Floats(tokens*hkv*d), keys, hkv, d), kernel.Ragged(testutil.Floats(tokens*hkv*d), keys, hkv, d)
		for threads := 1; threads <= 2; threads++ {
			b.Run(fmt.Sprintf("%s/threads=%d", name, threads), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := kernel.Attention(out, q, k, v, kernel.Options{Exec: kernel.Exec{Threads: threads}}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(2*tokens*hkv*d*4*b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
			})
		}
	}
}
