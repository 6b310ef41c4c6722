package kernel_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/kernel"
)

var (
	gradientRefs        = flag.String("refs", "testdata/gradients", "folder of reference gradients, for TestBackwardRefs")
	gradientActivations = flag.String("activations", "", "safetensors file of the q, k and v of -refs; default: activations.safetensors there")
)

// mostError is how many times as large as PyTorch's the errors of gradients may be: the aim
// that the references were made for. Their own rounding to float32 comes on top.
//
// The largest error of few numbers is a matter of luck, PyTorch's too. With very few numbers, such
// as dsinks with one for each head, even the root mean square is.
const (
	mostError        = 1.5
	mostLargestError = 2.5 // of less than fewNumbers
	mostErrorOfHeads = 3   // of less than veryFewNumbers

	fewNumbers     = 10000
	veryFewNumbers = 64
)

// TestBackwardRefs compares gradients on real activations with PyTorch's in float64: see
// testdata/gradients/README.md. Each of the files in -refs must be of these activations.
func TestBackwardRefs(t *testing.T) {
	path := *gradientActivations
	if path == "" {
		path = filepath.Join(*gradientRefs, "activations.safetensors")
	}
	activations := openTensors(t, path)
	files, err := filepath.Glob(filepath.Join(*gradientRefs, "*.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range files {
		if same(file, path) {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			refs := openTensors(t, file)
			sets := refs.sets(t)
			for _, set := range sets {
				prefix := set[:strings.LastIndex(set, ".")+1]
				if _, ok := activations[prefix+"q"]; !ok {
					t.Skipf("NOT RUN: %s has no %sq", path, prefix)
				}
				t.Run(set, func(t *testing.T) { newGradientRef(t, activations, refs, prefix, set).compare(t) })
				compared++
			}
		})
	}
	if compared == 0 {
		t.Fatalf("%s has no gradients of %s", *gradientRefs, path)
	}
}

func same(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// tensor returns a tensor [B, H, L, D], or [H, L, D] of one batch row, cut to the first rows.
func (f tensors) tensor(t *testing.T, name string, rows int) kernel.Tensor {
	t.Helper()
	data := f.floats(t, name)
	shape, given := [4]int{1, 1, 1, 1}, f[name].Shape
	copy(shape[4-len(given):], given)
	strides := [3]int{shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]}
	if rows > 0 {
		shape[2] = min(shape[2], rows)
	}
	return kernel.Strided(data, shape, strides)
}

// gradientNames are the tensors of an option set. Those that are NAME.error are beside the
// outputs.
var gradientNames = []string{"dout", "dq", "dk", "dv", "bias", "dbias", "sinks", "dsinks"}

// sets lists the option sets, "layer1.plain" or "plain". A tensor of another name is an error.
func (f tensors) sets(t *testing.T) (sets []string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(f)) {
		short := strings.TrimSuffix(name, ".error")
		at := strings.LastIndex(short, ".")
		if at < 0 || !slices.Contains(gradientNames, short[at+1:]) {
			t.Fatalf("a tensor %q: unknown", name)
		}
		if set := short[:at]; !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	return sets
}

// A gradientRef is one option set of a file of gradients.
type gradientRef struct {
	refs       tensors
	set        string
	q, k, v    kernel.Tensor
	dout       kernel.Tensor
	o          kernel.Options
	wantsBias  bool
	wantsSinks bool
}

func newGradientRef(t *testing.T, activations, refs tensors, prefix, set string) *gradientRef {
	t.Helper()
	x := &gradientRef{refs: refs, set: set, dout: refs.tensor(t, set+".dout", 0)}
	rows := x.dout.Shape()[2]
	x.q, x.k, x.v = activations.tensor(t, prefix+"q", rows), activations.tensor(t, prefix+"k", rows), activations.tensor(t, prefix+"v", rows)
	shape := x.q.Shape()
	x.o.Mask = kernel.Causal(0)
	if _, ok := activations[prefix+"lengths"]; ok {
		lengths := activations.integers(t, prefix+"lengths")
		keys := make([]int, len(lengths))
		for b, n := range lengths {
			keys[b] = min(int(n), rows)
		}
		x.o.Mask = kernel.KeyLengths(keys)
	}
	switch set[len(prefix):] {
	case "plain":
	case "window": // j > i - 64
		x.o.Mask = x.o.Mask.And(kernel.Window(63, -1))
	case "softcap":
		x.o.Softcap = 5
	case "alibi":
		for h := range shape[1] {
			x.o.ALiBi = append(x.o.ALiBi, float32(math.Exp2(-8*float64(h+1)/float64(shape[1]))))
		}
	case "bias":
		x.wantsBias = true
		x.o.Bias = refs.tensor(t, set+".bias", 0)
	case "sinks":
		x.wantsSinks = true
		x.o.Sinks = refs.floats(t, set+".sinks")
	default:
		t.Fatalf("an option set %q: unknown", set)
	}
	return x
}

