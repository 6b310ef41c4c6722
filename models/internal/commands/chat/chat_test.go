package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/internal/tinyllama"
)

// tiny writes a model with random weights and returns its path.
func tiny(t *testing.T) string {
	t.Helper()
	f := tinyllama.New(nil)
	f.AddVocabulary()
	return f.Write(t)
}

// try runs the command.
func try(ctx context.Context, stdin io.Reader, args ...string) (out, report string, err error) {
	var stdout, stderr bytes.Buffer
	err = run(ctx, args, stdin, &stdout, &stderr)
	return stdout.String(), stderr.String(), err
}

// text runs the command without an error and returns what it writes.
func text(t *testing.T, stdin string, args ...string) (out, report string) {
	t.Helper()
	out, report, err := try(t.Context(), strings.NewReader(stdin), args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out, report
}

var speeds = regexp.MustCompile(`\[prompt: (\d+) tokens, \d+ tokens/s; answer: (\d+) tokens, \d+ tokens/s\]`)

// counts returns the numbers of tokens of all reports of speed.
func counts(t *testing.T, report string) (read, wrote []int) {
	t.Helper()
	for _, m := range speeds.FindAllStringSubmatch(report, -1) {
		r, _ := strconv.Atoi(m[1])
		w, _ := strconv.Atoi(m[2])
		read, wrote = append(read, r), append(wrote, w)
	}
	return read, wrote
}

// A prompt gives one text, wherever it comes from, on every tier and with every setting that
// is about speed.
func TestAnswer(t *testing.T) {
	model := tiny(t)
	args := []string{"-model", model, "-max", "40", "-temp", "1", "-top-k", "0"}
	want, report := text(t, "", append(args, "-text", "good morning all")...)
	read, wrote := counts(t, report)
	if len(read) != 1 || wrote[0] != 40 || len(want) < 30 || !strings.HasSuffix(want, "\n") {
		t.Fatalf("text %q, report %q", want, report)
	}
	check := func(what, got string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	file := filepath.Join(t.TempDir(), "prompt.txt")
	if err := os.WriteFile(file, []byte("morning all"), 0o666); err != nil {
		t.Fatal(err)
	}
	got, _ := text(t, "", append([]string{file, "-raw"}, append(args, "-text", "good")...)...)
	if !strings.HasPrefix(got, "good\nmorning all") {
		t.Errorf("a text and a file: %q", got)
	}
	got, _ = text(t, "good morning all", args...)
	check("standard input", got)
	got, _ = text(t, "", append(args, "-draft", "8", "-threads", "2", "-text", "good morning all")...)
	check("guesses", got)
	got, _ = text(t, "", append(args, "-draft-model", model, "-text", "good morning all")...)
	check("guesses of a model", got)
	for _, tier := range kernel.Tiers() {
		got, _ = text(t, "", append(args, "-tier", tier.String(), "-text", "good morning all")...)
		check(tier.String(), got)
	}
	for _, other := range [][]string{{"-seed", "2"}, {"-temp", "0"}, {"-system", "Be short."}, {"-repeat-penalty", "2"}, {"-presence-penalty", "20"}, {"-frequency-penalty", "9"}, {"-raw"}} {
		if got, _ = text(t, "", append(append(args, other...), "-text", "good morning all")...); got == want {
			t.Errorf("%q changes nothing", other)
		}
	}
	for _, same := range [][]string{{"-repeat-penalty", "2", "-repeat-last-n", "0"}, {"-repeat-penalty", "1", "-repeat-last-n", "-1"}} {
		got, _ = text(t, "", append(append(args, same...), "-text", "good morning all")...)
		check(fmt.Sprint(same), got)
	}
	stop := want[10:14]
	got, _ = text(t, "", append(args, "-stop", "never", "-stop", stop, "-text", "good morning all")...)
	if before, _, _ := strings.Cut(want, stop); got != strings.TrimSuffix(before, "\n")+"\n" {
		t.Errorf("-stop %q: %q of %q", stop, got, want)
	}
	for _, cache := range []string{"f32", "f16", "bf16", "int8", "int4"} {
		if got, _ = text(t, "", append(args, "-cache", cache, "-text", "good morning all")...); len(got) < 30 {
			t.Errorf("cache of %s: %q", cache, got)
		}
	}
}

// Several answers follow their seeds, and a prompt that is continued is a part of each.
func TestSeveral(t *testing.T) {
	args := []string{"-model", tiny(t), "-max", "30", "-temp", "1", "-raw", "-text", "some text"}
	want := ""
	for seed := range 3 {
		alone, _ := text(t, "", append(args, "-seed", fmt.Sprint(seed+5))...)
		if !strings.HasPrefix(alone, "some text") {
			t.Errorf("%q does not begin with the prompt", alone)
		}
		want += fmt.Sprintf("--- %d of 3, seed %d\n%s", seed+1, seed+5, alone)
	}
	got, report := text(t, "", append(args, "-seed", "5", "-n", "3")...)
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	read, wrote := counts(t, report)
	if prompt := len("some text"); len(read) != 1 || read[0] > prompt+2 || wrote[0] != 90 {
		t.Errorf("report %q, want 90 tokens and a prompt that is read once", report)
	}
}

// Every line of the input is answered, more of them than fit a batch.
func TestLines(t *testing.T) {
	args := []string{"-model", tiny(t), "-max", "5", "-temp", "0"}
	input, want := "", ""
	for i := range batch + 3 {
		line := fmt.Sprint("question number ", i)
		alone, _ := text(t, "", append(args, "-text", line)...)
		input += " " + line + "\n\n"
		want += "--- " + line + "\n" + alone
	}
	if got, _ := text(t, input, append(args, "-lines")...); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	file := filepath.Join(t.TempDir(), "questions.txt")
	if err := os.WriteFile(file, []byte(input), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, _ := text(t, "unread", append(args, "-lines", file)...); got != want {
		t.Errorf("a file: %q, want %q", got, want)
	}
}

// A keyboard is a reader that the command takes for a terminal.
type keyboard struct{ io.Reader }

func (keyboard) Terminal() bool { return true }

// Of every turn only what is new is read, and a new conversation begins anew.
func TestConversation(t *testing.T) {
	args := []string{"-model", tiny(t), "-max", "6", "-temp", "0"}
	out, report, err := try(t.Context(), keyboard{strings.NewReader("hello there\n\nhow are you\n/clear\nhello there\n/quit\nnever read\n")}, args...)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := text(t, "", append(args, "-text", "hello there")...)
	if !strings.HasPrefix(out, first) || !strings.HasSuffix(out, first) || len(out) < 2*len(first)+3 {
		t.Errorf("answers %q, want the first and the last one to be %q", out, first)
	}
	if read, wrote := counts(t, report); len(read) != 3 || read[1] > read[0]+6 || wrote[1] != 6 || strings.Count(report, "> ") != 6 {
		t.Errorf("report %q, want 3 answers", report)
	}
}

// A conversation that is too long says so, and can begin anew.
func TestConversationContext(t *testing.T) {
	args := []string{"-model", tiny(t), "-max", "20", "-temp", "0", "-ctx", "64"}
	long := strings.Repeat("word ", 20)
	out, report, err := try(t.Context(), keyboard{strings.NewReader(long + "\nhello\n" + long + "\n/clear\nhello\n")}, args...)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := text(t, "", append(args, "-text", "hello")...); !strings.HasPrefix(out, want) || !strings.HasSuffix(out, want) {
		t.Errorf("answers %q, want the first and the last one to be %q", out, want)
	}
	if n := strings.Count(report, "the context of 64 tokens is full"); n < 2 {
		t.Errorf("report %q, want two texts that are too long", report)
	}
	// An answer that fills the context ends there.
	out, report = text(t, "", append(args, "-max", "0", "-text", "hello")...)
	if !strings.Contains(report, "text 1 ends: the context of 64 tokens is full") || out == "" {
		t.Errorf("text %q, report %q", out, report)
	}
}

// An interrupt ends the answers; what there is of them is printed.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stderr bytes.Buffer
	w := &interrupting{cancel: cancel, after: 8}
	err := run(ctx, []string{"-model", tiny(t), "-max", "200", "-n", "2", "-text", "hello", "-temp", "1"}, strings.NewReader(""), w, &stderr)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want a cancellation", err)
	}
	if out := string(w.text); !strings.Contains(out, "--- 1 of 2") || !strings.Contains(out, "--- 2 of 2") || !strings.HasSuffix(out, "\n") {
		t.Errorf("text %q, want the beginnings of two", out)
	}
	if _, wrote := counts(t, stderr.String()); len(wrote) != 1 || wrote[0] > 20 {
		t.Errorf("report %q", stderr.String())
	}
}

// interrupting cancels after some writes.
type interrupting struct {
	text   []byte
	cancel context.CancelFunc
	after  int
}

func (w *interrupting) Write(p []byte) (int, error) {
	if w.after--; w.after == 0 {
		w.cancel()
	}
	w.text = append(w.text, p...)
	return len(p), nil
}

func TestUsage(t *testing.T) {
	model := tiny(t)
	for _, args := range [][]string{
		{"-n", "0"}, {"-n", "x"}, {"-cache", "f64"}, {"-cache-values", "f64"}, {"-cache", "f16", "-cache-values", "f32"}, {"-precision", "f16"}, {"-attention", "f16"}, {"-attention", "integers"}, {"-attention", "integers", "-cache", "int8", "-cache-values", "f16"}, {"-tier", "mmx"}, {"-threads", "-1"}, {"-raw", "-system", "a"}, {"-unknown"},
	} {
		if _, _, err := try(t.Context(), strings.NewReader(""), args...); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
	// All of it is said before a model is loaded, in words of the command line.
	for args, want := range map[string]string{
		"-temp -1": "-temp is -1, want", "-top-k -1": "-top-k is -1", "-top-p 2": "-top-p is 2", "-min-p 2": "-min-p is 2", "-repeat-penalty 99": "-repeat-penalty is 99", "-repeat-last-n -2": "-repeat-last-n is -2",
		"-presence-penalty 200": "-presence-penalty is 200", "-frequency-penalty 200": "-frequency-penalty is 200", "-stop=": "-stop is 0 bytes",
		"-max -1": "-max is -1", "-draft -1": "-draft is -1", "-mtp -draft 0": "-draft is 0", "-draft-model a -draft 0": "-draft is 0", "-ctx -1": "-ctx is -1", "-tier mmx": `invalid value "mmx" for flag -tier: want a tier that runs here: `,
	} {
		_, _, err := try(t.Context(), strings.NewReader("a"), append(strings.Fields(args), "-model", "none")...)
		if !errors.As(err, new(command.UsageError)) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want a usage error that begins with %q", args, err, want)
		}
	}
	for _, args := range [][]string{{"-n", "2"}, {"-raw"}} {
		if _, _, err := try(t.Context(), keyboard{strings.NewReader("")}, append(args, "-model", "none")...); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q in a conversation: %v", args, err)
		}
	}
	for _, args := range [][]string{{"-text", ""}, {"-text", " \n"}, {}, {"-"}, {"-lines"}, {"-raw"}} {
		if _, _, err := try(t.Context(), strings.NewReader(""), append(args, "-model", "none")...); !errors.As(err, new(command.UsageError)) || !strings.Contains(err.Error(), "the prompt is empty") {
			t.Errorf("%q: %v, want a usage error about an empty prompt", args, err)
		}
	}
	for _, args := range [][]string{
		{"-model", model + "x", "-text", "a"}, {"-model", model, "why"},
		{"-model", model, "-ctx", "20", "-text", strings.Repeat("a long prompt ", 9)},
	} {
		if out, _, err := try(t.Context(), strings.NewReader(""), args...); err == nil || errors.As(err, new(command.UsageError)) || out != "" {
			t.Errorf("%q: %q, %v, want no text, and an error that is no usage error", args, out, err)
		}
	}
	t.Setenv("ATTN_MODELS", t.TempDir())
	if _, _, err := try(t.Context(), strings.NewReader(""), "-text", "a"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "attn fetch") {
		t.Errorf("no model: %v", err)
	}
	out, help, err := try(t.Context(), strings.NewReader(""), "-h")
	if !errors.Is(err, flag.ErrHelp) || out != "" || !strings.Contains(help, "usage: attn chat") {
		t.Errorf("-h: %v, %q", err, help)
	}
	if _, _, err := try(t.Context(), strings.NewReader(""), "-model", model, "-precision", "int8", "-text", "a"); err == nil || !strings.Contains(err.Error(), "-precision is int8 of a model without") {
		t.Errorf("8 bits for a model of float32: got %v", err)
	}
}

