package tier

import (
	"math"
	"testing"

	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/testutil"
)

// A mutant is the reference with a small mistake in one kernel.
type mutant struct {
	kernel, mistake string
	spoil           func(p *kernelSet)
}

// TestMutants shows that TestKernels can fail: it must find every mutant, and nothing
// in the reference itself.
func TestMutants(t *testing.T) {
	const w = 24
	for _, k := range kernelTests {
		if testing.Short() {
			break // TestKernels compares tier generic, which is the reference
		}
		if err := checkKernel(reference(w), k.name, every, newArena()); err != nil {
			t.Errorf("%s: the reference differs from itself: %v", k.name, err)
		}
	}
	for _, list := range [][]mutant{gemmMutants, evenOddMutants, betweenMutants, softmaxMutants, maskMutants, scoreMutants, packMutants, headMutants, skinnyMutants, narrowMutants, anywhereMutants, codesMutants, convertMutants, quantizeMutants, int4Mutants, weightMutants, blockMutants, int8Mutants, functionMutants, additiveMutants, normMutants, activationMutants, backwardMutants, trainingMutants, slopeMutants, rowMutants} {
		for _, m := range list {
			p := reference(w)
			m.spoil(p)
			err := checkKernel(p, m.kernel, every, newArena())
			if err == nil {
				t.Errorf("%s: %s: went unnoticed", m.kernel, m.mistake)
				continue
			}
			t.Logf("%s: %s: %v", m.kernel, m.mistake, err)
		}
	}
}

// TestGuardMutants shows that TestGuard can fail: it must find kernels that read one
// element before or after a slice.
func TestGuardMutants(t *testing.T) {
	if !testutil.Guards {
		t.Skip("guard pages are not available here")
	}
	var sink float32
	peek := func(s []float32, at int) {
		if len(s) > 0 {
			sink += *testutil.Beside(s, at)
		}
	}
	for _, x := range []struct {
		name  string
		place testutil.Placement
		spoil func(p *kernelSet)
	}{
		{"Gemm", testutil.AtEnd, func(p *kernelSet) {
			gemm := p.Gemm
			p.Gemm = func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k, seg int, load bool) {
				gemm(c, ldc, a, rs, cs, b, ldb, m, k, seg, load)
				peek(a, len(a))
			}
		}},
		{"Softmax", testutil.AtStart, func(p *kernelSet) {
			softmax := p.Softmax
			p.Softmax = func(s []float32, ld, n int, max, sum []float32) {
				softmax(s, ld, n, max, sum)
				peek(s, -1)
			}
		}},
		{"MergeStats", testutil.AtEnd, func(p *kernelSet) {
			merge := p.MergeStats
			p.MergeStats = func(max, sum, blockMax, blockSum, alpha, beta []float32) {
				merge(max, sum, blockMax, blockSum, alpha, beta)
				peek(beta, len(beta))
			}
		}},
	} {
		p := reference(24)
		x.spoil(p)
		if err := checkKernel(p, x.name, every, newGuardedArena(t, x.place)); err == nil {
			t.Errorf("%s: an access beside a slice, %v, went unnoticed", x.name, x.place)
		} else {
			t.Log(x.name, err)
		}
	}
}

// TestExp2Mutant does the same for TestExp2: the last bit of one weight in
// thousands.
func TestExp2Mutant(t *testing.T) {
	p := reference(24)
	softmax := p.Softmax
	p.Softmax = func(s []float32, ld, n int, max, sum []float32) {
		softmax(s, ld, n, max, sum)
		if n == 256 {
			s[255*ld+23] = math.Float32frombits(math.Float32bits(s[255*ld+23]) ^ 1)
		}
	}
	x := testutil.Filled(20000, -1.25)
	if err := checkExp2(p, x, testutil.Filled(len(x), scalar.Weight(-1.25))); err == nil {
		t.Error("a wrong bit went unnoticed")
	}
}
