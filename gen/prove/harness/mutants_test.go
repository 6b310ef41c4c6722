package harness

import "testing"

// TestMutants makes random mistakes in kernels of each architecture. Each is found, or the kernel
// with the mistake computes the same with all sizes, as proven or for samples. `make prove ARGS='-mutants 70'`
// makes 70 in each architecture.
func TestMutants(t *testing.T) {
	quick := newProver(t)
	full := *quick
	full.Quick = false
	found, equal, sampled := 0, 0, 0
	for _, x := range []struct{ goarch, function string }{
		{"amd64", "gemm1AVX2"}, {"amd64", "softmaxAVX2"}, {"amd64", "gemmMerge4AVX512"}, {"amd64", "exp2AVX2"},
		{"arm64", "softmaxNEON"}, {"arm64", "gemmMax2NEON"}, {"riscv64", "softmaxRVV"},
	} {
		a, k := kernel(t, x.goarch, x.function)
		for seed := range uint64(3) {
			switch m := full.Mutate(a, k, seed); {
			case m == nil:
				t.Errorf("%s has no instruction to be changed", x.function)
			case m.Found != "":
				found++
			case m.Sampled:
				sampled++
				t.Logf("%s: %s becomes %s, not found, compared with samples", x.function, m.From, m.To)
				if m.Why != "" {
					t.Errorf("%s: samples count as a proof: %s", x.function, m.Why)
				}
			default:
				equal++
				t.Logf("%s: %s becomes %s, %s", x.function, m.From, m.To, m.Why)
				if m.Why == "" {
					t.Errorf("%s: nothing says why the mistake is none", x.function)
				}
			}
		}
	}
	t.Logf("%d mistakes are found, %d are none, %d were compared with samples", found, equal, sampled)
	if equal+sampled > found/4 {
		t.Errorf("%d mistakes are found, %d are not", found, equal+sampled)
	}
}
