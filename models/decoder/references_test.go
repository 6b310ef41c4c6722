package decoder

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/references"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/safetensors"
	"github.com/attn-go/attn/models/tokenizer"
	"github.com/attn-go/attn/numeric"
)

const testdata = "../testdata/smollm2"

// The tolerances; testdata/smollm2/README.md says where they come from.
const (
	logitTolerance      = 3e-4
	hiddenTolerance     = 1e-6 // of the largest component
	logprobTolerance    = 1e-4
	perplexityTolerance = 1e-5 // relative
)

// smollm2 returns the real model, which is loaded once. Without its file the test is skipped.
func smollm2(t testing.TB) *Model {
	t.Helper()
	path := testweights.Path(t, testweights.SmolLM2)
	loadOnce.Do(func() { loaded, loadError = Load(path, Options{}) })
	if loadError != nil {
		t.Fatal(loadError)
	}
	return loaded
}

var (
	loadOnce  sync.Once
	loaded    *Model
	loadError error
)

// TestReferences compares with what other implementations compute: the references of testdata, and
// with go test -run TestReferences -args -refs DIR another folder of the same form.
func TestReferences(t *testing.T) {
	folders := []string{testdata}
	if dir := references.Folder(""); dir != "" {
		folders = append(folders, dir)
	}
	tiny, err := filepath.Glob(tinyFolders)
	if err != nil || len(tiny) == 0 {
		t.Fatalf("no folders %s: %v", tinyFolders, err)
	}
	for _, folder := range append(folders, tiny...) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(folder, "refs.json")); err == nil {
				checkTinyFolder(t, folder)
				return
			}
			if references.IsMiniLM(folder) {
				t.Skipf("%s has references of sentence embeddings, which package encoder tests", folder)
			}
			r := readReferences(t, folder)
			m := smollm2(t)
			r.checkNames(t, m.Config().Layers)
			t.Run("tokens", func(t *testing.T) { r.checkTokens(t, m) })
			t.Run("greedy", func(t *testing.T) { r.checkGreedy(t, m) })
			for i := range r.prompts {
				p := &r.prompts[i]
				t.Run("prompt/"+p.Name, func(t *testing.T) { r.checkPrompt(t, m, p) })
			}
			t.Run("weights", r.checkWeights)
		})
	}
}

// A refsFolder has the references of a folder.
type refsFolder struct {
	inputs  inputs
	tokens  tokenReferences
	prompts []promptReference
	tensors *safetensors.File // nil if there are none
}

// inputs is inputs.json: what the references were made from.
type inputs struct {
	Strings []string
	Decode  [][]int32
	Weights bool
	Prompts []promptInput
}

type promptInput struct {
	Name       string
	Text       string
	Messages   []chattemplate.Message
	FullLogits bool `json:"full_logits"`
	Perplexity bool
	Hidden     bool
}

// tokenReferences is tokens.json.
type tokenReferences struct {
	Strings []struct {
		Text    string
		IDs     []int32
		Plain   []int32 `json:"ids_plain"`
		Decoded string
	}
	Decode []struct {
		IDs     []int32
		Bytes   string
		Text    string
		Visible string `json:"text_without_special"`
	}
}

// promptReference is an element of generate.json.
type promptReference struct {
	Name        string
	Messages    []chattemplate.Message
	Text        string
	IDs         []int32
	N           int
	Top20IDs    []int `json:"top20_ids"`
	Top20       []float32
	Greedy      []int32
	Gaps        []float64
	SmallestGap float64 `json:"smallest_gap"`
	EOS         int     `json:"eos_at"`
	GreedyText  string  `json:"greedy_text"`
	MeanLogprob float64 `json:"mean_logprob"`
	Perplexity  float64

	// How other implementations differ, which is not tested here.
	Check      any
	LogprobErr float64            `json:"max_abs_logprob_f32_f64"`
	HiddenErr  map[string]float64 `json:"hidden_max_abs_f32_f64"`
}

