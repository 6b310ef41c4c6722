package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/attn-go/attn/models/decoder"
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
	for _, bad := range [][]string{{"-receipt-key", "k"}, {"-receipt", file, "-grammar", "g"}, {"-receipt", file, "-receipt-key", file}} {
		if _, _, err := try(t.Context(), nil, append(args, bad...)...); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
