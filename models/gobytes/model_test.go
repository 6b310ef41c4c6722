package gobytes

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/models/safetensors"
)

var (
	//go:embed testdata/greedy.json
	greedyJSON []byte
	//go:embed testdata/logits.safetensors
	logitsFile []byte
)

func model(t testing.TB) *Model {
	t.Helper()
	m, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// reference returns the tokens that PyTorch read and the logits that it computed.
func reference(t testing.TB) (tokens []byte, logits []float32) {
	t.Helper()
	f, err := safetensors.New(bytes.NewReader(logitsFile), int64(len(logitsFile)))
	if err != nil {
		t.Fatal(err)
	}
	if tokens, err = f.Bytes("tokens"); err != nil {
		t.Fatal(err)
	}
	if logits, err = f.Float32("logits"); err != nil {
		t.Fatal(err)
	}
	return tokens, logits
}

// eachTier runs f on every tier that this CPU can run.
func eachTier(t *testing.T, f func(t *testing.T, tier kernel.Tier)) {
	for _, tier := range kernel.Tiers() {
		t.Run(tier.String(), func(t *testing.T) { f(t, tier) })
	}
}

func batch(t testing.TB, m *Model, texts int, s Settings) *Batch {
	t.Helper()
	b, err := m.NewBatch(texts, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// forward returns the logits of all texts, one after the other.
func forward(t testing.TB, b *Batch, tokens ...[]byte) []float32 {
	t.Helper()
	logits, err := b.Forward(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(logits...)
}

func sameBits(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// length returns how many tokens of the reference the slower tests read.
func length(tokens []byte) int {
	if testing.Short() {
		return 40
	}
	return len(tokens)
}

// TestLogits compares with PyTorch's logits on a text of 512 bytes. Both compute in
// float32, but in another order, and so round differently. The logits are up to 20.
func TestLogits(t *testing.T) {
	m := model(t)
	tokens, want := reference(t)
	eachTier(t, func(t *testing.T, tier kernel.Tier) {
		n := length(tokens)
		got := forward(t, batch(t, m, 1, Settings{Tier: tier}), tokens[:n])
		worst := 0.0
		for i, x := range got {
			worst = max(worst, math.Abs(float64(x)-float64(want[i])))
		}
		t.Logf("largest difference to PyTorch: %.2g", worst)
		if !(worst <= 1e-4) {
			t.Errorf("logits differ by %g, want at most 1e-4", worst)
		}
	})
}

// TestSameBits: the bits do not depend on the tier, the threads, the calls that a text is
// cut into, or the batch. As the generic tier is slow, it makes some calls with one thread,
// the others with two, and reads 60 bytes one by one.
func TestSameBits(t *testing.T) {
	m := model(t)
	tokens, _ := reference(t)
	tokens = tokens[:min(300, length(tokens))]
	want := forward(t, batch(t, m, 1, Settings{Tier: kernel.Tiers()[len(kernel.Tiers())-1], Threads: 1}), tokens)
	eachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, threads := range []int{1, 2} {
			s := Settings{tier, threads}
			slow := tier.String() == "generic"
			if !slow || threads == 2 { // want is what generic gives with one
				sameBits(t, fmt.Sprint("threads ", threads), forward(t, batch(t, m, 1, s), tokens), want)
			}
			for _, chunk := range []int{1, 7, 64} {
				if slow && (chunk == 64) != (threads == 2) {
					continue
				}
				tokens := tokens
				if slow && chunk == 1 {
					tokens = tokens[:min(60, len(tokens))]
				}
				b := batch(t, m, 1, s)
				var got []float32
				for c := range slices.Chunk(tokens, chunk) {
					got = append(got, forward(t, b, c)...)
				}
				sameBits(t, fmt.Sprint("chunks of ", chunk), got, want[:len(tokens)*m.Vocab])
			}
			if !slow || threads == 2 {
				checkBatch(t, m, s, tokens, want)
			}
		}
	})
}

// checkBatch reads prefixes of different lengths side by side, then one more token of
// each.
func checkBatch(t *testing.T, m *Model, s Settings, tokens []byte, want []float32) {
	t.Helper()
	const texts = 8
	b := batch(t, m, texts, s)
	heads, next := make([][]byte, texts), make([][]byte, texts)
	for i := range heads {
		n := len(tokens) * i / texts
		heads[i], next[i] = tokens[:n], tokens[n:n+1]
	}
	got := forward(t, b, heads...)
	for i, h := range heads {
		n := len(h) * m.Vocab
		sameBits(t, fmt.Sprint("text ", i, " of 8"), got[:n], want[:n])
		got = got[n:]
	}
	got = forward(t, b, next...)
	for i, h := range heads {
		sameBits(t, fmt.Sprint("next of text ", i, " of 8"), got[i*m.Vocab:][:m.Vocab], want[len(h)*m.Vocab:][:m.Vocab])
	}
}

// TestGreedy continues four prompts with the same bytes as PyTorch. The two largest logits
// always differ by 0.004 or more, so rounding cannot change a byte.
func TestGreedy(t *testing.T) {
	var cases []struct{ Prompt, Appended string }
	if err := json.Unmarshal(greedyJSON, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("no prompts")
	}
	m := model(t)
	eachTier(t, func(t *testing.T, tier kernel.Tier) {
		for _, c := range cases {
			want := latin1(c.Appended)
			if testing.Short() || tier.String() == "generic" {
				want = want[:40]
			}
			b := batch(t, m, 1, Settings{Tier: tier})
			logits := forward(t, b, []byte(c.Prompt))
			var got []byte
			for range want {
				got = append(got, Greedy(logits[len(logits)-m.Vocab:]))
				logits = forward(t, b, got[len(got)-1:])
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%q goes on with %q, want %q", c.Prompt, got, want)
			}
		}
	})
}

// latin1 returns a byte for each character of a text in Latin-1.
func latin1(s string) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return b
}

// TestObserve: Observe gets the weights of each layer in turn, of the new tokens over all
// tokens of a text. It does not change a bit of the logits.
func TestObserve(t *testing.T) {
	m := model(t)
	tokens, _ := reference(t)
	plain, observed := batch(t, m, 2, Settings{}), batch(t, m, 2, Settings{})
	for _, from := range []int{0, 6} { // two calls: 6 and 2 tokens, then 5 and 2
		next := [][]byte{tokens[from:min(from+6, 11)], tokens[from : from+2]}
		starts := [2]int{observed.Len(0), observed.Len(1)}
		layers := 0
		observed.Observe = func(layer int, weights []float32, shape [4]int) {
			if want := [4]int{2, m.Heads, len(next[0]), starts[0] + len(next[0])}; layer != layers || shape != want {
				t.Errorf("layer %d: weights of shape %v, want layer %d and shape %v", layer, shape, layers, want)
			}
			layers++
			for text, n := range next {
				checkWeights(t, weights, shape, text, starts[text], len(n))
			}
		}
		sameBits(t, "observed", forward(t, observed, next...), forward(t, plain, next...))
		if layers != m.Layers {
			t.Errorf("%d layers, want %d", layers, m.Layers)
		}
	}
}

// checkWeights checks the weights of the new tokens of a text, which begin at position
// start: they are 0 for later tokens and sum up to 1. Padding rows are zeros.
func checkWeights(t *testing.T, weights []float32, shape [4]int, text, start, tokens int) {
	t.Helper()
	for h := range shape[1] {
		for l := range shape[2] {
			sum, want := 0.0, 1.0
			if l >= tokens {
				want = 0
			}
			row := weights[((text*shape[1]+h)*shape[2]+l)*shape[3]:][:shape[3]]
			for j, w := range row {
				if sum += float64(w); w < 0 || w > 0 && j > start+l {
					t.Fatalf("text %d, head %d: token %d attends to token %d with weight %v", text, h, start+l, j, w)
				}
			}
			if math.Abs(sum-want) > 1e-5 {
				t.Fatalf("text %d, head %d: the weights of token %d sum up to %v, want %v", text, h, start+l, sum, want)
			}
		}
	}
}

// TestAttend: a program can keep the keys and values itself, and compute attention.
func TestAttend(t *testing.T) {
	m := model(t)
	tokens, _ := reference(t)
	plain, other := batch(t, m, 1, Settings{}), batch(t, m, 1, Settings{})
	caches := make([]*kvcache.Batch, m.Layers)
	for i := range caches {
		cache, err := kvcache.New(kvcache.Config{Heads: m.KVHeads, HeadSize: m.HeadSize, Pages: 1})
		if err != nil {
			t.Fatal(err)
		}
		if caches[i], err = cache.NewBatch(cache.NewSequence()); err != nil {
			t.Fatal(err)
		}
	}
	other.Attend = func(layer int, out, q, k, v kernel.Tensor) error {
		c := caches[layer]
		if err := c.Append(k, v); err != nil {
			return err
		}
		k, v = c.View(0)
		return kernel.Attention(out, q, k, v, &kernel.Options{Scoring: c.Scoring()})
	}
	for _, next := range [][]byte{tokens[:9], tokens[9:10], tokens[10:12]} {
		sameBits(t, "own attention", forward(t, other, next), forward(t, plain, next))
	}
	failure := errors.New("failure")
	other.Attend = func(int, kernel.Tensor, kernel.Tensor, kernel.Tensor, kernel.Tensor) error { return failure }
	if _, err := other.Forward([][]byte{tokens[:1]}); !errors.Is(err, failure) || other.Len(0) != 12 {
		t.Errorf("%v, %d tokens", err, other.Len(0))
	}
}

func TestErrors(t *testing.T) {
	m := model(t)
	b := batch(t, m, 1, Settings{})
	for _, tokens := range [][][]byte{nil, {make([]byte, m.Context+1)}, {{1}, {2}}} {
		if _, err := b.Forward(tokens); err == nil || b.Len(0) != 0 {
			t.Errorf("tokens for %d texts: error %v, length %d", len(tokens), err, b.Len(0))
		}
	}
}

// TestBadFiles: loading a damaged file returns an error, wherever the damage is.
func TestBadFiles(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"empty":         func(b []byte) []byte { return nil },
		"cut":           func(b []byte) []byte { return b[:len(b)-1] },
		"header's size": func(b []byte) []byte { b[0]++; return b },
		"other config":  func(b []byte) []byte { return bytes.Replace(b, []byte(`\"width\": 192`), []byte(`\"width\": 191`), 1) },
		"no config":     func(b []byte) []byte { return bytes.Replace(b, []byte(`"config"`), []byte(`"donfig"`), 1) },
		"other name":    func(b []byte) []byte { return bytes.Replace(b, []byte(`"norm.weight"`), []byte(`"norm.veight"`), 1) },
		"other type":    func(b []byte) []byte { return bytes.Replace(b, []byte(`"F16"`), []byte(`"I16"`), 1) },
	} {
		b := damage(slices.Clone(embedded))
		if bytes.Equal(b, embedded) {
			t.Fatalf("%s: nothing was damaged", name)
		}
		if _, err := Load(bytes.NewReader(b), int64(len(b))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkToken(b *testing.B) {
	m := model(b)
	tokens, _ := reference(b)
	texts := batch(b, m, 1, Settings{Threads: 1})
	forward(b, texts, tokens[:256])
	b.ReportAllocs()
	next := [][]byte{tokens[256:257]}
	for b.Loop() {
		if _, err := texts.Forward(next); err != nil {
			b.Fatal(err)
		}
		if err := texts.Truncate(0, 256); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
