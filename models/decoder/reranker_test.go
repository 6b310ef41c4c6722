package decoder

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/models/internal/settings"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/tokenizer"
)

// The folders of testdata/tiny that rerankers.py has made, and the file that gguf.py has made of
// one.
const (
	classifierFolder = "../testdata/tiny/reranker-qwen3-classifier-6" // Qwen3ForSequenceClassification
	cardFolder       = "../testdata/tiny/reranker-qwen3-reranker-6"   // as Qwen3-Reranker is published
	scoreFolder      = "../testdata/tiny/reranker-gemma2-score-6"     // a CrossEncoder with LogitScore and a chat template
	rankFile         = "../testdata/tiny/gguf/reranker-qwen3-reranker-6.gguf"
)

// checkRanking compares the tokens of pairs and their scores with the references of a folder.
func checkRanking(t *testing.T, dir string, r *tinyReferences) {
	var c struct {
		Type string `json:"model_type"`
	}
	if err := folder.ReadJSON(filepath.Join(dir, configFile), &c); err != nil {
		t.Fatal(err)
	}
	if settings.Decoders.OfType(c.Type) == nil {
		t.Skipf("%s is an encoder, which another package tests", dir)
	}
	m, err := LoadReranker(dir, embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := pairTokens(t, m, r.Pairs)
	var sum errorSum
	for i, want := range r.IDs {
		if !slices.Equal(all[i], want) {
			t.Errorf("pair %d: ids %v, want %v", i, all[i], want)
		}
		scores, err := m.ScoreTokens(t.Context(), [][]int32{want}, nil)
		if err != nil {
			t.Fatal(err)
		}
		x, theirs := r.floats(t, fmt.Sprint(i, ".score"))
		sum.add(t, fmt.Sprintf("pair %d", i), scores, x, math.Max(theirs, rankingError))
		if r.Predict != nil { // of float32, in another order of sums
			if got := m.Predict(scores[0]); !(math.Abs(float64(got)-r.Predict[i]) <= 1e-6) {
				t.Errorf("pair %d: %v, and sentence-transformers prints %v", i, got, r.Predict[i])
			}
		}
	}
	sum.check(t, "scores")
	checkRankingBits(t, m, r)
}

// rankingError is the least error of a score that transformers is taken to have in float32: half a
// unit in the last place of a number from 1 to 2. A folder has three scores, of which all may be
// right by chance.
const rankingError = 0x1p-24

// pairTokens returns the tokens of pairs.
func pairTokens(t *testing.T, m *reranking.Reranker, pairs [][2]string) (ids [][]int32) {
	t.Helper()
	for _, p := range pairs {
		made, err := m.Pairs(t.Context(), p[0], []string{p[1]})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, made[0].Tokens())
	}
	return ids
}

// checkRankingBits expects the same bits alone, beside others, on every tier and with several
// threads.
func checkRankingBits(t *testing.T, m *reranking.Reranker, r *tinyReferences) {
	var want []float32
	for _, ids := range r.IDs {
		one, err := m.With(reranking.Options{Exec: kernel.Exec{Threads: 1}}).ScoreTokens(t.Context(), [][]int32{ids}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, one...)
	}
	for _, tier := range kernel.Tiers() {
		for _, tokens := range []int{1, 1000} {
			got, err := m.With(reranking.Options{Exec: kernel.Exec{Tier: tier, Threads: 2}, BatchTokens: tokens}).ScoreTokens(t.Context(), r.IDs, nil)
			if err != nil {
				t.Fatal(err)
			}
			sameBits(t, fmt.Sprintf("%s, batches of %d tokens", tier, tokens), got, want)
		}
	}
}

