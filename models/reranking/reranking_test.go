package reranking

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/tokenizer"
)

// TestLogOdds compares with float64: of one label the output, of several ones the logarithm of
// p/(1-p).
func TestLogOdds(t *testing.T) {
	for _, z := range [][]float64{{1.5}, {-3, 2}, {0.25, 0.25}, {1, -2, 0.5}, {100, -100, 99}, {-200, 3, 3, 3}} {
		for label := range z {
			want := z[label]
			if len(z) > 1 {
				others := 0.0
				for i, x := range z {
					if i != label {
						others += math.Exp(x - want)
					}
				}
				want = -math.Log(others)
			}
			got := float64(logOdds(z, label))
			if !(math.Abs(got-want) <= 1e-6*max(1, math.Abs(want))) { // of float32
				t.Errorf("%v: label %d has %v, want %v", z, label, got, want)
			}
		}
	}
	if x := logOdds([]float64{1, math.NaN(), 2}, 0); x == x {
		t.Errorf("the odds of NaN are %v", x)
	}
}

// TestSigmoid compares with float64, at the ends too.
func TestSigmoid(t *testing.T) {
	for _, x := range []float32{0, 1, -1, 0.3, -7, 20, -20, 90, -90, float32(math.Inf(1)), float32(math.Inf(-1))} {
		want := 1 / (1 + math.Exp(-float64(x)))
		if got := float64(Sigmoid(x)); !(math.Abs(got-want) <= 3e-7*want+1e-38) {
			t.Errorf("%v: %v, want %v", x, got, want)
		}
	}
}

// TestTemplate: what is no template for a query and a document is an error.
func TestTemplate(t *testing.T) {
	for _, text := range []string{"", "{query}", "{document}", "{document} {query}", "{query} {query} {document}", "{query} {document} {document}"} {
		if _, err := NewTemplate(nil, text, ""); err == nil || !strings.Contains(err.Error(), "{query} and {document}") {
			t.Errorf("%q: %v", text, err)
		}
	}
	p, err := NewTemplate(nil, "a {instruction} b {query}{document} {x}", "")
	if want := []string{"a ", "{instruction}", " b ", "{query}", "", "{document}", " {x}", ""}; err != nil || !slices.Equal(p.parts, want) || !p.instructed() {
		t.Errorf("parts %q, want %q (%v)", p.parts, want, err)
	}
}

// TestTemplateTexts: places in a query and special tokens in a passage are text.
func TestTemplateTexts(t *testing.T) {
	tok, err := tokenizer.Load("../testdata/tiny/reranker-qwen3-reranker-6")
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewTemplate(tok, "<|im_start|>{query}|{document}<|im_end|>", "")
	if err != nil {
		t.Fatal(err)
	}
	with, err := p.pairs(t.Context(), "", "{document}", 0)
	if err != nil {
		t.Fatal(err)
	}
	ids, _, err := with("<|im_end|>")
	const want = "<|im_start|>{document}|<|im_end|><|im_end|>"
	if got := tok.Decode(ids, true); err != nil || got != want {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
	end, _ := tok.ID("<|im_end|>")
	if n := len(slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return id != end })); n != 1 {
		t.Errorf("%d tokens that end, want 1", n)
	}
}

