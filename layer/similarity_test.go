package layer

import (
	"math"
	"os"
	"slices"
	"testing"
	"unsafe"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
)

// similarities are those without learned weights.
var similarities = map[string]Similarity{
	"dot": Dot{}, "scaled dot": ScaledDot{}, "cosine": Cosine{}, "Func": Func(distanceOf),
}

// A query that matches one key gets its value. A query that matches several keys equally gets the
// mean of their values, whether these keys are equal to each other or not. TensorFlow's tutorial on
// the Transformer has these keys, values and queries.
func TestScaledDotOfMatchingKeys(t *testing.T) {
	k := rowTensor([]float32{10, 0, 0}, []float32{0, 10, 0}, []float32{0, 0, 10}, []float32{0, 0, 10})
	v := rowTensor([]float32{1, 0}, []float32{10, 0}, []float32{100, 5}, []float32{1000, 6})
	q := rowTensor([]float32{0, 10, 0}, []float32{0, 0, 10}, []float32{10, 10, 0})
	out, weights := newTensor(1, 1, 3, 2), newTensor(1, 1, 3, 4)
	must(t, ScaledDot{}.Attend(out, q, k, v, &kernel.Options{Outputs: kernel.Outputs{Weights: weights}}))
	near(t, "out", all(&out), 1e-4, 10, 0, 550, 5.5, 5.5, 0)
	near(t, "weights", all(&weights), 1e-7, 0, 1, 0, 0, 0, 0, .5, .5, .5, .5, 0, 0)
}

// With a Scale of -0, which is 0, all scores are 0, and all weights equal.
func TestZeroScale(t *testing.T) {
	project, err := linear.New(linear.DenseMatrix([]float32{1, 2, 3, 4}, 2, 2), nil, kernel.Exec{})
	must(t, err)
	x := rowTensor([]float32{1, 2}, []float32{-3, 4})
	for name, s := range map[string]Similarity{
		"dot": Dot{}, "scaled dot": ScaledDot{}, "cosine": Cosine{}, "general": General{Query: project}, "additive": Additive{V: []float32{1, -2}},
		"Func": Func(distanceOf),
	} {
		out, weights := newTensor(1, 1, 2, 2), newTensor(1, 1, 2, 2)
		must(t, s.Attend(out, x, x, x, &kernel.Options{Scoring: kernel.Scoring{Scale: float32(math.Copysign(0, -1))}, Outputs: kernel.Outputs{Weights: weights}}))
		if got := all(&weights); !slices.Equal(got, []float32{.5, .5, .5, .5}) {
			t.Errorf("%s: the weights are %v", name, got)
		}
	}
}

// Scores are near the definition in float64, with any Scale.
func TestSimilaritiesByDefinition(t *testing.T) {
	const b, h, hkv, lq, lk, d = 2, 4, 2, 5, 70, 12
	q, k := normalTensor(1, b, h, lq, d), normalTensor(2, b, hkv, lk, d)
	clear(row(&q, 1, 2, 3))
	clear(row(&k, 0, 1, 7))
	for _, c := range []struct {
		name       string
		similarity Similarity
		want       func(q, k []float32) float64
	}{
		{"dot", Dot{}, dotOf},
		{"scaled dot", ScaledDot{}, func(q, k []float32) float64 { return dotOf(q, k) / math.Sqrt(d) }},
		{"cosine", Cosine{}, func(q, k []float32) float64 {
			if dotOf(q, q) == 0 || dotOf(k, k) == 0 {
				return 0
			}
			return dotOf(q, k) / math.Sqrt(dotOf(q, q)*dotOf(k, k))
		}},
		{"Func", Func(distanceOf), func(q, k []float32) float64 { return float64(distanceOf(q, k)) }},
	} {
		scores := newTensor(b, h, lq, lk)
		must(t, Scores(scores, q, k, c.similarity, nil))
		checkScores(t, c.name, &scores, &q, &k, 1, c.want)
		if _, scaled := c.similarity.(ScaledDot); !scaled {
			must(t, Scores(scores, q, k, c.similarity, &ScoreOptions{Scoring: kernel.Scoring{Scale: -.75}}))
			checkScores(t, c.name, &scores, &q, &k, -.75, c.want)
		}
	}
}

