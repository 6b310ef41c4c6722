package rerank

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/receipt"
)

// -receipt writes receipts of all scores, in the order of the passages, and changes no output.
func TestReceipts(t *testing.T) {
	own := t.TempDir() // digests are kept beside the files
	if err := os.CopyFS(own, os.DirFS(model)); err != nil {
		t.Fatal(err)
	}
	file, text := filepath.Join(t.TempDir(), "r.json"), strings.Repeat("a cat\na\xffb\nwhat is it?\n", 60)
	want, _, err := rerank(t, text, "-")
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := rerank(t, text, "-", "-model", own, "-receipt", file); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("with -receipt: %v, want %v, %v", got, want, err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := receipt.Read(f)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d receipts, %v", len(all), err)
	}
	k, err := encoder.LoadReranker(model, encoder.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	passages := 0
	for i, r := range all {
		if err := receipt.VerifyRanking(t.Context(), r.Model, k, r, receipt.Options{}); err != nil {
			t.Errorf("receipt %d: %v", i, err)
		}
		passages += len(r.Ranking.Passages)
	}
	if first := all[0].Ranking; passages != 180 || first.Query != query || first.Passages[2].Text != "what is it?" {
		t.Errorf("%d passages of %q: %+v", passages, first.Query, first.Passages[2])
	}
	if _, _, err := rerank(t, text, "-", "-receipt-key", "k"); !errors.As(err, new(command.UsageError)) {
		t.Errorf("-receipt-key alone: %v", err)
	}
}
