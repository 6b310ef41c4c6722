package loss_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/loss"
	"github.com/attn-go/attn/numeric"
)

func options(tier kernel.Tier, threads int) kernel.Exec {
	return kernel.Exec{Tier: tier, Threads: threads}
}

// A testCase is a call.
type testCase struct {
	rows, n int
	kind    testutil.Kind
	scale   float32
	seed    int
}

func cases() (list []testCase) {
	for i, s := range [][2]int{{0, 3}, {1, 1}, {3, 2}, {7, 13}, {5, 63}, {4, 64}, {3, 65}, {9, 200}, {3, 1024}, {2, 1025}, {2, 3000}} {
		for kind := range testutil.Kinds {
			list = append(list, testCase{s[0], s[1], kind, 1, 10*i + int(kind)})
		}
	}
	return list
}

func (c testCase) data() (logits []float32, targets []int32) {
	r := testutil.Rand(c.seed)
	logits, targets = make([]float32, c.rows*c.n), make([]int32, c.rows)
	for i := range logits {
		logits[i] = c.kind.Next(&r) * c.scale
	}
	for i := range targets {
		targets[i] = int32(r.IntN(c.n+1)) - 1
	}
	return logits, targets
}

// model is the contract, straight from its text.
func model(logits []float32, n int, targets []int32) (gradient []float32, mean float32) {
	gradient = make([]float32, len(logits))
	counted, sum := 0, 0.0
	for _, t := range targets {
		if t >= 0 {
			counted++
		}
	}
	count := max(counted, 1)
	for r, t := range targets {
		if t < 0 {
			continue
		}
		x, d := logits[r*n:][:n], gradient[r*n:][:n]
		top := float32(math.Inf(-1))
		for _, x := range x {
			if x > top {
				top = x
			}
		}
		var acc [64]float32
		for j, x := range x {
			d[j] = numeric.Exp2(float32((x - top) * float32(math.Log2E)))
			acc[j%64] += d[j]
		}
		for n := 32; n >= 1; n /= 2 {
			for r := range n {
				acc[r] += acc[r+n]
			}
		}
		inv, share := 1/acc[0], 1/float32(count)
		for j := range d {
			y := float32(d[j] * inv)
			if j == int(t) {
				y--
			}
			d[j] = float32(y * share)
			if acc[0] != acc[0] {
				d[j] = math.Float32frombits(0x7fc00000)
			}
		}
		sum += float64(float32(top-x[t]) + float32(numeric.Log2(acc[0])*float32(math.Ln2)))
	}
	if mean = float32(sum / float64(count)); mean != mean {
		mean = math.Float32frombits(0x7fc00000)
	}
	return gradient, mean
}

// TestContract compares all tiers, alone and on threads, with the contract.
func TestContract(t *testing.T) {
	contracttest.ForceThreads(t)
	for _, c := range cases() {
		logits, targets := c.data()
		want, mean := model(logits, c.n, targets)
		contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
			for _, threads := range []int{1, 3} {
				for _, place := range []string{"own", "in place", "none"} {
					what := fmt.Sprintf("%+v threads=%d %s", c, threads, place)
					x := append([]float32(nil), logits...)
					d := testutil.Filled(len(x), testutil.Canary)
					switch place {
					case "in place":
						d = x
					case "none":
						d = nil
					}
					got, err := loss.CrossEntropy(d, x, c.n, targets, options(tier, threads))
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					if math.Float32bits(got) != math.Float32bits(mean) {
						t.Errorf("%s: the loss is %v, want %v", what, got, mean)
					}
					if d != nil {
						contracttest.SameRow(t, what, d, want)
					}
				}
			}
		})
	}
}

// TestDifferences compares the loss with float64, and the gradient with finite differences.
func TestDifferences(t *testing.T) {
	const rows, n, h = 5, 17, 1e-4
	c := testCase{rows: rows, n: n, scale: 0.5, seed: 3}
	logits, targets := c.data()
	x := make([]float64, len(logits))
	for i := range x {
		x[i] = float64(logits[i])
	}
	exact := func() float64 {
		sum, count := 0.0, 0
		for r, t := range targets {
			if t < 0 {
				continue
			}
			all := 0.0
			for _, x := range x[r*n:][:n] {
				all += math.Exp(x)
			}
			sum += math.Log(all) - x[r*n+int(t)]
			count++
		}
		return sum / float64(count)
	}
	d := make([]float32, len(logits))
	got, err := loss.CrossEntropy(d, logits, n, targets, kernel.Exec{})
	if want := exact(); err != nil || math.Abs(float64(got)-want) > 1e-6*want {
		t.Errorf("the loss is %v, error %v, want %v", got, err, want)
	}
	for i := range x {
		before := x[i]
		x[i] = before + h
		up := exact()
		x[i] = before - h
		down := exact()
		x[i] = before
		if want := (up - down) / (2 * h); math.Abs(float64(d[i])-want) > 1e-7 {
			t.Errorf("gradient %d is %v, want %v", i, d[i], want)
		}
	}
}