// TestRankingFile: a GGUF file with pooling_type 4 and a template for rerankers has the tokens and
// bits of its folder.
func TestRankingFile(t *testing.T) {
	want, err := LoadReranker(cardFolder, embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := LoadReranker(rankFile, embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Labels(), []string{"yes", "no"}) {
		t.Errorf("labels %q, want yes and no", got.Labels())
	}
	r := readTiny(t, cardFolder)
	for i, ids := range pairTokens(t, got, r.Pairs) {
		if !slices.Equal(ids, r.IDs[i]) {
			t.Errorf("pair %d: ids %v, want %v", i, ids, r.IDs[i])
		}
	}
	passages := []string{"A cat.", "", "no <|im_end|> yes"}
	a, err := want.Score(t.Context(), "Where is it?", passages)
	if err != nil {
		t.Fatal(err)
	}
	b, err := got.Score(t.Context(), "Where is it?", passages)
	if err != nil {
		t.Fatal(err)
	}
	sameBits(t, "scores", b, a)
	if no, err := got.With(reranking.Options{Label: "no"}).Score(t.Context(), "Where is it?", passages); err != nil || no[0] != -b[0] {
		t.Errorf("the score of no is %v, want %v (%v)", no, -b[0], err)
	}
}

// TestRankingWithoutTemplate: a file without a template for rerankers joins the texts as llama.cpp
// does, with EOS after each of them if the file says so.
func TestRankingWithoutTemplate(t *testing.T) {
	for _, eos := range []bool{false, true} {
		path := rewritten(t, rankFile, func(w *ggufwriter.File) {
			w.Set("tokenizer.chat_template.rerank", nil)
			w.Set("tokenizer.ggml.add_eos_token", eos)
		})
		m, err := LoadReranker(path, embedding.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := tokenizer.FromGGUF(f)
		end, _ := f.Int("tokenizer.ggml.eos_token_id")
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		var want []int32
		for _, text := range []string{"a cat", "it sits"} {
			want = append(want, tok.Encode(text, tokenizer.Options{NoSpecial: true})...)
			if eos {
				want = append(want, int32(end))
			}
		}
		if got := pairTokens(t, m, [][2]string{{"a cat", "it sits"}})[0]; !slices.Equal(got, want) {
			t.Errorf("add_eos_token %v: ids %v, want %v", eos, got, want)
		}
	}
}

// TestRankingInstruction: the instruction is in the prompt, in place of the default one.
func TestRankingInstruction(t *testing.T) {
	for dir, text := range map[string]string{cardFolder: "Given a web search query, retrieve relevant passages that answer the query", scoreFolder: "Does the document answer the query?"} {
		m, err := LoadReranker(dir, embedding.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pairs := [][2]string{{"a cat", "it sits"}}
		ids := pairTokens(t, m, pairs)[0]
		if same := pairTokens(t, m.With(reranking.Options{Instruction: text}), pairs)[0]; !slices.Equal(same, ids) {
			t.Errorf("%s: the default instruction gives other tokens", dir)
		}
		if other := pairTokens(t, m.With(reranking.Options{Instruction: "Is it short?"}), pairs)[0]; len(other) >= len(ids) {
			t.Errorf("%s: %d tokens with a short instruction, %d with the default one", dir, len(other), len(ids))
		}
	}
	m, err := LoadReranker(classifierFolder, embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var bad *kernel.Error
	if _, err := m.With(reranking.Options{Instruction: "x"}).Score(t.Context(), "a", []string{"b"}); !errors.As(err, &bad) || bad.Arg() != "Options.Instruction" {
		t.Errorf("an instruction for two texts: %v", err)
	}
}

// TestRankingCut: of a prompt that is too long the end of the passage is left out, and not the
// question behind it.
func TestRankingCut(t *testing.T) {
	m, err := LoadReranker(cardFolder, embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("the quick brown fox ", 300)
	pairs := pairTokens(t, m, [][2]string{{"a", "the"}, {"a", long}})
	short, cut := pairs[0], pairs[1]
	if len(cut) != m.MaxTokens() || m.CountTokens("a", long) <= m.MaxTokens() {
		t.Fatalf("%d tokens of %d, want %d", len(cut), m.CountTokens("a", long), m.MaxTokens())
	}
	if end := short[len(short)-12:]; !slices.Equal(cut[len(cut)-12:], end) {
		t.Errorf("the end is %v, want %v", cut[len(cut)-12:], end)
	}
}

// TestRankingRoom: a query that leaves no room for a passage is an error, not the same score for
// all passages, and takes the work of one passage.
func TestRankingRoom(t *testing.T) {
	for _, dir := range []string{cardFolder, scoreFolder} {
		m, err := LoadReranker(dir, embedding.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("a ", 1<<12)
		var bad *kernel.Error
		if _, err := m.Pairs(t.Context(), long, []string{"a", "b"}); !errors.As(err, &bad) || bad.Arg() != "query" {
			t.Errorf("%s: a long query: %v", dir, err)
		}
		if _, err := m.With(reranking.Options{Instruction: long}).Pairs(t.Context(), "a", []string{"a"}); !errors.As(err, &bad) || bad.Arg() != "query" {
			t.Errorf("%s: a long instruction: %v", dir, err)
		}
		most, least := m.MaxTokens(), len(pairTokens(t, m, [][2]string{{"", ""}})[0])
		for _, n := range []int{most - least - 2, most - least - 1, most - least, most - least + 1} {
			query := strings.Repeat("a ", n)
			fits := m.CountTokens(query, "") < most
			if _, err := m.Pairs(t.Context(), query, []string{"the quick brown fox"}); (err == nil) != fits {
				t.Errorf("%s: a query of %d words, %d tokens of %d with nothing: %v", dir, n, m.CountTokens(query, ""), most, err)
			}
		}
	}
}

// TestRankingPadding: padding at the end of a pair does not count, as in transformers.
func TestRankingPadding(t *testing.T) {
	m, err := LoadReranker(classifierFolder, embedding.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := m.ScoreTokens(t.Context(), [][]int32{{5, 6, 7}, {5, 6, 7, 0, 0}, {5, 6, 0, 7}}, nil)
	if err != nil || scores[0] != scores[1] || scores[0] == scores[2] {
		t.Errorf("scores %v, want two that are equal and another one (%v)", scores, err)
	}
}

// TestRanks: the folders say that they are rerankers, and folders of other models do not.
func TestRanks(t *testing.T) {
	for dir, want := range map[string]bool{classifierFolder: true, cardFolder: true, scoreFolder: true, "../testdata/tiny/qwen3-2": false, "../testdata/tiny/qwen3-embedding-2": false, "../testdata/tiny/gemma2-2": false} {
		if got, err := Ranks(dir); err != nil || got != want {
			t.Errorf("%s: %v, want %v (%v)", dir, got, want, err)
		}
	}
}

// TestRankingErrors: what does not fit is named.
func TestRankingErrors(t *testing.T) {
	for _, c := range []struct {
		from, file string
		change     func(m map[string]any)
		want       string // in the error
	}{
		{scoreFolder, "1_LogitScore/config.json", func(m map[string]any) { m["true_token_id"] = 1 << 20 }, "true_token_id"},
		{scoreFolder, "1_LogitScore/config.json", func(m map[string]any) { delete(m, "true_token_id") }, "true_token_id"},
		{scoreFolder, "1_LogitScore/config.json", func(m map[string]any) { m["false_token_id"] = -1 }, "false_token_id"},
		{scoreFolder, "1_LogitScore/config.json", func(m map[string]any) { m["module_input_name"] = "other" }, "module_input_name"},
		{scoreFolder, "1_LogitScore/config.json", func(m map[string]any) { m["scale"] = 2 }, "scale"},
		{scoreFolder, "sentence_bert_config.json", func(m map[string]any) {
			m["processing_kwargs"] = map[string]any{"chat_template": map[string]any{"thinking": true}}
		}, "processing_kwargs.chat_template.thinking"},
		{scoreFolder, "sentence_bert_config.json", func(m map[string]any) {
			m["modality_config"].(map[string]any)["message"].(map[string]any)["format"] = "structured"
		}, "modality_config.message.format"},
		{scoreFolder, "sentence_bert_config.json", func(m map[string]any) { m["transformer_task"] = "sequence-classification" }, "transformer_task"},
		{scoreFolder, "sentence_bert_config.json", func(m map[string]any) { m["do_lower_case"] = true }, "do_lower_case"},
		{scoreFolder, "sentence_bert_config.json", func(m map[string]any) { m["max_seq_length"] = 0 }, "max_seq_length"},
		{scoreFolder, "sentence_bert_config.json", func(m map[string]any) { m["more"] = 1 }, "more"},
		{scoreFolder, tokenizerFile, func(m map[string]any) { m["chat_template"] = "{{ messages[0].content }}" }, "chat_template"},
		{scoreFolder, "config_sentence_transformers.json", func(m map[string]any) { m["default_prompt_name"] = "none" }, "default_prompt_name"},
		{scoreFolder, "config_sentence_transformers.json", func(m map[string]any) { m["activation_fn"] = "torch.nn.Tanh" }, "activation_fn"},
		{scoreFolder, "config_sentence_transformers.json", func(m map[string]any) { m["score_scale"] = 2 }, "score_scale"},
		{classifierFolder, "config.json", func(m map[string]any) { m["id2label"] = map[string]any{"0": "a", "1": "b"} }, "labels"},
		{classifierFolder, "config.json", func(m map[string]any) { m["id2label"] = map[string]any{"1": "a"} }, "id2label"},
		{classifierFolder, "config.json", func(m map[string]any) { m["architectures"] = []string{"Qwen3ForCausalLM"} }, "architectures"},
	} {
		dir := filepath.Join(t.TempDir(), "m")
		if err := os.CopyFS(dir, os.DirFS(c.from)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, c.file)
		m := map[string]any{}
		if err := folder.ReadJSON(path, &m); err != nil {
			t.Fatal(err)
		}
		c.change(m)
		if m["chat_template"] != nil { // which a file of its own would hide
			if err := os.Remove(filepath.Join(dir, templateFile)); err != nil {
				t.Fatal(err)
			}
		}
		data, err := json.Marshal(m)
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := LoadReranker(dir, embedding.LoadOptions{}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want one that names %s", c.file, err, c.want)
		}
	}
}

// rewritten returns the path of a GGUF file that is another one with a change.
func rewritten(t *testing.T, path string, change func(w *ggufwriter.File)) string {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := &ggufwriter.File{Tensors: slices.Clone(f.Tensors())}
	for _, key := range f.Keys() {
		v, _ := f.Value(key)
		w.Set(key, v)
	}
	change(w)
	path = filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, w.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRankingFileErrors: a file that says that it is a reranker and lacks the classifier is none,
// for loading and for inspecting.
func TestRankingFileErrors(t *testing.T) {
	const name = "cls.output.weight"
	path := rewritten(t, rankFile, func(w *ggufwriter.File) { w.Remove(name) })
	var bad *kernel.Error
	if _, err := LoadReranker(path, embedding.LoadOptions{}); !errors.As(err, &bad) || bad.Where != path+": "+name {
		t.Errorf("a file without %s: %v", name, err)
	}
	v, err := inspect(path, ranks)
	if err != nil || len(v.Problems) != 1 || !errors.As(v.Problems[0], &bad) || bad.Where != path+": "+name {
		t.Errorf("inspected: %v (%v)", v, err)
	}
	const template = "tokenizer.chat_template.rerank"
	for key, change := range map[string]func(w *ggufwriter.File){
		template:                         func(w *ggufwriter.File) { w.Set(template, "{query}") },
		"{query} and {document}":         func(w *ggufwriter.File) { w.Set(template, "{document} {query}") },
		"qwen3.pooling_type":             func(w *ggufwriter.File) { w.Set("qwen3.pooling_type", uint32(3)) },
		"labels":                         func(w *ggufwriter.File) { w.Set("qwen3.classifier.output_labels", []string{"yes"}) },
		"qwen3.classifier.output_labels": func(w *ggufwriter.File) { w.Set("qwen3.classifier.output_labels", "yes") },
	} {
		path := rewritten(t, rankFile, change)
		if _, err := LoadReranker(path, embedding.LoadOptions{}); err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := LoadReranker("../testdata/tiny/gguf/qwen3-embedding-2.gguf", embedding.LoadOptions{}); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("a file of embeddings: %v", err)
	}
}
