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

// A comparison counts what was compared with a file of references.
type comparison struct {
	t     *testing.T
	f     *safetensors.File
	count int
	worst float64
}

// check compares numbers with reference i of a name.
func (c *comparison) check(i int, name string, got []float32) {
	c.t.Helper()
	name = fmt.Sprintf("%d.%s", i, name)
	want, err := c.f.Float32(name)
	if err != nil {
		c.t.Fatal(err)
	}
	theirs, err := c.f.Float32(name + ".error") // the largest, the rms
	if err != nil {
		c.t.Fatal(err)
	}
	if len(got) != len(want) {
		c.t.Fatalf("%s: %d numbers, want %d", name, len(got), len(want))
	}
	squares := 0.0
	for j := range want {
		d := float64(got[j]) - float64(want[j])
		squares += d * d
	}
	rms := math.Sqrt(squares / float64(len(want)))
	if !(rms <= max(tinyTolerance*float64(theirs[1]), tinyFloor)) {
		c.t.Errorf("%s: rms error %.3g, that of transformers in float32 is %.3g", name, rms, theirs[1])
	}
	if rms > tinyFloor {
		c.worst = max(c.worst, rms/float64(theirs[1]))
	}
	c.count++
}

// checkScores compares the scores of all pairs together: the error of one number is chance.
func (c *comparison) checkScores(got []float32) {
	c.t.Helper()
	ours, theirs := 0.0, 0.0
	for i, x := range got {
		want, err := c.f.Float32(fmt.Sprintf("%d.score", i))
		if err != nil {
			c.t.Fatal(err)
		}
		errors, err := c.f.Float32(fmt.Sprintf("%d.score.error", i))
		if err != nil {
			c.t.Fatal(err)
		}
		d, n := float64(x)-float64(want[0]), float64(len(got))
		ours += d * d / n
		theirs += float64(errors[1]) * float64(errors[1]) / n
		c.count++
	}
	c.worst = math.Sqrt(ours / theirs)
	if !(math.Sqrt(ours) <= max(tinyTolerance*math.Sqrt(theirs), tinyFloor)) {
		c.t.Errorf("scores: rms error %.3g, that of transformers in float32 is %.3g", math.Sqrt(ours), math.Sqrt(theirs))
	}
}

// testTiny compares the folder of the flag -refs, if it is of make.py's form, and returns whether it is.
func testTiny(t *testing.T) bool {
	dir := references.Folder("")
	if dir == "" {
		return false
	}
	r := readTiny(t, dir)
	if r == nil {
		return false
	}
	if r.Kind == "decoder" || r.Kind == "embedder" {
		t.Skipf("%s has references of a decoder", filepath.Base(dir))
	}
	r.compare(t, dir)
	return true
}
