package rerank

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/encoder/berttest"
	"github.com/attn-go/attn/models/precision"
	"github.com/attn-go/attn/models/receipt"
)

const (
	model = "../../../testdata/tiny/reranker-bert-1"
	query = "The cat sits on the mat."
)

// rerank runs the command with a small model.
func rerank(t *testing.T, stdin string, args ...string) (all []result, report string, err error) {
	t.Helper()
	var o, r bytes.Buffer
	err = run(t.Context(), append([]string{"-model", model, "-query", query}, args...), strings.NewReader(stdin), &o, &r)
	for line := range strings.Lines(o.String()) {
		var x result
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, x)
	}
	return all, r.String(), err
}

func writeFile(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// scored returns passages with the scores and tokens of package encoder, best first.
func scored(t *testing.T, passages ...result) []result {
	t.Helper()
	r, err := encoder.LoadReranker(model, encoder.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range passages {
		p := &passages[i]
		s, err := r.Score(t.Context(), query, []string{p.Text})
		if err != nil {
			t.Fatal(err)
		}
		p.Score, p.Tokens = s[0], r.CountTokens(query, p.Text)
		p.Cut = p.Tokens > r.MaxTokens()
	}
	slices.SortStableFunc(passages, func(a, b result) int { return cmp.Compare(b.Score, a.Score) })
	return passages
}

// TestRank: passages of all sources have the scores of package encoder, to the bit, and where they
// are; best first.
func TestRank(t *testing.T) {
	path := writeFile(t, "a.txt", "a cat\n\nwhat is <attention>?\na mat\r\n")
	for _, c := range []struct {
		args  []string
		stdin string
		want  []result
	}{
		{[]string{path}, "", []result{{File: path, Line: 1, Text: "a cat"}, {File: path, Line: 3, Text: "what is <attention>?"}, {File: path, Line: 4, Text: "a mat"}}},
		{[]string{path, "-unit", "paragraph"}, "", []result{{File: path, Line: 1, Text: "a cat"}, {File: path, Line: 3, Last: 4, Text: "what is <attention>?\na mat"}}},
		{[]string{path, "-unit", "window"}, "", []result{{File: path, Line: 1, Last: 4, Text: "a cat\n\nwhat is <attention>?\na mat"}}},
		{[]string{"-text", "dogs", "-text", "cats\nrun", "-", "-threads", "1"}, "one\ntwo", []result{{Line: 1, Text: "dogs"}, {Line: 2, Text: "cats\nrun"}, {Line: 1, Text: "one"}, {Line: 2, Text: "two"}}},
		{nil, "one\none\n \ntwo\n", []result{{Line: 1, Text: "one"}, {Line: 2, Text: "one"}, {Line: 4, Text: "two"}}},
		{nil, "\n", nil},
	} {
		got, report, err := rerank(t, c.stdin, c.args...)
		if want := scored(t, c.want...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", c.args, got, err, want)
		}
		if !strings.Contains(report, " passages in ") {
			t.Errorf("%q: report %q", c.args, report)
		}
	}
	all, _, err := rerank(t, "", path)
	top, _, err2 := rerank(t, "", path, "-top", "2")
	if err := errors.Join(err, err2); err != nil || !slices.Equal(top, all[:2]) {
		t.Errorf("-top 2: %+v, %v, want the first two of %+v", top, err, all)
	}
}

// TestLong: a passage that is too long is cut with a warning, or refused.
func TestLong(t *testing.T) {
	long := strings.Repeat("cat ", 200)
	got, report, err := rerank(t, "", "-text", "a", "-text", long)
	if want := scored(t, result{Line: 1, Text: "a"}, result{Line: 2, Text: long}); err != nil || !slices.Equal(got, want) || !want[0].Cut && !want[1].Cut {
		t.Errorf("%+v, %v, want %+v, one of them cut", got, err, want)
	}
	if !strings.Contains(report, "warning: with the query, 1 of 2 passages") || !strings.Contains(report, "-text:2") {
		t.Errorf("report %q", report)
	}
	if got, _, err := rerank(t, "a", "-query", long, "-unit", "window"); got != nil || err == nil || !strings.Contains(err.Error(), "no room for windows") {
		t.Errorf("a query without room for windows: %v, %v", got, err)
	}
	if got, _, err := rerank(t, "", "-text", long, "-long", "error"); got != nil || err == nil || !strings.Contains(err.Error(), "-text:1 and the query have") {
		t.Errorf("-long error: %v, %v", got, err)
	}
}

// TestSettings: -label and -instruction change scores of models that have them, and are errors for
// others.
func TestSettings(t *testing.T) {
	const folders = "../../../testdata/tiny/reranker-"
	one := func(args ...string) float32 {
		got, _, err := rerank(t, "", append(args, "-query", "a cat", "-text", "it sits")...)
		if err != nil || len(got) != 1 {
			t.Fatalf("%q: %+v, %v", args, got, err)
		}
		return got[0].Score
	}
	yes, no := one("-model", folders+"qwen3-reranker-6"), one("-model", folders+"qwen3-reranker-6", "-label", "no")
	if yes == 0 || yes != -no || one("-model", folders+"qwen3-reranker-6", "-instruction", "Is it short?") == yes {
		t.Errorf("the scores of yes and no are %v and %v", yes, no)
	}
	if one("-model", folders+"deberta-nli-6", "-label", "neutral") == one("-model", folders+"deberta-nli-6", "-label", "entailment") {
		t.Error("two labels have the same score")
	}
	for want, args := range map[string][]string{
		"-label: ":       {"-model", folders + "deberta-nli-6"},
		"-instruction: ": {"-model", folders + "deberta-nli-6", "-label", "neutral", "-instruction", "Is it so?"},
	} {
		if got, _, err := rerank(t, "", append(args, "-query", "a", "-text", "b")...); got != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, %v, want an error that begins with %s", args, got, err, want)
		}
	}
}

// TestInt8: -precision int8 gives the scores of LoadOptions.Precision, and receipts say so.
func TestInt8(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "r.json")
	m := berttest.NewSized("bert.", 96, 64)
	m.AddClassifier()
	if err := m.Write(dir, "F32"); err != nil {
		t.Fatal(err)
	}
	plain, _, err := rerank(t, "", "-model", dir, "-query", "a b", "-text", "c")
	rounded, _, err2 := rerank(t, "", "-model", dir, "-query", "a b", "-text", "c", "-precision", "int8", "-receipt", file)
	r, err3 := encoder.LoadReranker(dir, encoder.LoadOptions{Precision: precision.Int8})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	want, err := r.Score(t.Context(), "a b", []string{"c"})
	if err != nil || rounded[0].Score != want[0] || rounded[0].Score == plain[0].Score {
		t.Errorf("%v with -int8 and %v without, want %v with it alone (%v)", rounded, plain, want, err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := receipt.Read(f)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d receipts, %v", len(all), err)
	}
	if err := receipt.VerifyRanking(t.Context(), all[0].Model, r, all[0], receipt.Options{}); err != nil {
		t.Error(err)
	}
	if _, _, err := rerank(t, "", "-text", "a", "-precision", "int8"); err == nil || !strings.HasPrefix(err.Error(), "-precision: "+model+": got int8 of a model of width 36") {
		t.Errorf("widths that no block fits: %v", err)
	}
}

// TestErrors: wrong usage, files that are not there, binary ones, and models that rank nothing.
func TestErrors(t *testing.T) {
	for _, args := range [][]string{{"-top", "0"}, {"-unit", "word"}, {"-long", "no"}, {"-threads", "-1"}, {"-tier", "none"}, {"-model", ""}, {"-m", "x"}, {"-query", " "}} {
		if _, _, err := rerank(t, "", args...); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
	if err := run(t.Context(), []string{"-model", model}, nil, nil, nil); !errors.As(err, new(command.UsageError)) || !strings.Contains(err.Error(), "-query") {
		t.Errorf("no query: %v", err)
	}
	if _, _, err := rerank(t, "", "none.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	got, report, err := rerank(t, "", writeFile(t, "b", "a\x00b"))
	if got != nil || err != nil || !strings.HasPrefix(report, "skipped ") {
		t.Errorf("binary: %v, %q, %v", got, report, err)
	}
	dir := t.TempDir()
	if err := berttest.New("bert.").Write(dir, "F32"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := rerank(t, "", "-model", dir); !errors.Is(err, models.ErrKind) || !strings.Contains(err.Error(), "the command embed takes") {
		t.Errorf("a model without a classifier: %v", err)
	}
	key, never := writeFile(t, "key", "no key"), filepath.Join(t.TempDir(), "r.json")
	if _, _, err := rerank(t, "", "-receipt", never, "-receipt-key", key, "-text", "a", "-model", "none"); err == nil || !strings.Contains(err.Error(), "-receipt-key "+key) {
		t.Errorf("a file that is no key, before the model is loaded: %v", err)
	}
	const prompted = "../../../testdata/tiny/reranker-qwen3-reranker-6"
	if _, _, err := rerank(t, "", "-model", prompted, "-query", strings.Repeat("a ", 999), "-text", "a"); err == nil || !strings.HasPrefix(err.Error(), "-query: got ") {
		t.Errorf("a query that fills the prompt: %v", err)
	}
	var help bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, nil, &help, nil); err != nil || !strings.Contains(help.String(), "usage: attn rerank") || !strings.Contains(help.String(), "-unit") {
		t.Errorf("help: %q, %v", &help, err)
	}
}

// TestInterrupt: a command whose context has ended writes nothing and says why.
func TestInterrupt(t *testing.T) {
	cause := errors.New("cause")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	var out, report bytes.Buffer
	if err := run(ctx, []string{"-model", model, "-query", query, "-text", "a"}, nil, &out, &report); !errors.Is(err, cause) || out.Len() > 0 {
		t.Errorf("%v and %q, want the cause and nothing", err, &out)
	}
}