// A draft model has the precision and the context of the model, or where it cannot have them its
// own. Its errors name it.
func TestDraftModel(t *testing.T) {
	f := tinyllama.New(func(string) gguf.Type { return gguf.Q8_0 })
	f.AddVocabulary()
	args := []string{"-model", f.Write(t), "-precision", "int8", "-max", "20", "-text", "good morning all"}
	want, _ := text(t, "", args...)
	for _, draft := range []string{tiny(t), args[1]} {
		if got, _ := text(t, "", append(args, "-draft-model", draft)...); got != want {
			t.Errorf("%q, without a draft model %q", got, want)
		}
	}
	dynamic := t.TempDir()
	if err := os.CopyFS(dynamic, os.DirFS("../../../testdata/tiny/llama-2")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dynamic, "config.json")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.Replace(data, []byte(`"rope_type": "default"`), []byte(`"rope_type": "dynamic", "factor": 2`), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if m, err := models.OpenDraft(dynamic, decoder.Options{Context: 1 << 20}); err != nil || m.Options().Context >= 1<<20 {
		t.Errorf("a draft model whose context ends: %v", err)
	}
	const missing = "no/draft.gguf"
	if _, _, err := try(t.Context(), strings.NewReader(""), append(args, "-draft-model", missing)...); err == nil || !strings.HasPrefix(err.Error(), "-draft-model "+missing+": ") {
		t.Errorf("a draft model that is missing: %v", err)
	}
	if _, _, err := try(t.Context(), strings.NewReader(""), append(args, "-mtp")...); err == nil || !strings.HasPrefix(err.Error(), "-mtp is true of a model without") {
		t.Errorf("a model without a layer that guesses: %v", err)
	}
	if _, _, err := try(t.Context(), strings.NewReader(""), append(args, "-mtp", "-draft-model", missing)...); err == nil || !strings.Contains(err.Error(), "one or the other") {
		t.Errorf("two that guess: %v", err)
	}
}

// The error of a file names it once, and one that has no template says what can be done.
func TestFileErrors(t *testing.T) {
	write := func(data []byte) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "x.gguf")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	without := func(key string) string {
		f := tinyllama.New(nil)
		f.AddVocabulary()
		f.Metadata = slices.DeleteFunc(f.Metadata, func(e ggufwriter.Entry) bool { return e.Key == key })
		return write(f.Bytes())
	}
	for path, want := range map[string]string{
		write([]byte("no model")):            "GGUF",
		filepath.Join(t.TempDir(), "x.gguf"): "there is no model",
		without("llama.block_count"):         "llama.block_count",
		without("tokenizer.chat_template"):   "has no template for conversations: ",
		without("tokenizer.ggml.model"):      "has no tokenizer",
	} {
		_, _, err := try(t.Context(), strings.NewReader("hello"), "-model", path)
		if err == nil || strings.Count(err.Error(), path) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q, and %s once", err, want, path)
		}
	}
	path := without("tokenizer.chat_template")
	if _, _, err := try(t.Context(), strings.NewReader("hello"), "-model", path); err == nil || !strings.Contains(err.Error(), "-raw") {
		t.Errorf("no template: %v, want a hint of -raw", err)
	}
	if out, _ := text(t, "hello", "-model", path, "-raw", "-max", "3"); !strings.HasPrefix(out, "hello") {
		t.Errorf("-raw without a template: %q", out)
	}
}