// TestSpecial: rows that are not finite, and what is ignored.
func TestSpecial(t *testing.T) {
	inf := testutil.Inf
	for _, c := range []struct {
		logits []float32
		target int32
		loss   float32
		want   []float32
	}{
		{[]float32{0, 0}, loss.IgnoreIndex, 0, []float32{0, 0}},
		{[]float32{testutil.NaN, 0}, loss.IgnoreIndex, 0, []float32{0, 0}},
		{[]float32{-inf, 0}, 1, 0, []float32{0, 0}},
		{[]float32{-inf, 0}, 0, inf, []float32{-1, 1}},
		{[]float32{1000, -1000}, 1, 2000, []float32{1, -1}},
		{[]float32{inf, 0}, 0, testutil.NaN, []float32{testutil.NaN, testutil.NaN}},
		{[]float32{-inf, -inf}, 0, testutil.NaN, []float32{testutil.NaN, testutil.NaN}},
		{[]float32{0, testutil.NaN}, 0, testutil.NaN, []float32{testutil.NaN, testutil.NaN}},
	} {
		d := make([]float32, 2)
		got, err := loss.CrossEntropy(d, c.logits, 2, []int32{c.target}, kernel.Exec{})
		if err != nil || !testutil.SameBits(got, c.loss) {
			t.Errorf("%v, target %d: loss %v, error %v, want %v", c.logits, c.target, got, err, c.loss)
		}
		testutil.CheckBits(t, fmt.Sprint(c.logits), d, c.want)
	}
}

// TestGolden: every tier and architecture has these bits.
func TestGolden(t *testing.T) {
	const want = "f988b7345abd373c2fa1ea459cd4647a85a30b37e394be004cea255fbab87292"
	c := testCase{rows: 20, n: 300, kind: testutil.Dyadics, scale: 0.5, seed: 1}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		logits, targets := c.data()
		mean, err := loss.CrossEntropy(logits, logits, c.n, targets, options(tier, 0))
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		for _, x := range append(logits, mean) {
			h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("sha256 %s, want %s", got, want)
		}
	})
}

func TestAllocatesNothing(t *testing.T) {
	contracttest.ForceThreads(t)
	c := testCase{rows: 50, n: 100, seed: 2}
	logits, targets := c.data()
	d := make([]float32, len(logits))
	for threads := 1; threads <= 3; threads++ {
		testutil.CheckNoMallocs(t, fmt.Sprint("threads=", threads), 20, func() {
			if _, err := loss.CrossEntropy(d, logits, c.n, targets, options(kernel.Tier{}, threads)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestErrors: what does not fit is named, and nothing is touched.
func TestErrors(t *testing.T) {
	memory, targets := testutil.Filled(100, 7), []int32{0, 1, 2, -1, 0}
	for _, c := range []struct {
		d, x      []float32
		n         int
		targets   []int32
		threads   int
		arg, want string
	}{
		{memory[50:70], memory[:20], 0, targets, 0, "n", "divides the length of logits, 20"},
		{memory[50:70], memory[:20], 3, targets, 0, "n", "divides"},
		{memory[50:70], memory[:20], 4, targets[:4], 0, "targets", "5, one for each row"},
		{memory[50:70], memory[:20], 4, []int32{0, 1, 4, 0, 0}, 0, "targets[2]", "0 to 3"},
		{memory[50:70], memory[:20], 4, []int32{0, 1, 2, 0, -2}, 0, "targets[4]", "Ignore"},
		{memory[50:69], memory[:20], 4, targets, 0, "dlogits", "20, as logits"},
		{memory[1:21], memory[:20], 4, targets, 0, "dlogits", "logits itself"},
		{memory[50:70], memory[:20], 4, targets, -1, "exec.Threads", "at least 1"},
	} {
		_, err := loss.CrossEntropy(c.d, c.x, c.n, c.targets, options(kernel.Tier{}, c.threads))
		contracttest.CheckArgument(t, c.want, err, c.arg, c.want)
	}
	testutil.CheckBits(t, "after errors", memory, testutil.Filled(100, 7))
}

// BenchmarkCrossEntropy reports the GB/s of logits and gradients.
func BenchmarkCrossEntropy(b *testing.B) {
	for _, n := range []int{13, 1000, 50000} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			c := testCase{rows: 1 + 100000/n, n: n, seed: 2}
			logits, targets := c.data()
			d := make([]float32, len(logits))
			for b.Loop() {
				if _, err := loss.CrossEntropy(d, logits, c.n, targets, options(kernel.Tier{}, 1)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(8*float64(len(logits))*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GB/s")
		})
	}
}
