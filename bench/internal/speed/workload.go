package speed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/kernel"
)

// A workload is what one timed call computes: the problems of a shape.
type workload struct {
	shape    *problem.Shape
	input    string // in a few words
	problems []*problem.Problem
	outs     []problem.Array
	flops    float64
	bytes    float64         // of queries, keys, values and outputs
	hash     string          // SHA-256 of the outputs of the last call that was compared
	first    string          // the cell that computed want
	want     []problem.Array // the results of the first cell, to compare others with
}

func newWorkload(s *problem.Shape, activations []*problem.Problem) *workload {
	w := &workload{shape: s, input: "activations of trained models", problems: s.Problems(activations), bytes: s.Bytes(activations)}
	if s.Alias != problem.Real {
		w.input = w.problems[0].Describe()
	}
	for _, p := range w.problems {
		w.outs = append(w.outs, p.NewOut())
		w.flops += p.Flops()
	}
	return w
}

// A workload of which each number that is read takes part in few operations waits for reading, if it has
// many numbers.
const (
	fewFlops    = 8 // for each byte
	leastBytes  = 1 << 20
	leastToRead = 4 << 20 // floats that are read at once, the same ones several times if they are less
)

// read returns the GB/s of so many threads that only read the keys and values, 0 for a workload that does
// not wait for that. They are those of the calls, so that caches hold what they held before.
func (w *workload) read(threads int) float64 {
	if len(w.problems) != 1 || w.bytes < leastBytes || w.flops > fewFlops*w.bytes {
		return 0
	}
	k, v := w.problems[0].K.Data, w.problems[0].V.Data
	floats, seconds := 0.0, 0.0
	for pass := range 1 + max(1, leastToRead/(len(k)+len(v))) {
		for _, data := range [...][]float32{k, v} { // one after the other, as they are read by a call
			rate := machine.NewReader(data).Rate(1, threads)
			if pass > 0 { // the first pass brings each thread's part into its caches
				floats, seconds = floats+float64(len(data)), seconds+float64(len(data))/rate
			}
		}
	}
	return floats / seconds
}

// call computes the workload once.
func (w *workload) call(tier kernel.Tier, threads int) error {
	for i, p := range w.problems {
		if err := p.Attend(&w.outs[i], tier, threads); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// compare returns how the results of the last call differ from those of the first cell. It
// takes the name of the cell that made the call.
func (w *workload) compare(cell string) (failures []string) {
	w.hash = w.sum()
	if w.want == nil {
		w.first = cell
		for _, out := range w.outs {
			w.want = append(w.want, problem.Array{Data: slices.Clone(out.Data), Shape: out.Shape})
		}
		return nil
	}
	for i, p := range w.problems {
		if diff := problem.Difference(&w.want[i], &w.outs[i]); diff != "" {
			failures = append(failures, fmt.Sprintf("%s: %s differs from %s %s", p.Name, cell, w.first, diff))
		}
	}
	return failures
}

// sum returns the SHA-256 of all outputs: that of the one output or, if there are several, of
// their hashes.
func (w *workload) sum() string {
	var hashes string
	for _, out := range w.outs {
		hashes += out.SHA256()
	}
	if len(w.outs) == 1 {
		return hashes
	}
	sum := sha256.Sum256([]byte(hashes))
	return hex.EncodeToString(sum[:])
}
