package main

import (
	"testing"
	"time"
)

// TestMust: a test or subtest that must pass may neither be missing nor be skipped, and a kernel
// that must be assembly may not run in Go.
func TestMust(t *testing.T) {
	const out = `attn: tier avx512 is tested, with kernels for AVX512F AVX512VNNI
attn: tier avx512 runs Weights.Pack in Go
=== RUN   TestFeatures
--- PASS: TestFeatures (0.50s)
    --- PASS: TestFeatures/tier=avx512 (0.40s)
        --- PASS: TestFeatures/tier=avx512/feature=AVX512VNNI (0.10s)
        --- SKIP: TestFeatures/tier=avx512/feature=AVX512DQ (0.00s)
--- SKIP: TestOther (0.00s)
`
	for _, x := range []struct {
		must, asm string
		ok        bool
	}{
		{"TestFeatures", "Weights.Gemm$", true},
		{"TestFeatures/tier=avx512/feature=AVX512VNNI", "", true},
		{"TestFeatures/tier=avx512/feature=AVX512DQ", "", false},
		{"TestFeatures/tier=avx2", "", false},
		{"TestOther", "", false},
		{"TestFeatures", "Weights.*", false},
	} {
		var r result
		if err := r.read([]byte(out), &testedPackage{must: x.must, asm: x.asm}); (err == nil) != x.ok {
			t.Errorf("must %s, asm %q: %v", x.must, x.asm, err)
		}
	}
}

// TestFeature: a platform fails if no kernel needs its feature.
func TestFeature(t *testing.T) {
	for _, x := range []struct {
		feature string
		ok      bool
	}{{"AVX512VNNI", true}, {"AVX512F", true}, {"AVX512", false}, {"", true}} {
		var r result
		out := "attn: tier avx512 is tested, with kernels for AVX512F AVX512VNNI\nattn: linux/amd64, fma is one instruction\n"
		if err := r.read([]byte(out), &testedPackage{}); err != nil {
			t.Fatal(err)
		}
		if err := r.check(&platform{tiers: "avx512", feature: x.feature, fused: true}); (err == nil) != x.ok {
			t.Errorf("feature %q: %v", x.feature, err)
		}
	}
}

// TestEndedMachine: a machine that has ended took no time since.
func TestEndedMachine(t *testing.T) {
	m := machine{pid: -1, last: time.Second}
	for range 2 {
		if took := m.took(); took != 0 {
			t.Errorf("it took %v", took)
		}
	}
}