// SmolLM2 answers as README.md says.
func TestSmolLM2(t *testing.T) {
	testweights.Path(t, testweights.SmolLM2)
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(readme), "| prompt | answer |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) < 2 {
		t.Fatalf("README.md has %d answers", len(rows))
	}
	for _, row := range rows {
		prompt, answer, _ := strings.Cut(strings.Trim(row, "| "), " | ")
		if got, _ := text(t, "", "-text", prompt); got != answer+"\n" {
			t.Errorf("%s: %q, want %q", prompt, got, answer)
		}
	}
	if got, _ := text(t, "", "-text", "Rewrite in the past tense: She buys bread."); got != "She bought bread.\n" {
		t.Errorf("the prompt of README.md: %q", got)
	}
}

// Answers are texts of a grammar, or JSON of a schema, of which each is one.
func TestGrammar(t *testing.T) {
	write := func(text string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "grammar")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := []string{"-model", tiny(t), "-temp", "2", "-text", "hello"}
	schema, rules := write(`{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":5}`), write("root ::= [a-c]{4} \"!\"")
	out, _ := text(t, "", append(args, "-json-schema", schema)...)
	var list []int64
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) < 1 || len(list) > 5 {
		t.Errorf("%q: %v", out, err)
	}
	if out, _ = text(t, "", append(args, "-grammar", rules)...); !regexp.MustCompile(`^[a-c]{4}!\n$`).MatchString(out) {
		t.Errorf("%q, want four letters", out)
	}
	if _, _, err := try(t.Context(), strings.NewReader(""), append(args, "-grammar", rules, "-json-schema", schema)...); !errors.As(err, new(command.UsageError)) {
		t.Errorf("both: %v, want a usage error", err)
	}
	bad := write("root ::=\n  b")
	if _, _, err := try(t.Context(), strings.NewReader(""), append(args, "-grammar", bad)...); err == nil || !strings.HasPrefix(err.Error(), bad+": grammar: line 2: ") {
		t.Errorf("a bad file: %v", err)
	}
	if _, _, err := try(t.Context(), strings.NewReader(""), append(args, "-grammar", bad+"x")...); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestTopP: with -top-p 0 the most probable token is taken, whatever the temperature, and with 1
// any.
func TestTopP(t *testing.T) {
	model := tiny(t)
	answer := func(args ...string) string {
		out, _ := text(t, "", append([]string{"-model", model, "-raw", "-text", "the cat", "-max", "20", "-top-k", "0", "-repeat-penalty", "1"}, args...)...)
		return out
	}
	want := answer("-temp", "0")
	for _, top := range []string{"0", "0.0", "1e-300"} {
		if got := answer("-temp", "3", "-top-p", top); got != want {
			t.Errorf("-top-p %s: %q, want %q", top, got, want)
		}
	}
	if got := answer("-temp", "3", "-top-p", "1"); got == want {
		t.Error("-top-p 1 takes the most probable tokens")
	}
}