// readReferences reads a folder. What it does not know is an error.
func readReferences(t *testing.T, folder string) *refsFolder {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	r := &refsFolder{}
	known := map[string]any{"inputs.json": &r.inputs, "tokens.json": &r.tokens, "generate.json": &r.prompts}
	for _, f := range files {
		if _, ok := known[f.Name()]; !ok && f.Name() != "tensors.safetensors" && f.Name() != "README.md" && filepath.Ext(f.Name()) != ".py" {
			t.Errorf("%s: file %q is not known", folder, f.Name())
		}
	}
	for name, to := range known {
		decodeFile(t, filepath.Join(folder, name), to)
	}
	switch r.tensors, err = safetensors.Open(filepath.Join(folder, "tensors.safetensors")); {
	case errors.Is(err, fs.ErrNotExist):
		r.tensors = nil
	case err != nil:
		t.Fatal(err)
	default:
		t.Cleanup(func() { r.tensors.Close() })
	}
	r.check(t)
	return r
}

// decodeFile reads JSON without unknown keys.
func decodeFile(t *testing.T, path string, to any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// check tests that there is a reference for every input, in its order.
func (r *refsFolder) check(t *testing.T) {
	t.Helper()
	if len(r.prompts) != len(r.inputs.Prompts) || len(r.tokens.Strings) != len(r.inputs.Strings) || len(r.tokens.Decode) != len(r.inputs.Decode) {
		t.Fatalf("references of %d prompts, %d strings and %d id lists, want %d, %d and %d as the inputs", len(r.prompts), len(r.tokens.Strings), len(r.tokens.Decode),
			len(r.inputs.Prompts), len(r.inputs.Strings), len(r.inputs.Decode))
	}
	for i, in := range r.inputs.Prompts {
		if p := &r.prompts[i]; p.Name != in.Name || p.N != len(p.IDs) || len(p.Greedy) != len(p.Gaps) || len(p.Top20) != len(p.Top20IDs) || len(p.IDs) == 0 {
			t.Fatalf("prompt %d, %q, has lists that do not fit each other or inputs.json", i, p.Name)
		}
	}
	for i, s := range r.inputs.Strings {
		if r.tokens.Strings[i].Text != s {
			t.Errorf("string %d is %q in tokens.json, want %q", i, r.tokens.Strings[i].Text, s)
		}
	}
	for i, ids := range r.inputs.Decode {
		if !slices.Equal(r.tokens.Decode[i].IDs, ids) {
			t.Errorf("id list %d differs in tokens.json", i)
		}
	}
}

// names returns the names of the tensors.
func (r *refsFolder) names() []string {
	if r.tensors == nil {
		return nil
	}
	return r.tensors.Names()
}

// checkNames reports tensors that no test compares.
func (r *refsFolder) checkNames(t *testing.T, layers int) {
	hidden := slices.ContainsFunc(r.inputs.Prompts, func(p promptInput) bool { return p.Hidden })
	for _, name := range r.names() {
		kind, of, _ := strings.Cut(name, ".")
		ok := false
		switch layer, err := strconv.Atoi(of); kind {
		case "logits":
			ok = slices.ContainsFunc(r.inputs.Prompts, func(p promptInput) bool { return p.Name == of })
		case "argmax", "gap", "logprob":
			ok = slices.ContainsFunc(r.inputs.Prompts, func(p promptInput) bool { return p.Name == of && p.Perplexity })
		case "hidden":
			ok = hidden && (of == "embd" || of == "norm" || err == nil && layer >= 0 && layer < layers)
		case "layer0":
			ok = hidden && slices.Contains([]string{"norm", "q", "k", "v", "attn", "ffn_norm", "ffn"}, of)
		case "weight":
			ok = true
		}
		if !ok {
			t.Errorf("tensor %q is of no known kind, or inputs.json does not ask for it", name)
		}
	}
}

// has tells whether the folder has a tensor.
func (r *refsFolder) has(name string) bool { return slices.Contains(r.names(), name) }

// floats returns a tensor, or nil if the folder does not have it.
func (r *refsFolder) floats(t *testing.T, name string) []float32 {
	t.Helper()
	if !r.has(name) {
		return nil
	}
	x, err := r.tensors.Float32(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// checkPrompt compares everything but the greedy tokens.
func (r *refsFolder) checkPrompt(t *testing.T, m *Model, p *promptReference) {
	s := session(t, m, 1, len(p.IDs))
	seen := map[string][]float32{}
	in := r.inputs.Prompts[slices.IndexFunc(r.prompts, func(q promptReference) bool { return q.Name == p.Name })]
	if in.Hidden {
		s.tokens.See = func(name string, layer int, x []float32) {
			seen[fmt.Sprint(name, ".", layer)] = slices.Clone(x)
		}
	}
	logits := forward(t, s, Step{Text: s.NewText(), Tokens: p.IDs})[0]
	top := make([]int, len(p.Top20))
	if err := numeric.TopK(top, logits); err != nil {
		t.Fatal(err)
	}
	for i, id := range p.Top20IDs {
		if d := math.Abs(float64(logits[id] - p.Top20[i])); !(d <= logitTolerance) {
			t.Errorf("logit of %d: %v, want %v", id, logits[id], p.Top20[i])
		}
		if top[i] != id && math.Abs(float64(logits[top[i]]-p.Top20[i])) > logitTolerance {
			t.Errorf("token %d of the top is %d, want %d", i, top[i], id)
		}
	}
	if full := r.floats(t, "logits."+p.Name); full != nil {
		t.Logf("logits: largest difference %.2g", compare(t, "logits", logits, full, logitTolerance))
	}
	if in.Hidden {
		r.checkHidden(t, m, seen)
	}
	if in.Perplexity {
		r.checkPerplexity(t, m, p)
	}
}

// compare fails the test unless got is within tolerance of want, and returns the largest
// difference.
func compare(t *testing.T, what string, got, want []float32, tolerance float64) (worst float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return 0
	}
	for i := range want {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if !(d <= tolerance) {
			t.Errorf("%s: number %d is %v, want %v within %.2g", what, i, got[i], want[i], tolerance)
			return d
		}
		worst = max(worst, d)
	}
	return worst
}

// checkHidden compares the last rows of intermediate results.
func (r *refsFolder) checkHidden(t *testing.T, m *Model, seen map[string][]float32) {
	c, compared := m.Config(), 0
	queries, keys := c.Heads*c.HeadSize, c.KVHeads*c.HeadSize
	last := func(name string, width, from, n int) []float32 {
		x := seen[name]
		if len(x) < width {
			return nil
		}
		return x[len(x)-width:][from : from+n]
	}
	qkv := queries + 2*keys
	for _, name := range r.names() {
		var got []float32
		switch part, rest, _ := strings.Cut(name, "."); {
		case name == "hidden.embd":
			got = last("embd.0", c.Width, 0, c.Width)
		case name == "hidden.norm":
			got = last("norm.0", c.Width, 0, c.Width)
		case part == "hidden":
			got = last("hidden."+rest, c.Width, 0, c.Width)
		case name == "layer0.q":
			got = last("layer.qkv.0", qkv, 0, queries)
		case name == "layer0.k":
			got = last("layer.qkv.0", qkv, queries, keys)
		case name == "layer0.v":
			got = last("layer.qkv.0", qkv, queries+keys, keys)
		case name == "layer0.attn":
			got = last("layer.attn.0", queries, 0, queries)
		case part == "layer0":
			got = last("layer."+rest+".0", c.Width, 0, c.Width)
		default:
			continue
		}
		want := r.floats(t, name)
		largest := 0.0
		for _, x := range want {
			largest = max(largest, math.Abs(float64(x)))
		}
		compare(t, name, got, want, hiddenTolerance*largest)
		compared++
	}
	if compared == 0 {
		t.Log("NOT RUN: inputs.json asks for hidden states, but there are none")
	}
}

// checkPerplexity compares what the model says of every token of the prompt.
func (r *refsFolder) checkPerplexity(t *testing.T, m *Model, p *promptReference) {
	gap, logprob := r.floats(t, "gap."+p.Name), r.floats(t, "logprob."+p.Name)
	var argmax []int64
	if name := "argmax." + p.Name; r.has(name) {
		var err error
		if argmax, err = r.tensors.Int64(name); err != nil {
			t.Fatal(err)
		}
	}
	if gap != nil && len(gap) != p.N || argmax != nil && len(argmax) != p.N || logprob != nil && len(logprob) != p.N-1 {
		t.Fatalf("%d, %d and %d references of %d tokens", len(argmax), len(gap), len(logprob), p.N)
	}
	total, same := 0.0, 0
	eachRow(t, m, p.IDs, func(i int, row []float32) {
		top := make([]int, 2)
		if err := numeric.TopK(top, row); err != nil {
			t.Fatal(err)
		}
		if argmax != nil && argmax[i] == int64(top[0]) {
			same++
		} else if argmax != nil && row[top[0]]-row[argmax[i]] > 2*logitTolerance {
			t.Errorf("token after %d: %d, want %d", i, top[0], argmax[i])
		}
		if got := row[top[0]] - row[top[1]]; gap != nil && math.Abs(float64(got-gap[i])) > 2*logitTolerance {
			t.Errorf("gap after %d: %v, want %v", i, got, gap[i])
		}
		if i+1 == p.N {
			return
		}
		got := logProbability(row, p.IDs[i+1])
		if logprob != nil && !(math.Abs(got-float64(logprob[i])) <= logprobTolerance) {
			t.Errorf("log-probability of token %d: %v, want %v", i+1, got, logprob[i])
		}
		total += got
	})
	mean := total / float64(p.N-1)
	perplexity := math.Exp(-mean)
	if !(math.Abs(perplexity/p.Perplexity-1) <= perplexityTolerance && math.Abs(mean-p.MeanLogprob) <= perplexityTolerance) {
		t.Errorf("perplexity %v, mean %v, want %v and %v", perplexity, mean, p.Perplexity, p.MeanLogprob)
	}
	t.Logf("perplexity %.6f, reference %.6f; the most probable token is the same after %d of %d", perplexity, p.Perplexity, same, p.N)
}

// eachRow calls f with the logits after every token of a text.
func eachRow(t *testing.T, m *Model, tokens []int32, f func(i int, row []float32)) {
	t.Helper()
	s, vocab := session(t, m, 1, len(tokens)), m.Config().Vocab
	for text := s.NewText(); text.Len() < len(tokens); {
		at := text.Len()
		logits := forward(t, s, Step{Text: text, Tokens: tokens[at:min(at+64, len(tokens))], Logits: LogitsAll})[0]
		for i := range len(logits) / vocab {
			f(at+i, logits[i*vocab:][:vocab])
		}
	}
}

// logProbability returns the natural logarithm of a token's probability.
func logProbability(logits []float32, id int32) float64 {
	top, total := float64(logits[numeric.Argmax(logits)]), 0.0
	for _, x := range logits {
		total += math.Exp(float64(x) - top)
	}
	return float64(logits[id]) - top - math.Log(total)
}

// checkGreedy compares what the model continues all prompts with, side by side.
func (r *refsFolder) checkGreedy(t *testing.T, m *Model) {
	var prompts [][]int32
	most := 0
	for _, p := range r.prompts {
		prompts = append(prompts, p.IDs)
		most = max(most, len(p.Greedy))
	}
	if testing.Short() {
		most = min(most, 12)
	}
	got, texts := make([][]int32, len(prompts)), make([]string, len(prompts))
	for token, err := range m.GenerateBatch(t.Context(), prompts, GenerateOptions{MaxTokens: most, Stop: []int32{}}) {
		if err != nil {
			t.Fatal(err)
		}
		got[token.Index] = append(got[token.Index], token.ID)
		texts[token.Index] += token.Text
	}
	tok, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range r.prompts {
		if want := tok.Decode(got[i], false); !strings.HasPrefix(want, texts[i]) || len(want) > len(texts[i])+len("\uFFFD") {
			t.Errorf("%s: the texts of its tokens are %q, want %q", p.Name, texts[i], want)
		}
		for step, want := range p.Greedy[:min(most, len(p.Greedy))] {
			if p.Gaps[step] < 2*logitTolerance {
				t.Logf("%s: the gap at step %d is %v: what follows may differ", p.Name, step, p.Gaps[step])
				break
			}
			if got[i][step] != want {
				t.Errorf("%s: token %d is %d, want %d (gap %v)", p.Name, step, got[i][step], want, p.Gaps[step])
				break
			}
		}
		if p.EOS != slices.Index(p.Greedy, m.Stop()[0]) || p.SmallestGap != slices.Min(p.Gaps) {
			t.Errorf("%s: eos_at or smallest_gap contradicts greedy or gaps", p.Name)
		}
	}
}

// checkWeights compares rows of weights: weight.TENSOR.ROW.
func (r *refsFolder) checkWeights(t *testing.T) {
	f, err := gguf.Open(testweights.Path(t, testweights.SmolLM2))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, name := range r.names() {
		tensor, ok := strings.CutPrefix(name, "weight.")
		dot := strings.LastIndexByte(tensor, '.')
		if !ok || dot < 0 {
			continue
		}
		row, err := strconv.Atoi(tensor[dot+1:])
		w, found := f.Tensor(tensor[:dot])
		if err != nil || !found || row < 0 || row >= w.Shape[0] {
			t.Errorf("%s is no row of a tensor of the file", name)
			continue
		}
		all, err := w.Float32()
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, name, all[row*w.Shape[1]:][:w.Shape[1]], r.floats(t, name))
	}
}

// checkTokens compares the ids of texts and the texts of ids.
func (r *refsFolder) checkTokens(t *testing.T, m *Model) {
	tok, err := m.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got, want []int32) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: ids %v, want %v", what, got, want)
		}
	}
	for _, s := range r.tokens.Strings {
		same(fmt.Sprintf("%q", s.Text), tok.Encode(s.Text, tokenizer.Options{NoSpecial: true}), s.IDs)
		same(fmt.Sprintf("%q, plain", s.Text), tok.Encode(s.Text, tokenizer.Options{NoSpecial: true, Plain: true}), s.Plain)
		if got := tok.Decode(s.Plain, true); got != s.Decoded {
			t.Errorf("decoded %q, want %q", got, s.Decoded)
		}
	}
	for _, d := range r.tokens.Decode {
		if b, err := hex.DecodeString(d.Bytes); err != nil || tok.Decode(d.IDs, true) != strings.ToValidUTF8(string(b), "\uFFFD") {
			t.Errorf("%v: %q, want that of the bytes %s", d.IDs, tok.Decode(d.IDs, true), d.Bytes)
		}
		if with, without := tok.Decode(d.IDs, true), tok.Decode(d.IDs, false); with != d.Text || without != d.Visible {
			t.Errorf("%v: %q and %q, want %q and %q", d.IDs, with, without, d.Text, d.Visible)
		}
	}
	for _, p := range r.prompts {
		ids, err := m.Encode(p.Text, p.Messages != nil)
		if err != nil {
			t.Fatal(err)
		}
		same(p.Name, ids, p.IDs)
		if p.Messages != nil {
			if ids, err = m.EncodeChat(t.Context(), p.Messages); err != nil {
				t.Fatal(err)
			}
			same(p.Name+", messages", ids, p.IDs)
		}
		if got := tok.Decode(p.Greedy, true); got != p.GreedyText {
			t.Errorf("%s: greedy text %q, want %q", p.Name, got, p.GreedyText)
		}
	}
}