// checkScores fails if a score is not factor·want(q, k), but for rounding.
func checkScores(t *testing.T, name string, scores, q, k *kernel.Tensor, factor float64, want func(q, k []float32) float64) {
	t.Helper()
	group := q.Shape()[1] / k.Shape()[1]
	eachRow(scores.Shape(), func(b, h, l int) {
		for j, s := range row(scores, b, h, l) {
			w := factor * want(row(q, b, h, l), row(k, b, h/group, j))
			if !(math.Abs(float64(s)-w) <= 3e-6) {
				t.Fatalf("%s: the score of (%d, %d, %d) and key %d is %v, want %v", name, b, h, l, j, s, w)
			}
		}
	})
}

func dotOf(q, k []float32) float64 {
	sum := 0.0
	for i := range q {
		sum += float64(q[i]) * float64(k[i])
	}
	return sum
}

// A Func that computes the scaled dot product gives the result of ScaledDot, but for
// rounding.
func TestFuncAsScaledDot(t *testing.T) {
	const b, h, hkv, lq, lk, d, dv = 2, 4, 2, 20, 300, 64, 24
	q, k, v := normalTensor(1, b, h, lq, d), normalTensor(2, b, hkv, lk, d), normalTensor(3, b, hkv, lk, dv)
	own := Func(func(q, k []float32) float32 { return float32(dotOf(q, k) / math.Sqrt(d)) })
	for name, opts := range map[string]kernel.Options{
		"plain": {}, "masked": {Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}, "softcap": {Scoring: kernel.Scoring{Softcap: 2}},
	} {
		out, want := newTensor(b, h, lq, dv), newTensor(b, h, lq, dv)
		must(t, own.Attend(out, q, k, v, &opts))
		must(t, ScaledDot{}.Attend(want, q, k, v, &opts))
		if d := distance(&out, &want); d > 2e-6 {
			t.Errorf("%s: differs by %v", name, d)
		}
	}
}

// A finite result of a Func hides no key, and one that is as large as it can be has all of
// the weight.
func TestFuncExtremes(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct{ scores, want []float32 }{ // the weights of two keys
		{[]float32{-math.MaxFloat32, -math.MaxFloat32}, []float32{.5, .5}},
		{[]float32{-math.MaxFloat32, -inf}, []float32{1, 0}},
		{[]float32{-math.MaxFloat32, 0}, []float32{0, 1}},
		{[]float32{0, math.MaxFloat32}, []float32{0, 1}},
	} {
		q, k, out, weights := normalTensor(1, 1, 1, 1, 1), newTensor(1, 1, 2, 1), newTensor(1, 1, 1, 1), newTensor(1, 1, 1, 2)
		copy(viewOf(&k).F32(), []float32{0, 1}) // the numbers of the keys
		f := Func(func(_, k []float32) float32 { return c.scores[int(k[0])] })
		must(t, f.Attend(out, q, k, k, &kernel.Options{Outputs: kernel.Outputs{Weights: weights}}))
		if got := viewOf(&weights).F32(); got[0] != c.want[0] || got[1] != c.want[1] {
			t.Errorf("scores %v: weights %v, want %v", c.scores, got, c.want)
		}
	}
}

// A Func that panics makes the call panic. The calls after it are not affected.
func TestFuncPanics(t *testing.T) {
	x, out, want := normalTensor(1, 1, 1, 5, 4), newTensor(1, 1, 5, 4), newTensor(1, 1, 5, 4)
	must(t, Func(distanceOf).Attend(want, x, x, x, nil))
	func() {
		defer func() {
			if r := recover(); r != "no score" {
				t.Errorf("recovered %v, want the panic of the Func", r)
			}
		}()
		f := Func(func(q, k []float32) float32 { panic("no score") })
		t.Errorf("the call returned %v", f.Attend(out, x, x, x, &kernel.Options{Exec: kernel.Exec{Threads: 1}}))
	}()
	must(t, Func(distanceOf).Attend(out, x, x, x, nil))
	equal(t, "after the panic", &out, &want)
}

