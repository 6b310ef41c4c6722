package main

import (
	"testing"

	"github.com/attn-go/attn/bench/examples/internal/train"
)

// BenchmarkStep measures steps of training with batches of 128 dates on one thread.
func BenchmarkStep(b *testing.B) {
	t := newTrainer(train.Schedule{Steps: 1 << 20, Batch: 128, Seed: 1}, settings{threads: 1})
	for b.Loop() {
		if _, err := t.Next(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}
