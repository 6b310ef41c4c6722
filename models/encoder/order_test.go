package encoder

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/safetensors"
)

// loadSorted reads a model of float32 weights in the order that Int8 has.
func loadSorted(t *testing.T, dir string) *runner {
	t.Helper()
	x, err := open(dir, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.close()
	r := x.reader()
	r.Pack.Order = network.Columns(x.model, r)
	m := x.readModel(r)
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	if m.ropes, err = m.network.Rotations(0, x.positions); err != nil {
		t.Fatal(err)
	}
	if order := r.Pack.Order; slices.IsSorted(order) || slices.Equal(order, m.inverse) {
		t.Fatalf("the order %v proves nothing", order)
	}
	return &runner{model: m}
}

// TestOrder compares the states of models whose columns are sorted with transformers' states: every
// architecture has all of its parts in that order.
func TestOrder(t *testing.T) {
	folders, err := filepath.Glob("../testdata/tiny/*/refs.json")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no references: %v", err)
	}
	for _, path := range folders {
		dir := filepath.Dir(path)
		if r := readTiny(t, dir); r.Kind == "encoder" {
			t.Run(filepath.Base(dir), func(t *testing.T) { r.compareSorted(t, dir) })
		}
	}
}

func (r *tinyRefs) compareSorted(t *testing.T, dir string) {
	f, err := safetensors.Open(filepath.Join(dir, "refs.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, err := Load(dir, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sorted := &Encoder{e.Embedder, loadSorted(t, dir), e.opts}
	c := &comparison{t, f, 0, map[string]*errorSum{}}
	for i, ids := range r.IDs {
		states, err := sorted.HiddenStates(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		last := states[len(states)-1]
		if r.Arch == "embedding_gemma2" { // whose references have no states
			mean := make([]float32, e.Width())
			for j, x := range last {
				mean[j%len(mean)] += x / float32(len(ids))
			}
			length := float32(math.Sqrt(cosine(mean, mean)))
			for j := range mean {
				mean[j] /= length
			}
			c.check(i, "embedding", mean)
		} else {
			c.check(i, "hidden", slices.Concat(states...))
		}
		err = sorted.net.States(t.Context(), [][]int32{ids}, nil, &e.opts, "", func(_ int, x []float32) error {
			if !equalBits(x, last) {
				t.Errorf("text %d: States and HiddenStates differ", i)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
