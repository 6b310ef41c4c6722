package encoder

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/attn-go/attn/models/internal/references"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/weights"
)

const testdata = "../testdata/minilm"

// The largest differences from PyTorch's float32 that TestReferences allows. PyTorch's own
// differ from float64 by 2.1e-7 in an element and by 3.6e-7 in a cosine. States are numbers
// of up to 11, with errors of their own.
const (
	elementTolerance = 1e-6
	cosineTolerance  = 2e-6
	stateTolerance   = 5e-6
)

// TestReferences compares ids, embeddings, cosines, layers and retrieval with PyTorch's: those
// of testdata, or of the folder of the flag -refs.
func TestReferences(t *testing.T) {
	if testTiny(t) {
		return
	}
	dir := references.Folder(testdata)
	if references.IsSmolLM2(dir) {
		t.Skipf("%s has references of text generation: the test of package decoder reads them", dir)
	}
	r, err := references.ReadMiniLM(dir)
	if err != nil {
		t.Fatal(err)
	}
	e := miniLM(t)
	t.Run("ids", func(t *testing.T) { testIDs(t, e, r) })
	t.Run("embeddings", func(t *testing.T) { testEmbeddings(t, e, r) })
	t.Run("layers", func(t *testing.T) { testLayers(t, e, r) })
	t.Run("retrieval", func(t *testing.T) { testRetrieval(t, e, r) })
}

// loadOnce loads a model once for all tests.
var loadOnce = sync.OnceValues(func() (*Encoder, error) {
	path, err := weights.Path(weights.MiniLM)
	if err != nil {
		return nil, err
	}
	return Load(path, LoadOptions{})
})

// miniLM returns the model, or skips the test if its weights are missing.
func miniLM(t testing.TB) *Encoder {
	t.Helper()
	testweights.Path(t, testweights.MiniLM)
	e, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func testIDs(t *testing.T, e *Encoder, r *references.MiniLM) {
	for _, text := range r.Texts {
		if got := e.Tokens(text.Text); !slices.Equal(got, text.IDs) {
			t.Errorf("%.60q: got %d, want %d", text.Text, got, text.IDs)
		}
	}
}

func testEmbeddings(t *testing.T, e *Encoder, r *references.MiniLM) {
	var texts []string
	for _, text := range r.Texts {
		texts = append(texts, text.Text)
	}
	got := embed(t, e, texts)
	compareRows(t, "embeddings", got, r.Embeddings)
	for i, row := range r.Cosine {
		for j, want := range row {
			if d := math.Abs(cosine(got[i], got[j]) - float64(want)); !(d <= cosineTolerance) {
				t.Errorf("cosine of texts %d and %d: off by %.3g", i, j, d)
			}
		}
	}
}

func testLayers(t *testing.T, e *Encoder, r *references.MiniLM) {
	if r.Layers == nil {
		t.Skip("the folder has no states of layers")
	}
	got, err := e.HiddenStates(t.Context(), e.Tokens(r.LayersText))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(r.Layers) {
		t.Fatalf("%d states, want %d", len(got), len(r.Layers))
	}
	for i, want := range r.Layers {
		d := largestDifference(got[i], slices.Concat(want...))
		t.Logf("state %d: largest difference %.3g", i, d)
		if !(d <= stateTolerance) {
			t.Errorf("state %d: off by %.3g, want at most %g", i, d, stateTolerance)
		}
	}
}

func testRetrieval(t *testing.T, e *Encoder, r *references.MiniLM) {
	if r.Retrieval == nil {
		t.Skip("the folder has no retrieval.json")
	}
	passages := r.Retrieval.Passages
	if passages == nil {
		ours, err := references.ReadMiniLM(testdata)
		if err != nil {
			t.Fatal(err)
		}
		passages = ours.Retrieval.Passages
	}
	var queries, texts []string
	for _, q := range r.Retrieval.Queries {
		queries = append(queries, q.Text)
	}
	for _, p := range passages {
		texts = append(texts, p.Text)
	}
	qs, ps := embed(t, e, queries), embed(t, e, texts)
	compareRows(t, "queries", qs, r.Queries)
	compareRows(t, "passages", ps, r.Passages)
	for i, q := range r.Retrieval.Queries {
		compareTop5(t, q, qs[i], ps, passages)
	}
}

func compareTop5(t *testing.T, q references.Query, query []float32, vectors [][]float32, passages []references.Passage) {
	t.Helper()
	order := make([]int, len(vectors))
	scores := make([]float64, len(vectors))
	for i := range vectors {
		order[i], scores[i] = i, cosine(query, vectors[i])
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if scores[a] > scores[b] {
			return -1
		}
		return 1
	})
	for i, want := range q.Top5 {
		if got := passages[order[i]].ID; got != want {
			t.Errorf("%q: rank %d is passage %d, want %d", q.Text, i+1, got, want)
		}
		if d := math.Abs(scores[order[i]] - q.Scores[i]); !(d <= cosineTolerance) { // which are rounded to 1e-6
			t.Errorf("%q: rank %d has score %v, want %v", q.Text, i+1, scores[order[i]], q.Scores[i])
		}
	}
}

// compareRows compares embeddings with their references, if there are any.
func compareRows(t *testing.T, name string, got, want [][]float32) {
	t.Helper()
	worst, least := 0.0, 1.0
	for i := range want {
		d, c := largestDifference(got[i], want[i]), cosine(got[i], want[i])
		if !(d <= elementTolerance) || !(c >= 0.999999) {
			t.Errorf("%s %d: off by %.3g with cosine %.9f, want at most %g and at least 0.999999", name, i, d, c, elementTolerance)
		}
		worst, least = max(worst, d), min(least, c)
	}
	t.Logf("%s: %d of %d compared, largest difference %.3g, least cosine %.9f", name, len(want), len(got), worst, least)
}

// embed checks that the vectors are of length 1.
func embed(t *testing.T, e *Encoder, texts []string) [][]float32 {
	t.Helper()
	got, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got {
		if l := cosine(x, x); !(math.Abs(l-1) < 1e-6) {
			t.Errorf("text %d: the embedding has the squared length %v", i, l)
		}
	}
	return got
}

// largestDifference is NaN if any number is, or if the lengths differ.
func largestDifference(x, y []float32) float64 {
	if len(x) != len(y) {
		return math.NaN()
	}
	d := 0.0
	for i := range x {
		d = max(d, math.Abs(float64(x[i])-float64(y[i])))
	}
	return d
}

// cosine returns the scalar product of unit vectors.
func cosine(x, y []float32) float64 {
	sum := 0.0
	for i := range x {
		sum += float64(x[i]) * float64(y[i])
	}
	return sum
}
