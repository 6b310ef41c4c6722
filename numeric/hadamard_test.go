package numeric_test

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// TestHadamard: each tier multiplies by the matrix of ±1/√n, whose signs are the parity of
// i AND j (Sylvester's construction). Each of the log2 n sums of an element errs by half an
// ulp of at most √n times the largest one.
func TestHadamard(t *testing.T) {
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		for n := 16; n <= 512; n *= 2 {
			const blocks = 3
			r := testutil.Rand(n)
			x := make([]float32, blocks*n)
			r.Fill(x)
			got := append([]float32(nil), x...)
			if err := numeric.Hadamard(got, n, kernel.Exec{Tier: tier, Threads: 2}); err != nil {
				t.Fatal(err)
			}
			for b := range blocks {
				for i := range n {
					want, sum := 0., 0.
					for j := range n {
						y := float64(x[b*n+j]) / math.Sqrt(float64(n))
						sum += math.Abs(y)
						if bits.OnesCount(uint(i&j))%2 == 1 {
							y = -y
						}
						want += y
					}
					if bound := sum * 0x1p-24 * float64(bits.Len(uint(n))+1); math.Abs(float64(got[b*n+i])-want) > bound {
						t.Errorf("n %d, block %d, element %d: %v, want %v within %v", n, b, i, got[b*n+i], want, bound)
					}
				}
			}
		}
	})
}

// TestHadamardBits: the number of threads changes no bit, and twice the transform of 64
// elements of few bits is the identity.
func TestHadamardBits(t *testing.T) {
	const n = 64
	x := make([]float32, n*1000)
	for i := range x {
		x[i] = float32(i*i%255) - 127
	}
	one, four := append([]float32(nil), x...), append([]float32(nil), x...)
	for threads, y := range map[int][]float32{1: one, 4: four} {
		if err := numeric.Hadamard(y, n, kernel.Exec{Threads: threads}); err != nil {
			t.Fatal(err)
		}
	}
	testutil.CheckBits(t, "threads", four, one)
	if err := numeric.Hadamard(one, n, kernel.Exec{}); err != nil {
		t.Fatal(err)
	}
	testutil.CheckBits(t, "twice", one, x)
}

func TestHadamardErrors(t *testing.T) {
	x := testutil.Filled(96, 7)
	for n, arg := range map[int]string{0: "n", -16: "n", 8: "n", 24: "n", 1 << 16: "n", 64: "x"} {
		want := "a power of two from 16 to 32768"
		if arg == "x" {
			want = fmt.Sprint("a multiple of n, ", n)
		}
		contracttest.CheckArgument(t, fmt.Sprint(n), numeric.Hadamard(x, n, kernel.Exec{}), arg, want)
	}
	testutil.CheckBits(t, "after errors", x, testutil.Filled(96, 7))
}

// ExampleHadamard: a vector with one large element becomes a vector of equal elements, which 4 bits
// hold exactly.
func ExampleHadamard() {
	x := make([]float32, 16)
	x[0] = 4
	if err := numeric.Hadamard(x, 16, kernel.Exec{}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(x)
	// Output: [1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1]
}