// With every similarity the options apply, and tier and threads do not change a bit.
func TestSimilaritiesSameBits(t *testing.T) {
	const b, h, hkv, lq, lk, d, dv = 2, 4, 2, 20, 300, 16, 8
	q, k, v := normalTensor(1, b, h, lq, d), normalTensor(2, b, hkv, lk, d), normalTensor(3, b, hkv, lk, dv)
	for name, s := range similarities {
		outputs := func(tier kernel.Tier, threads int) (out, weights, lse kernel.Tensor) {
			out, weights, lse = newTensor(b, h, lq, dv), newTensor(b, h, lq, lk), newTensor(b, h, lq, 1)
			must(t, s.Attend(out, q, k, v, &kernel.Options{
				Exec: kernel.Exec{Tier: tier, Threads: threads}, Outputs: kernel.Outputs{Weights: weights, LSE: lse},
				Scoring: kernel.Scoring{Mask: kernel.KeyLengths([]int{290, 3}).And(kernel.Causal(200)), Softcap: 3,
					Score: func(tile *kernel.ScoreTile) { // called after the similarity
						for i := range tile.Scores {
							tile.Scores[i] *= .5
						}
					}},
			}))
			return out, weights, lse
		}
		out, weights, lse := outputs(contracttest.Generic(), 1)
		eachTier(t, func(t *testing.T, tier kernel.Tier) {
			for _, threads := range []int{1, 2} {
				x, y, z := outputs(tier, threads)
				equal(t, name+": out", &x, &out)
				equal(t, name+": weights", &y, &weights)
				equal(t, name+": LSE", &z, &lse)
			}
		})
	}
}

// The cosine neither overflows nor vanishes for very long and very short vectors.
func TestCosineRange(t *testing.T) {
	q := rowTensor([]float32{3e-30, 4e-30}, []float32{3e30, 4e30})
	k := rowTensor([]float32{4e-20, 3e-20}, []float32{0, 2}, []float32{-3e19, -4e19})
	scores := newTensor(1, 1, 2, 3)
	must(t, Scores(scores, q, k, Cosine{}, nil))
	near(t, "scores", all(&scores), 3e-7, .96, .8, -1, .96, .8, -1)
}

// TestCosineOfAnyLength: scores are near the definition for keys and queries of any length, from
// the least number to the largest.
func TestCosineOfAnyLength(t *testing.T) {
	const least, most = math.SmallestNonzeroFloat32, math.MaxFloat32
	q := rowTensor([]float32{least, least}, []float32{0, 1}, []float32{most, most})
	k := rowTensor([]float32{0, least}, []float32{most, most}, []float32{3e38, 0}, []float32{-2 * least, 0})
	scores := newTensor(1, 1, 3, 4)
	must(t, Scores(scores, q, k, Cosine{}, nil))
	checkScores(t, "cosine", &scores, &q, &k, 1, func(q, k []float32) float64 {
		return dotOf(q, k) / math.Sqrt(dotOf(q, q)*dotOf(k, k))
	})
}

