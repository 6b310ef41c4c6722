package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/encoder/berttest"
	"github.com/attn-go/attn/models/internal/flags"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/safetensors"
)

// runWith runs the command with the real model.
func runWith(t *testing.T, stdin string, args ...string) (out, report string) {
	t.Helper()
	var o, r bytes.Buffer
	args = append([]string{"-model", testweights.Path(t, testweights.MiniLM), "-cache-dir", t.TempDir()}, args...)
	if err := run(t.Context(), args, strings.NewReader(stdin), &o, &r); err != nil {
		t.Fatal(err)
	}
	return o.String(), r.String()
}

type record struct {
	File      string
	Line      int
	Text      string
	Tokens    int
	Cut       bool
	Embedding []float32
}

func records(t *testing.T, out string) (all []record) {
	t.Helper()
	for text := range strings.Lines(out) {
		var r record
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		all = append(all, r)
	}
	return all
}

// embeddings returns what package encoder computes.
func embeddings(t *testing.T, texts ...string) [][]float32 {
	t.Helper()
	e, err := encoder.Load(testweights.Path(t, testweights.MiniLM), encoder.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func writeFile(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestJSONLines embeds texts from all sources.
func TestJSONLines(t *testing.T) {
	path := writeFile(t, "lines.txt", "one\r\n\n<caf\xe9>")
	want := embeddings(t, "one", "", "<caf>")
	for _, c := range []struct {
		args        []string
		stdin, file string
		texts       []string
	}{
		{[]string{"-text", "one", "-text", "", "-text", "<caf>"}, "unread", "", []string{"one", "", "<caf>"}},
		{nil, "one\n\n<caf>\n", "", []string{"one", "", "<caf>"}},
		{[]string{path, "-threads", "1", "-tier", "generic"}, "unread", path, []string{"one", "", "<caf\ufffd>"}},
		{[]string{"-"}, "one\n\n<caf>", "", []string{"one", "", "<caf>"}},
	} {
		out, report := runWith(t, c.stdin, c.args...)
		if !strings.Contains(report, "3 texts in ") {
			t.Errorf("%q: the report is %q", c.args, report)
		}
		got := records(t, out)
		if len(got) != 3 {
			t.Fatalf("%q: %d lines, want 3", c.args, len(got))
		}
		for i, r := range got {
			if r.File != c.file || r.Line != i+1 || r.Text != c.texts[i] || !slices.Equal(r.Embedding, want[i]) {
				t.Errorf("%q: got %s:%d %q with other numbers or than %s:%d %q", c.args, r.File, r.Line, r.Text, c.file, i+1, c.texts[i])
			}
		}
	}
}

// TestFiles writes vectors in all formats, more of them than a chunk has.
func TestFiles(t *testing.T) {
	texts := make([]string, chunkLines+3)
	for i := range texts {
		texts[i] = strings.Repeat("a", i%7)
	}
	var want []float32
	for _, v := range embeddings(t, texts...) {
		want = append(want, v...)
	}
	for _, format := range []string{"jsonl", "npy", "safetensors"} {
		path := writeFile(t, "vectors."+format, "an older and longer file"+strings.Repeat(".", 1<<20))
		out, report := runWith(t, strings.Join(texts, "\n")+"\n", "-o", path)
		if out != "" || !strings.Contains(report, "wrote "+path+": 131 vectors of 384 numbers\n") {
			t.Errorf("%s: output %q, report %q", format, out, report)
		}
		if got := readVectors(t, path); !slices.Equal(got, want) {
			t.Errorf("%s: other numbers", format)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	}
}

// readVectors reads the numbers of a file that holds vectors of 384.
func readVectors(t *testing.T, path string) (all []float32) {
	t.Helper()
	switch filepath.Ext(path) {
	case ".jsonl":
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records(t, string(data)) {
			all = append(all, r.Embedding...)
		}
	case ".npy":
		all = readNPY(t, path)
	case ".safetensors":
		f, err := safetensors.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if all, err = f.Float32("embeddings"); err != nil {
			t.Fatal(err)
		}
		if info, _ := f.Info("embeddings"); !slices.Equal(info.Shape, []int{len(all) / 384, 384}) {
			t.Errorf("%s: shape %v", path, info.Shape)
		}
	}
	return all
}

// TestNoTexts expects valid files of no vectors.
func TestNoTexts(t *testing.T) {
	for _, format := range []string{"jsonl", "npy", "safetensors"} {
		path := filepath.Join(t.TempDir(), "empty."+format)
		runWith(t, "", "-o", path)
		if got := readVectors(t, path); len(got) != 0 {
			t.Errorf("%s: %d numbers, want none", format, len(got))
		}
	}
}

// TestQuery ranks lines of files and of standard input.
func TestQuery(t *testing.T) {
	path := writeFile(t, "animals.txt", "The stock market fell.\n\n  A kitten is sleeping.\nBread needs flour.\n")
	out, report := runWith(t, "A cat takes a nap.\n\nThe cat is asleep.\n", "-query", "The cat is asleep.", "-top", "3", path, "-")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	want := []string{"stdin:3: The cat is asleep.", "stdin:1: A cat takes a nap.", path + ":3: A kitten is sleeping."}
	if len(lines) != 3 || !strings.HasPrefix(lines[0], " 1.0000  ") || !strings.Contains(report, "5 texts in ") {
		t.Fatalf("got %q and %q", out, report)
	}
	for i, line := range lines {
		if _, got, _ := strings.Cut(strings.TrimSpace(line), "  "); got != want[i] {
			t.Errorf("rank %d: got %q, want %q", i+1, got, want[i])
		}
	}
}

// TestOneRule: arguments are files with -query and without, -text gives a text, flags may follow
// files, and a text that is the name of a file gets a hint.
func TestOneRule(t *testing.T) {
	model := tinyModel(t)
	path := writeFile(t, "lines.txt", "a b\nc\n")
	try := func(args ...string) (out, report string) {
		t.Helper()
		var o, r bytes.Buffer
		if err := run(t.Context(), append(args, "-model", model, "-no-cache"), strings.NewReader("b\n"), &o, &r); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return o.String(), r.String()
	}
	texts := func(args ...string) (all []string) {
		t.Helper()
		out, _ := try(args...)
		for _, r := range records(t, out) {
			all = append(all, r.Text)
		}
		return all
	}
	for _, c := range []struct{ args, want []string }{
		{[]string{path}, []string{"a b", "c"}},
		{[]string{path, "-threads", "1"}, []string{"a b", "c"}},
		{[]string{"-"}, []string{"b"}},
		{nil, []string{"b"}},
		{[]string{path, "-text", "b b"}, []string{"b b", "a b", "c"}},
		{[]string{"-text", path}, []string{path}},
	} {
		if got := texts(c.args...); !slices.Equal(got, c.want) {
			t.Errorf("%q: texts %q, want %q", c.args, got, c.want)
		}
	}
	if out, report := try("-query", "c", path, "-top", "1"); !strings.HasSuffix(out, path+":2: c\n") || strings.Contains(report, "hint") {
		t.Errorf("got %q and %q", out, report)
	}
	if _, report := try("-text", path); !strings.Contains(report, "hint: -text "+path) {
		t.Errorf("report %q, want a hint", report)
	}
}

// TestLong: a text that the model does not see whole has a mark and a warning, or is an error, and
// so is a query. A line of a megabyte is such a text.
func TestLong(t *testing.T) {
	model := tinyModel(t) // sees 8 tokens
	path := writeFile(t, "lines.txt", "a b c\na b c a b c a b\n"+strings.Repeat("a ", 1<<19)+"\n")
	var out, report bytes.Buffer
	if err := run(t.Context(), []string{path, "-model", model}, nil, &out, &report); err != nil {
		t.Fatal(err)
	}
	for i, want := range []record{{Tokens: 5}, {Tokens: 10, Cut: true}, {Tokens: 1<<19 + 2, Cut: true}} {
		if got := records(t, out.String())[i]; got.Tokens != want.Tokens || got.Cut != want.Cut {
			t.Errorf("line %d: %d tokens, cut %v, want %d, %v", i+1, got.Tokens, got.Cut, want.Tokens, want.Cut)
		}
	}
	if want := "warning: of 2 texts the model saw the first 8 tokens only; the first of them is " + path + ":2, the longest has 524290\n"; !strings.Contains(report.String(), want) {
		t.Errorf("report %q, want %q", &report, want)
	}
	for _, c := range []struct{ args, want string }{
		{path, path + ":2 has 10 tokens, and the model sees 8"},
		{"-query\na b c a b c a b", "-query has 10 tokens, and the model sees 8"},
	} {
		err := run(t.Context(), append(strings.Split(c.args, "\n"), "-model", model, "-no-cache", "-long", "error"), strings.NewReader("a"), io.Discard, &report)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.args, err, c.want)
		}
	}
	report.Reset()
	if err := run(t.Context(), []string{"-query", "a b c a b c a b", "-model", model, "-no-cache"}, strings.NewReader("a"), io.Discard, &report); err != nil || !strings.Contains(report.String(), "warning: of -query, which has 10 tokens") {
		t.Errorf("a long query: %v, report %q", err, &report)
	}
}

// tinyModel writes a model of random weights and returns its folder.
func tinyModel(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := berttest.New("").Write(folder, "F32"); err != nil {
		t.Fatal(err)
	}
	return folder
}

// An interrupter interrupts the program when something is written to it.
type interrupter struct {
	bytes.Buffer
	interrupt func()
}

func (w *interrupter) Write(p []byte) (int, error) {
	w.interrupt()
	return w.Buffer.Write(p)
}

// endless is a standard input that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, "a\n"), nil }

// TestInterrupt expects complete lines, and an error.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &interrupter{interrupt: cancel}
	var report bytes.Buffer
	err := run(ctx, []string{"-model", testweights.Path(t, testweights.MiniLM)}, endless{}, out, &report)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not all texts are done") {
		t.Errorf("got %v, want an error that says that not all is done", err)
	}
	if got := records(t, out.String()); len(got) == 0 || !strings.HasSuffix(out.String(), "}\n") || !strings.Contains(report.String(), "texts/s") {
		t.Errorf("%d records; the report is %q", len(got), report.String())
	}
}

