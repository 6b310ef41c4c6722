package kernel_test

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/numeric"
)

// TestMain lists the tiers, so that every test log says what was tested.
func TestMain(m *testing.M) {
	contracttest.UseThree()
	fmt.Printf("attn: %s/%s, contract %d\n", runtime.GOOS, runtime.GOARCH, kernel.Contract)
	for _, t := range kernel.Tiers() {
		fmt.Printf("attn: tier %s is tested\n", t)
		if k, _ := tier.Handle(t).Tier(); k.Skinny().QKF16 == nil {
			fmt.Printf("attn: tier %s lacks skinny kernels that widen keys and values in registers\n", t)
		}
	}
	os.Exit(m.Run())
}

// attend makes a call with a float32 output of its own.
func attend(t *testing.T, q, k, v kernel.Tensor, o kernel.Options) kernel.Tensor {
	t.Helper()
	b, h, l, d := q.Shape()[0], q.Shape()[1], q.Shape()[2], v.Shape()[3]
	out := kernel.BHLD(testutil.Filled(b*h*l*d, contracttest.Canary), b, h, l, d)
	if err := kernel.Attention(out, q, k, v, &o); err != nil {
		t.Fatal(err)
	}
	return out
}

// tiltScores is a score modification that depends on all that it may use, and hides
// some keys.
func tiltScores(t *kernel.ScoreTile) {
	for x := range t.Keys {
		for r, row := range t.Rows {
			s := &t.Scores[x*t.Stride+r]
			*s = numeric.FMA(float32(row.Head+t.Batch), 0.125, *s) + float32((row.Position-t.KeyPosition-x)%5)
			if (row.Query+t.Key+x)%11 == 3 {
				*s = contracttest.NegInf
			}
		}
	}
}

// raggedLengths are the lengths of the batch rows of a call, nil where it is not
// ragged.
type raggedLengths struct {
	queries, keys []int
	start         int // of the first row
}

// pack makes a call's inputs ragged.
func (x *raggedLengths) pack(q, k, v kernel.Tensor) (_, _, _ kernel.Tensor) {
	return contracttest.Ragged(q, x.queries, x.start), contracttest.Ragged(k, x.keys, x.start), contracttest.Ragged(v, x.keys, x.start)
}

// packOutputs makes a call's outputs ragged, which are all canaries.
func (x *raggedLengths) packOutputs(out kernel.Tensor, o *kernel.Options) kernel.Tensor {
	for _, t := range []*kernel.Tensor{&o.LSE, &o.Weights, &o.Scores} {
		if contracttest.IsSet(*t) && t.Shape()[3] > 0 {
			*t = contracttest.Ragged(*t, x.queries, x.start)
		}
	}
	return contracttest.Ragged(out, x.queries, x.start)
}

// A parallelFor runs tasks at once, each on a goroutine of its own, and remembers how
// many they were.
type parallelFor struct{ n int }

func (p *parallelFor) run(n int, task func(i int)) {
	p.n = n
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { task(i) })
	}
	wg.Wait()
}