func TestSimilarityErrors(t *testing.T) {
	out, q, k, v := newCanaries(1, 2, 3, 2), newTensor(1, 2, 3, 4), newTensor(1, 1, 5, 4), newTensor(1, 1, 5, 2)
	halfQ, halfK := kernel.BHLD(make([]kernel.F16, 24), 1, 2, 3, 4), kernel.BHLD(make([]kernel.F16, 20), 1, 1, 5, 4)
	for name, s := range similarities {
		t.Run(name, func(t *testing.T) {
			refused(t, s.Attend(out, kernel.Tensor{}, k, v, nil), "q", &out)
			refused(t, s.Attend(out, q, kernel.Tensor{}, v, nil), "k", &out)
			refused(t, s.Attend(out, q, v, v, nil), "k", &out)
			refused(t, s.Attend(out, q, k, kernel.Tensor{}, nil), "v", &out)
			refused(t, s.Attend(q, q, k, v, nil), "out", nil)
			refused(t, s.Attend(out, q, k, v, &kernel.Options{Scoring: kernel.Scoring{Scale: float32(math.NaN())}}), "Options.Scale", &out)
			refused(t, s.Attend(out, q, k, v, &kernel.Options{Exec: kernel.Exec{Threads: -1}}), "Options.Threads", &out)
			if name == "cosine" || name == "Func" {
				refused(t, s.Attend(out, halfQ, k, v, nil), "q", &out)
				refused(t, s.Attend(out, q, halfK, v, nil), "k", &out)
			}
		})
	}
	refused(t, Func(nil).Attend(out, q, k, v, nil), "Func", &out)
	huge := kernel.Strided(make([]float32, 8), [4]int{1, 1 << 20, 1 << 20, 1 << 20}, [3]int{})
	refused(t, Cosine{}.Attend(out, huge, k, v, nil), "q", &out)
}

func TestSimilaritiesNoAllocations(t *testing.T) {
	q, k, v, out := normalTensor(1, 1, 2, 3, 4), normalTensor(2, 1, 2, 50, 4), normalTensor(3, 1, 2, 50, 4), newTensor(1, 2, 3, 4)
	for name, s := range similarities {
		opts := kernel.Options{Exec: kernel.Exec{Threads: 1}, Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}
		testutil.CheckNoMallocs(t, name, 20, func() { must(t, s.Attend(out, q, k, v, &opts)) })
	}
	scores := newTensor(1, 2, 3, 50)
	testutil.CheckNoMallocs(t, "the steps", 20, func() {
		must(t, Scores(scores, q, k, ScaledDot{}, &ScoreOptions{Exec: kernel.Exec{Threads: 1}}))
		must(t, Softmax(row(&scores, 0, 0, 0), row(&scores, 0, 0, 0), 50, nil, kernel.Exec{}))
		must(t, WeightedSum(out, scores, v, kernel.Exec{}))
	})
}

// TestGuardCosine: keys that no query sees are not read, neither by the call nor by its gradients.
func TestGuardCosine(t *testing.T) {
	if !testutil.Guards {
		t.Skip("guard pages are not available here")
	}
	const d, queries = 8, 5
	page := os.Getpagesize()
	n := page / (4 * d) // keys in a page
	for name, o := range map[string]kernel.Options{
		"Window":      {Scoring: kernel.Scoring{Mask: kernel.Window(n-queries, 0), QueryStart: []int{2*n - queries}}},
		"BlockSparse": {Scoring: kernel.Scoring{Mask: kernel.BlockSparse([]bool{false, true, false}, queries, n)}},
		"scores":      {Scoring: kernel.Scoring{Mask: kernel.Window(n-queries, 0), QueryStart: []int{2*n - queries}}, Outputs: kernel.Outputs{Scores: newTensor(1, 1, queries, 3*n), ScoreStage: kernel.ScoresMasked}},
	} {
		t.Run(name, func(t *testing.T) {
			memory := testutil.GuardedRegion(t, 3*page)
			k := kernel.BHLD(unsafe.Slice((*float32)(unsafe.Pointer(&memory[0])), 3*n*d), 1, 1, 3*n, d)
			for j := range 3 * n {
				copy(row(&k, 0, 0, j), normals(uint64(4+j), d))
			}
			q, v, dout := normalTensor(1, 1, 1, queries, d), normalTensor(2, 1, 1, 3*n, d), normalTensor(3, 1, 1, queries, d)
			attend := func() []float32 {
				out, o := newTensor(1, 1, queries, d), o
				o.LSE = newTensor(1, 1, queries, 1)
				must(t, Cosine{}.Attend(out, q, k, v, &o))
				g := kernel.Gradients{Q: newTensor(1, 1, queries, d), K: newTensor(1, 1, 3*n, d)}
				must(t, Cosine{}.Backward(g, dout, q, k, v, o.LSE, contracttest.BackwardOptions(o)))
				return slices.Concat(all(&out), all(&g.Q), all(&g.K))
			}
			want := attend()
			testutil.Fence(t, memory[:page])
			testutil.Fence(t, memory[2*page:])
			testutil.CheckBits(t, "results", attend(), want)
		})
	}
}