// TestInterruptFile expects files with the vectors that were done.
func TestInterruptFile(t *testing.T) {
	want := embeddings(t, "a")[0]
	e, err := encoder.Load(testweights.Path(t, testweights.MiniLM), encoder.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"jsonl", "npy", "safetensors"} {
		ctx, cancel := context.WithCancel(t.Context())
		in, err := (&config{Texts: flags.Texts{Inputs: command.Inputs{Files: []string{"-"}}}}).open(ctx, endless{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "vectors."+format)
		var report bytes.Buffer
		s := &stream{embedder: e.Embedder, kind: "f32", in: &input{lines: make(chan line)}, bar: &progress{}, lengths: lengthCheck{max: e.MaxTokens(), count: e.CountTokens}}
		go func() { // two chunks of a line, then an interrupt
			s.in.lines <- <-in.lines
			s.in.lines <- <-in.lines
			cancel()
		}()
		if err := s.write(ctx, path, io.Discard, &report); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want %v", format, err, context.Canceled)
		}
		got := readVectors(t, path)
		if len(got) < 384 || !slices.Equal(got[:384], want) || !strings.Contains(report.String(), "wrote "+path) {
			t.Errorf("%s: %d numbers; the report is %q", format, len(got), report.String())
		}
	}
}

// TestErrors expects errors that say what is wrong with a command line or a file.
func TestErrors(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		args  []string
		want  string
		usage bool
	}{
		{[]string{"-frob"}, "frob", true},
		{[]string{"-query", "x", "-o", "y.npy"}, "-o", true},
		{[]string{"-tier", "mmx"}, `invalid value "mmx" for flag -tier: want a tier that runs here: `, true},
		{[]string{"The cat sits."}, "The cat sits.: no such file or directory: arguments are files, and -text gives a text", false},
		{[]string{"-unit", "word"}, "-unit: want line, paragraph, window", true},
		{[]string{"-context", "-1"}, "-context is -1", true},
		{[]string{"-context", "1"}, "-context is for -query", true},
		{[]string{"-color", "red"}, "-color is \"red\"", true},
		{[]string{"-long", "half"}, "flag -long: want cut, error or split", true},
		{[]string{"-top", "0"}, "-top is 0", true},
		{[]string{"-threads", "-1"}, "-threads is -1", true},
		{[]string{"-o", "x.csv"}, ".jsonl, .npy or .safetensors", true},
		{[]string{"-model", folder, "-text", "x"}, filepath.Join(folder, "config.json"), false},
	} {
		err := run(t.Context(), c.args, strings.NewReader(""), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, new(command.UsageError)) != c.usage {
			t.Errorf("%q: got %v, want an error with %q", c.args, err, c.want)
		}
	}
	input := filepath.Join(folder, "in.jsonl")
	if err := os.WriteFile(input, []byte("a line\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), []string{input, "-o", input}, nil, io.Discard, io.Discard)
	if data, e := os.ReadFile(input); !errors.As(err, new(command.UsageError)) || e != nil || string(data) != "a line\n" {
		t.Errorf("an output that is an input: got %v, and the file has %q", err, data)
	}
	t.Setenv("ATTN_MODELS", folder)
	if err := run(t.Context(), []string{"-text", "x"}, nil, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "attn fetch") {
		t.Errorf("no model: got %v", err)
	}
}

// TestFileErrors expects errors that name a file.
func TestFileErrors(t *testing.T) {
	model, folder := testweights.Path(t, testweights.MiniLM), t.TempDir()
	none, out := filepath.Join(folder, "none"), filepath.Join(folder, "none", "x.npy")
	text, binary := filepath.Join(folder, "a.txt"), filepath.Join(folder, "b.png")
	if err := errors.Join(os.WriteFile(text, []byte("one\n"), 0o666), os.WriteFile(binary, []byte("\x89PNG\x00"), 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		name string
	}{
		{[]string{none}, none},
		{[]string{folder}, folder},
		{[]string{"-query", "x", none}, none},
		{[]string{"-o", out, "-text", "x"}, "-o is " + out + ": there is no folder"},
		{[]string{binary}, binary + " is a binary file"},
		{[]string{text, binary}, binary + " is a binary file"}, // before the first one is embedded
		{[]string{"-query", " "}, "-query is empty"},
	} {
		var written strings.Builder
		err := run(t.Context(), append([]string{"-model", model, "-no-cache"}, c.args...), strings.NewReader(""), &written, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.name) || written.Len() > 0 {
			t.Errorf("%q: got %v and %q, want an error that names %s", c.args, err, &written, c.name)
		}
	}
	err := run(t.Context(), []string{"-model", model}, strings.NewReader("a\x00b"), io.Discard, io.Discard)
	if err == nil || !strings.HasPrefix(err.Error(), "stdin is a binary file") {
		t.Errorf("a binary standard input: %v", err)
	}
}

// A keyboard is a standard input that waits for a user.
type keyboard struct{ strings.Reader }

func (*keyboard) Terminal() bool { return true }

// TestNothingIsAwaited: the command asks for lines only if it can write what it makes of them.
func TestNothingIsAwaited(t *testing.T) {
	const asks = "attn embed: reading lines of the standard input, which ^D ends\n"
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		flag, file, report string
	}{{"-o", filepath.Join(none, "x.npy"), ""}, {"-receipt", filepath.Join(none, "x"), ""}, {"-model", none, asks}} {
		var report strings.Builder
		err := run(t.Context(), []string{"-model", none, c.flag, c.file}, &keyboard{}, io.Discard, &report)
		if err == nil || !strings.Contains(err.Error(), c.file) || report.String() != c.report {
			t.Errorf("%s: %v, report %q, want %q", c.flag, err, &report, c.report)
		}
	}
}

// TestEmptyInput: where there is nothing to embed, a line says so.
func TestEmptyInput(t *testing.T) {
	model, report := testweights.Path(t, testweights.MiniLM), &strings.Builder{}
	if err := run(t.Context(), []string{"-model", model}, strings.NewReader(""), io.Discard, report); err != nil || report.String() != "there is no text in the input\n" {
		t.Errorf("%v, report %q", err, report)
	}
}

// TestHelp expects the help on standard output, and no error.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, nil, &out, io.Discard); err != nil || !strings.Contains(out.String(), "-query text") {
		t.Errorf("got %v and %q", err, out.String())
	}
}