// compare computes forward and backward, on all tiers, and compares with the file.
func (x *gradientRef) compare(t *testing.T) {
	zeros := func(s [4]int) kernel.Tensor {
		return kernel.BHLD(make([]float32, s[0]*s[1]*s[2]*s[3]), s[0], s[1], s[2], s[3])
	}
	contracttest.EachTier(t, func(t *testing.T, tier kernel.Tier) {
		o := x.o
		o.Tier = tier
		shape := x.q.Shape()
		out := zeros([4]int{shape[0], shape[1], shape[2], x.v.Shape()[3]})
		shape[3] = 1
		o.LSE = zeros(shape)
		if err := kernel.Attention(out, x.q, x.k, x.v, &o); err != nil {
			t.Fatal(err)
		}
		g := kernel.Gradients{Q: zeros(x.q.Shape()), K: zeros(x.k.Shape()), V: zeros(x.v.Shape())}
		if x.wantsBias {
			g.Bias = zeros(x.o.Bias.Shape())
		}
		if x.wantsSinks {
			g.Sinks = make([]float32, len(x.o.Sinks))
		}
		if err := kernel.AttentionBackward(g, x.dout, x.q, x.k, x.v, o.LSE, contracttest.BackwardOptions(o)); err != nil {
			t.Fatal(err)
		}
		x.compareTo(t, "dq", contracttest.Floats(g.Q))
		x.compareTo(t, "dk", contracttest.Floats(g.K))
		x.compareTo(t, "dv", contracttest.Floats(g.V))
		if x.wantsBias {
			x.compareTo(t, "dbias", contracttest.Floats(g.Bias))
		}
		if x.wantsSinks {
			x.compareTo(t, "dsinks", g.Sinks)
		}
	})
}

// compareTo compares an output with the reference, whose errors are PyTorch's largest and its
// root mean square.
func (x *gradientRef) compareTo(t *testing.T, name string, got []float32) {
	t.Helper()
	want, bound := x.refs.floats(t, x.set+"."+name), x.refs.floats(t, x.set+"."+name+".error")
	if len(got) != len(want) || len(bound) != 3 {
		t.Fatalf("%s has %d numbers, the reference %d, and %d bounds", name, len(got), len(want), len(bound))
	}
	largest, squares, rounding := 0.0, 0.0, 0.0
	for i := range got {
		e := math.Abs(float64(got[i]) - float64(want[i]))
		if e != e {
			t.Fatalf("%s[%d] is %v", name, i, got[i])
		}
		largest, squares = max(largest, e), squares+e*e
		r := math.Abs(float64(want[i])) * 0x1p-25
		rounding += r * r
	}
	n, most, mostRMS := float64(len(got)), mostError, mostError
	switch {
	case len(got) < veryFewNumbers:
		most, mostRMS = mostErrorOfHeads, mostErrorOfHeads
	case len(got) < fewNumbers:
		most = mostLargestError
	}
	rms, rounded := math.Sqrt(squares/n), math.Sqrt(rounding/n)
	report := fmt.Sprintf("%s: largest error %.2g = %.2f of PyTorch's, rms %.2g = %.2f", name, largest, largest/float64(bound[0]), rms, rms/float64(bound[1]))
	t.Log(report)
	if largest > most*float64(bound[0])+float64(bound[2])*0x1p-25 || rms > mostRMS*float64(bound[1])+rounded {
		t.Errorf("%s: more than %v and %v times", report, most, mostRMS)
	}
}
