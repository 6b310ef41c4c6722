package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/gen/prove/equal"
)

// TestMutants makes random mistakes in kernels of each architecture. Each is found, or the kernel
// with the mistake computes the same with all sizes, as proven or for samples.
// `make prove ARGS='-mutants 70'` makes 70 in each architecture.
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

// TestMutantsOfSamples: a mistake that nothing finds is none where all values of the lemmas were
// tried, as the record says, but not where samples alone were.
func TestMutantsOfSamples(t *testing.T) {
	record, err := os.Open(filepath.Join(root, "gen", "prove", "lemmas.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer record.Close()
	sampled := newProver(t)
	recorded := *sampled
	recorded.Lemmas = equal.NewLemmas(record)
	a, k := kernel(t, "amd64", "softmaxAVX2")
	for seed := range uint64(100) {
		m := sampled.Mutate(a, k, seed)
		if m == nil || m.Found != "" {
			continue
		}
		if !m.Sampled || m.Why != "" {
			t.Errorf("%s becomes %s: samples count as a proof: %q", m.From, m.To, m.Why)
		}
		if m = recorded.Mutate(a, k, seed); m.Found != "" || m.Sampled || m.Why == "" {
			t.Errorf("%s becomes %s: nothing says why the mistake is none: %q", m.From, m.To, m.Found)
		}
		return
	}
	t.Error("all mistakes are found")
}
