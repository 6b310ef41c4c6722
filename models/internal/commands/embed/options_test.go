package embed

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/safetensors"
)

// gemma is a tiny EmbeddingGemma, which sees 128 tokens.
const gemma = "../../../testdata/tiny/embeddinggemma-2"

// vectors returns the vectors of JSON lines.
func vectors(t *testing.T, args ...string) (all [][]float32) {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), append([]string{"-model", gemma}, args...), strings.NewReader(""), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(&out); d.More(); {
		var l struct {
			Cut       bool
			Embedding []float32
		}
		if err := d.Decode(&l); err != nil || l.Cut {
			t.Fatalf("%q: %+v, %v", args, l, err)
		}
		all = append(all, l.Embedding)
	}
	return all
}

// TestOptions: prompts, fewer dimensions and pieces of long texts, with a decoder.
func TestOptions(t *testing.T) {
	if got, want := vectors(t, "-text", "a", "-prompt", "query"), vectors(t, "-text", "task: search result | query: a"); !slices.Equal(got[0], want[0]) {
		t.Error("-prompt: another vector than that of the text with its prompt")
	}
	if got := vectors(t, "-text", "a", "-dimensions", "3"); len(got[0]) != 3 {
		t.Errorf("-dimensions: %d numbers, want 3", len(got[0]))
	}
	long := strings.Repeat("word ", 300)
	got := vectors(t, "-long", "split", "-overlap", "9", "-text", long+"one", "-text", long+"two")
	if slices.Equal(got[0], got[1]) {
		t.Error("-long split: the end of a text does not count")
	}
	for _, args := range [][]string{{"-long", "cut", "-overlap", "1"}, {"-dimensions", "-1"}, {"-type", "f64"}, {"-type", "f16"}, {"-type", "int8", "-o", "x.npy"}, {"-query-prompt", "query"}} {
		if err := run(t.Context(), append(args, "-model", gemma, "-text", "a"), nil, io.Discard, io.Discard); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
}

// TestFlagErrors: an option that does not fit the model is named as the flag that sets it.
func TestFlagErrors(t *testing.T) {
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"-dimensions", "-1"}, "-dimensions is -1, want 0 or more"},
		{[]string{"-dimensions", "999"}, "-dimensions is 999, want 0 to "},
		{[]string{"-long", "split", "-overlap", "200"}, "-overlap is 200, want less than 126, "},
		{[]string{"-prompt", "x"}, `-prompt is "x", want one of ["document" "query"]`},
		{[]string{"-query", "b", "-no-cache", "-query-prompt", "y"}, `-query-prompt is "y", want one of ["document" "query"]`},
		{[]string{"-model", "../../../testdata/tiny/bert-1", "-prompt", "x"}, `-prompt is "x", want none, as the model has no prompts`},
	} {
		err := run(t.Context(), append([]string{"-model", gemma, "-text", "a"}, x.args...), nil, io.Discard, io.Discard)
		if !errors.As(err, new(command.UsageError)) || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%q: %v, want %q", x.args, err, x.want)
		}
	}
	for model, want := range map[string]string{"bert-1": "multiples of 32", "embeddinggemma-2": "weights of Q8_0"} {
		err := run(t.Context(), []string{"-model", "../../../testdata/tiny/" + model, "-text", "a", "-precision", "int8"}, nil, io.Discard, io.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), "-precision: ../../../testdata/tiny/"+model+": got int8 of a model ") || !strings.Contains(err.Error(), want) {
			t.Errorf("-precision int8 with %s: %v", model, err)
		}
	}
}

// TestTypes: files of float16 and int8 have the vectors, off by half a step.
func TestTypes(t *testing.T) {
	want := vectors(t, "-text", "a", "-text", "b")
	for kind, step := range map[string]float64{"f16": 0x1p-11, "int8": 1.0 / 127} {
		path := filepath.Join(t.TempDir(), "v.safetensors")
		if err := run(t.Context(), []string{"-model", gemma, "-text", "a", "-text", "b", "-type", kind, "-o", path}, nil, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
		f, err := safetensors.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := f.Raw("embeddings")
		if err != nil {
			t.Fatal(err)
		}
		scales := []float32{0, 0}
		if kind == "int8" {
			if scales, err = f.Float32("scales"); err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range want {
			for j, x := range v {
				at, got := i*len(v)+j, 0.0
				if kind == "int8" {
					got = float64(int8(raw[at])) * float64(scales[i])
				} else {
					got = float64(kernel.F16(uint16(raw[2*at]) | uint16(raw[2*at+1])<<8).Float32())
				}
				if !(math.Abs(got-float64(x)) <= step/2) { // no number is above 1
					t.Errorf("%s: number %d of vector %d is %v, want %v", kind, j, i, got, x)
				}
			}
		}
		f.Close()
	}
}
