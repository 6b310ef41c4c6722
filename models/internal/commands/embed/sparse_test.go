package embed

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/encoder"
)

const m3 = "../../../testdata/tiny/bge-m3-25"

// TestSparse: lines have the weights of their tokens, to standard output and to a file, and other
// flags are refused.
func TestSparse(t *testing.T) {
	e, err := encoder.Load(m3, encoder.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"The cat sits on the mat.", "", "the cat the cat"}
	want, err := e.Sparse(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(want[0].Tokens) < 3 || len(want[1].Tokens) > 0 {
		t.Fatalf("weights %v", want)
	}
	path := filepath.Join(t.TempDir(), "out.jsonl")
	var out, report bytes.Buffer
	for _, args := range [][]string{nil, {"-o", path}} {
		if err := run(t.Context(), append(args, "-model", m3, "-sparse", "-"), strings.NewReader(strings.Join(texts, "\n")+"\n"), &out, &report); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != out.String() {
		t.Errorf("the file has %q, want %q (%v)", data, out.String(), err)
	}
	if !strings.Contains(report.String(), "3 texts with weights of tokens") {
		t.Errorf("report %q", report.String())
	}
	d := json.NewDecoder(&out)
	for i, w := range want {
		var got struct {
			Line, Tokens int
			Text         string
			Sparse       *struct {
				Indices []int32
				Values  []float32
			}
			Embedding []float32
		}
		if err := d.Decode(&got); err != nil || got.Sparse == nil || got.Embedding != nil {
			t.Fatalf("%+v, %v", got, err)
		}
		if got.Line != i+1 || got.Text != texts[i] || got.Tokens == 0 || got.Sparse.Indices == nil || !slices.Equal(got.Sparse.Indices, w.Tokens) || !slices.Equal(got.Sparse.Values, w.Weights) {
			t.Errorf("line %d: %+v, want %+v", i+1, got, w)
		}
	}
	for _, args := range [][]string{{"-query", "a"}, {"-receipt", "x"}, {"-dimensions", "3"}, {"-o", "x.npy"}} {
		if err := run(t.Context(), append(args, "-model", m3, "-sparse", "-text", "a"), nil, io.Discard, io.Discard); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
	if err := run(t.Context(), []string{"-model", "../../../testdata/tiny/xlm-roberta-1", "-sparse", "-text", "a"}, nil, io.Discard, io.Discard); !errors.Is(err, embedding.ErrNotSparse) {
		t.Errorf("a model without weights of tokens: %v", err)
	}
}

// TestSparseSplit: with -long split all of a text counts.
func TestSparseSplit(t *testing.T) {
	last := func(args ...string) (tokens []int32) {
		var out bytes.Buffer
		args = append([]string{"-model", m3, "-sparse", "-text", strings.Repeat("a ", 300) + "cat"}, args...)
		var got struct{ Sparse struct{ Indices []int32 } }
		if err := errors.Join(run(t.Context(), args, nil, &out, io.Discard), json.Unmarshal(out.Bytes(), &got)); err != nil {
			t.Fatal(err)
		}
		return got.Sparse.Indices
	}
	if cut, all := last(), last("-long", "split"); len(all) <= len(cut) {
		t.Errorf("tokens %d of a text that is cut, %d of all of it", cut, all)
	}
}