// TestTemplateLeft: with a tokenizer that leaves out the beginning of texts, the last tokens of a
// prompt stay, as in sentence-transformers.
func TestTemplateLeft(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("../testdata/tiny/reranker-qwen3-reranker-6/tokenizer.json")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "tokenizer.json"), data, 0o666)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(`{"truncation_side": "left"}`), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewTemplate(tok, "<|im_start|>{query}|{document}<|im_end|>\n", "")
	if err != nil {
		t.Fatal(err)
	}
	tokens := func(limit int) []int32 {
		with, err := p.pairs(t.Context(), "", "a b", limit)
		if err != nil {
			t.Fatal(err)
		}
		ids, _, err := with(strings.Repeat("the quick brown fox ", 20))
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	all := tokens(0)
	for _, limit := range []int{16, 40, len(all) - 1, len(all)} {
		if got, want := tokens(limit), all[len(all)-limit:]; !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
}

// TestChatRoles: a template that leaves out either role, or refuses, is none.
func TestChatRoles(t *testing.T) {
	for text, want := range map[string]string{
		`{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}`:                                         "",
		`{% for m in messages %}{% if m.role == "query" %}{{ m.content }}{% endif %}{% endfor %}`:                  "document",
		`{% for m in messages %}{% if m.role == "user" %}{{ m.content }}{% endif %}{% endfor %}`:                   "query",
		`{{ raise_exception("roles must be user and assistant") }}`:                                                "roles must be",
		`{{ messages[0].content }}{{ messages[1].content }}{% if messages[0].role == "query" %}{{ x }}{% endif %}`: "",
	} {
		template, err := chattemplate.New(text)
		if err != nil {
			t.Fatal(err)
		}
		err = (&Chat{Template: template}).CheckRoles()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestReadConfig: the labels and the function of CrossEncoder, as versions 6, 4 and 3 of
// sentence-transformers write it.
func TestReadConfig(t *testing.T) {
	for _, c := range []struct {
		config, sentences string
		labels            []string
		identity          bool
		bad               string // the key of the error
	}{
		{`{}`, "", nil, false, ""},
		{`{"id2label": {"0": "a", "1": "b"}}`, `{"activation_fn": "torch.nn.modules.activation.Sigmoid"}`, []string{"a", "b"}, false, ""},
		{`{"num_labels": 2, "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity", "version": "4.0"}}`, "", []string{"LABEL_0", "LABEL_1"}, true, ""},
		{`{"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}`, "", nil, true, ""},
		{`{"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}`, `{"activation_fn": "torch.nn.modules.activation.Sigmoid"}`, nil, false, ""},
		{`{"sbert_ce_default_activation_function": "torch.nn.modules.activation.Tanh"}`, "", nil, false, "sbert_ce_default_activation_function"},
		{`{"sentence_transformers": {"activation_fn": "mine.Function"}}`, "", nil, false, "sentence_transformers.activation_fn"},
		{`{"id2label": {"1": "a"}}`, "", nil, false, "id2label"},
		{`{"id2label": ["a"]}`, "", nil, false, "id2label"},
		{`{"of_ours": 1, "sentence_transformers": null, "pad_token_id": null}`, `{"activation_fn": null, "prompts": {}}`, nil, false, ""},
		{`{}`, `{"activation_fn": "torch.nn.modules.linear.Identity", "score_scale": 2}`, nil, false, "score_scale"},
		{`{}`, `{"Activation_fn": "torch.nn.modules.linear.Identity"}`, nil, false, "Activation_fn"},
		{`{"sentence_transformers": {"version": "5.0", "score_scale": 2}}`, "", nil, false, "sentence_transformers.score_scale"},
	} {
		dir := t.TempDir()
		files := map[string]string{configName: c.config, sentenceName: c.sentences}
		for name, text := range files {
			if text != "" {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, err := ReadConfig(dir)
		var bad *kernel.Error
		switch {
		case c.bad != "":
			if !errors.As(err, &bad) || bad.Arg() != c.bad {
				t.Errorf("%s: %v, want an error of %s", c.config, err, c.bad)
			}
		case err != nil || !slices.Equal(got.Labels, c.labels) || got.Identity != c.identity:
			t.Errorf("%s: %+v, want %q and %v (%v)", c.config, got, c.labels, c.identity, err)
		}
	}
}

// TestSetLabels: names fit the outputs, and differ.
func TestSetLabels(t *testing.T) {
	h := &Head{}
	for _, c := range []struct {
		names   []string
		outputs int
		fits    bool
	}{{nil, 1, true}, {nil, 3, true}, {[]string{"a", "b"}, 2, true}, {[]string{"a"}, 2, false}, {[]string{"a", "a"}, 2, false}, {nil, 0, false}} {
		err := h.SetLabels("m", c.names, c.outputs)
		if bad := (*kernel.Error)(nil); (err == nil) != c.fits || err != nil && (!errors.As(err, &bad) || !strings.HasPrefix(bad.Where, "m: ")) {
			t.Errorf("%q for %d outputs: %v", c.names, c.outputs, err)
		} else if c.fits && (len(h.Labels) != c.outputs || (h.Default == 0) != (c.outputs == 1)) {
			t.Errorf("%q for %d outputs: labels %q, default %d", c.names, c.outputs, h.Labels, h.Default)
		}
	}
}
