package chat

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/receipt"
)

// -receipt writes a receipt of every answer, each with its seed, and changes no text.
func TestReceipts(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	model, file := tiny(t), filepath.Join(t.TempDir(), "r.json")
	args := []string{"-model", model, "-max", "12", "-temp", "1", "-n", "3", "-repeat-penalty", "1.2", "-stop", "zz", "-draft", "2", "-text", "what?"}
	want, _ := text(t, "", args...)
	if got, _ := text(t, "", append(args, "-receipt", file)...); got != want {
		t.Errorf("with -receipt: %q, want %q", got, want)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := receipt.Read(f)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d receipts, %v", len(all), err)
	}
	m, err := decoder.Load(model, decoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range all {
		if r.Sampler.Seed != uint64(1+i) {
			t.Errorf("receipt %d has the seed %d", i, r.Sampler.Seed)
		}
		if err := receipt.Verify(t.Context(), r.Model, m, r, receipt.Options{}); err != nil {
			t.Errorf("receipt %d: %v", i, err)
		}
	}
	for _, bad := range [][]string{{"-receipt-key", "k"}, {"-receipt", file, "-receipt-key", file}} {
		if _, _, err := try(t.Context(), nil, append(args, bad...)...); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// -receipt is checked before the model is loaded, and is no file that is read.
func TestReceiptPlace(t *testing.T) {
	dir := t.TempDir()
	prompt := filepath.Join(dir, "prompt.txt")
	if err := os.WriteFile(prompt, []byte("a"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{prompt, dir, filepath.Join(dir, "none", "a.json")} {
		_, _, err := try(t.Context(), strings.NewReader(""), "-model", "none", "-receipt", place, prompt)
		if !errors.As(err, new(command.UsageError)) || !strings.Contains(err.Error(), "-receipt is "+place) {
			t.Errorf("%s: %v", place, err)
		}
	}
	if data, err := os.ReadFile(prompt); err != nil || string(data) != "a" {
		t.Errorf("the prompt is %q, %v", data, err)
	}
}

// Every turn of a conversation has a receipt, of all that the model has read, and so have answers
// of a grammar.
func TestReceiptsOfTurns(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	model, file, words := tiny(t), filepath.Join(dir, "r.json"), filepath.Join(dir, "words.gbnf")
	if err := os.WriteFile(words, []byte(`root ::= [a-z]{2,5} (" " [a-z]{2,5}){2}`), 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"-model", model, "-max", "12", "-temp", "0.9", "-grammar", words, "-cache", "int8", "-attention", "integers"}
	const input = "hello there\n\nhow are you\n/clear\nwho\n"
	want, _, err := try(t.Context(), keyboard{strings.NewReader(input)}, args...)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := try(t.Context(), keyboard{strings.NewReader(input)}, append(args, "-receipt", file)...); err != nil || got != want {
		t.Errorf("with -receipt: %q, want %q; %v", got, want, err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := receipt.Read(f)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d receipts, %v", len(all), err)
	}
	m, err := decoder.Load(model, decoder.Options{CacheType: kernel.Int8, DynamicInt12: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range all {
		if err := receipt.Verify(t.Context(), r.Model, m, r, receipt.Options{}); err != nil || !strings.Contains(want, strings.TrimSpace(r.Text)) {
			t.Errorf("receipt %d, of %q: %v", i, r.Text, err)
		}
	}
	if first, second := all[0].Generation, all[1].Generation; len(second.Prompt) < len(first.Prompt)+len(first.Tokens) {
		t.Errorf("the second turn has a prompt of %d tokens, the first one has %d and %d", len(second.Prompt), len(first.Prompt), len(first.Tokens))
	}
}

// -date is the day that a template writes, and receipts have it.
func TestDate(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	f := tinyllama.New(nil)
	f.AddVocabulary()
	f.AddDate()
	model, file := f.Write(t), filepath.Join(t.TempDir(), "r.json")
	m, err := decoder.Load(model, decoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []string{"", "2026-11-28"} {
		args := []string{"-model", model, "-max", "5", "-receipt", file, "-text", "what day?"}
		if day != "" {
			args = append(args, "-date", day)
		}
		if _, _, err := try(t.Context(), nil, args...); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := receipt.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if want := cmp.Or(day, chattemplate.DefaultDate.String()); r.Date == nil || r.Date.String() != want {
			t.Errorf("the receipt has the date %v, want %s", r.Date, want)
		}
		if err := receipt.Verify(t.Context(), r.Model, m, r, receipt.Options{}); err != nil {
			t.Error(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := try(t.Context(), nil, "-model", model, "-date", "28.11.2026", "-text", "a"); err == nil || !strings.Contains(err.Error(), "YYYY-MM-DD") {
		t.Errorf("a wrong date: %v", err)
	}
}
