package encoder

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/models/internal/references"
	"github.com/attn-go/attn/models/safetensors"
	"github.com/attn-go/attn/models/tokenizer"
)

var limit128 = tokenizer.Options{Limit: 128} // as make.py cuts texts

// tinyTolerance is how much larger our rms error against float64 may be than transformers' in
// float32.
const tinyTolerance = 1.5

// aloneFrom is the size of a reference that is judged alone. The rms error of few numbers is
// chance: 8 numbers had up to 2.1 times transformers' error for one text of 15 with seeds 1 to 6 of
// make.py, 0.8 to 1.05 times for all texts together; 1000 numbers or more never had above 1.15
// times.
const aloneFrom = 1000

// A comparison sums up the errors of what was compared with a file of references.
type comparison struct {
	t     *testing.T
	f     *safetensors.File
	count int
	sums  map[string]*errorSum
}

// An errorSum has the mean squares of the errors of all texts. Texts count alike, so that a wrong
// short one shows.
type errorSum struct{ ours, theirs float64 }

// check compares numbers with reference i of a name.
func (c *comparison) check(i int, name string, got []float32) {
	c.t.Helper()
	ours, theirs := c.meanSquares(i, name, got)
	if len(got) >= aloneFrom && !(ours <= tinyTolerance*tinyTolerance*theirs) {
		c.t.Errorf("%d.%s: rms error %.3g, that of transformers in float32 is %.3g", i, name, math.Sqrt(ours), math.Sqrt(theirs))
	}
}

// meanSquares returns the mean squares of our errors and of transformers', and adds them to the
// sums.
func (c *comparison) meanSquares(i int, name string, got []float32) (ours, theirs float64) {
	c.t.Helper()
	tensor := fmt.Sprintf("%d.%s", i, name)
	want, err := c.f.Float32(tensor)
	if err != nil {
		c.t.Fatal(err)
	}
	errors, err := c.f.Float32(tensor + ".error") // the largest, the rms
	if err != nil {
		c.t.Fatal(err)
	}
	if len(got) != len(want) {
		c.t.Fatalf("%s: %d numbers, want %d", tensor, len(got), len(want))
	}
	for j := range want {
		d := float64(got[j]) - float64(want[j])
		ours += d * d / float64(len(want))
	}
	theirs = float64(errors[1]) * float64(errors[1])
	sum := c.sums[name]
	if sum == nil {
		sum = &errorSum{}
		c.sums[name] = sum
	}
	sum.ours += ours
	sum.theirs += theirs
	c.count++
	return ours, theirs
}

// finish judges the sums of all texts. least has mean squares that are allowed whatever
// transformers' are.
func (c *comparison) finish(least map[string]float64) {
	c.t.Helper()
	if want := len(c.f.Names()) / 2; c.count != want || want == 0 {
		c.t.Errorf("%d of %d references were compared", c.count, want)
	}
	for name, sum := range c.sums {
		ratio := math.Sqrt(sum.ours / sum.theirs)
		c.t.Logf("%s: the rms error is %.3g times that of transformers", name, ratio)
		if !(sum.ours <= max(tinyTolerance*tinyTolerance*sum.theirs, least[name])) {
			c.t.Errorf("%s: the rms error is %.3g times that of transformers in float32, want at most %g", name, ratio, tinyTolerance)
		}
	}
}

// testTiny compares the folder of the flag -refs, if it is of make.py's form, and returns whether
// it is.
func testTiny(t *testing.T) bool {
	dir := references.Folder("")
	if dir == "" {
		return false
	}
	r := readTiny(t, dir)
	if r == nil {
		return false
	}
	if r.Kind == "decoder" || r.Kind == "embedder" || r.Kind == "static" {
		t.Skipf("%s has references of the kind %s, which another package tests", filepath.Base(dir), r.Kind)
	}
	r.compare(t, dir)
	return true
}