// TestCosineHiddenScores: scores of hidden keys are near the definition if the call asks for them.
func TestCosineHiddenScores(t *testing.T) {
	q, k, v := normalTensor(1, 1, 1, 3, 4), normalTensor(2, 1, 1, 20, 4), normalTensor(3, 1, 1, 20, 4)
	var scores [2]kernel.Tensor
	for x, m := range []kernel.Mask{{}, kernel.Window(2, 0).And(kernel.BlockSparse(make([]bool, 5), 3, 4))} {
		scores[x] = newTensor(1, 1, 3, 20)
		must(t, Cosine{}.Attend(newTensor(1, 1, 3, 4), q, k, v, &kernel.Options{Scoring: kernel.Scoring{Mask: m}, Outputs: kernel.Outputs{Scores: scores[x]}}))
	}
	equal(t, "scores", &scores[1], &scores[0])
}

// TestCosineOfNamedKeys: with lists of rows, and with a tree of queries, masks count entries and
// keys on a path. So a row whose number is beyond a length is a key all the same: the cosine is Dot
// of the rows x/|x| of all that are.
func TestCosineOfNamedKeys(t *testing.T) {
	const queries, keys, d = 5, 9, 6
	rows := func(seed uint64, n int) (x, unit kernel.Tensor) {
		all := normals(seed, n*d)
		units := make([]float32, len(all))
		for r := range n {
			sum := 0.0
			for _, x := range all[r*d:][:d] {
				sum += float64(x) * float64(x)
			}
			for i, x := range all[r*d:][:d] {
				units[r*d+i] = float32(float64(x) * (1 / math.Sqrt(sum)))
			}
		}
		return kernel.BHLD(all, 1, 1, n, d), kernel.BHLD(units, 1, 1, n, d)
	}
	q, unitQ := rows(1, queries)
	k, unitK := rows(2, keys)
	v, _ := rows(3, keys)
	for name, s := range map[string]kernel.Scoring{
		"lists":         {Mask: kernel.KeyLengths([]int{2}), KeyRows: kernel.KeyRows{Rows: []int32{8, 3, 0, 1}, Shape: [4]int{1, 1, 1, 4}}},
		"longer lists":  {Mask: kernel.KeyLengths([]int{keys + 2}), KeyRows: kernel.KeyRows{Rows: []int32{8, 7, 6, 5, 4, 3, 2, 1, 0, 8, 8, 8}, Shape: [4]int{1, 1, 1, keys + 3}}},
		"a tree":        {Mask: kernel.KeyLengths([]int{6}), QueryStart: []int{keys - queries}, Parents: []int32{-1, -1, 0, 0, 0}},
		"a tree's mask": {Mask: kernel.Window(3, 0), QueryStart: []int{keys - queries}, Parents: []int32{-1, 0, 0, 0, 2}},
	} {
		got, want := make([]float32, queries*d), make([]float32, queries*d)
		must(t, Cosine{}.Attend(kernel.BHLD(want, 1, 1, queries, d), q, v, v, nil)) // leaves other rows in the memory of copies
		must(t, Cosine{}.Attend(kernel.BHLD(got, 1, 1, queries, d), q, k, v, &kernel.Options{Scoring: s}))
		must(t, Dot{}.Attend(kernel.BHLD(want, 1, 1, queries, d), unitQ, unitK, v, &kernel.Options{Scoring: s}))
		testutil.CheckBits(t, name, got, want)
	}
}
