package main

import "testing"

// BenchmarkStep measures steps of training with batches of 128 dates on one thread.
func BenchmarkStep(b *testing.B) {
	t := newTrainer(schedule{steps: 1 << 20, batch: 128, seed: 1}, settings{threads: 1})
	for b.Loop() {
		if _, _, err := t.next(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}
