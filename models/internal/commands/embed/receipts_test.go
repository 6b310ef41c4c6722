package embed

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/receipt"
)

// -receipt writes receipts of all vectors, some texts in each, and changes no vector.
func TestReceipts(t *testing.T) {
	model := t.TempDir() // digests are kept beside the files
	if err := os.CopyFS(model, os.DirFS("../../../testdata/tiny/bert-1")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "r.json")
	embed := func(args ...string) (string, error) {
		var out, report bytes.Buffer
		in := strings.NewReader(strings.Repeat("The cat sits.\n\na\xffb\n", 50))
		err := run(t.Context(), append([]string{"-model", model, "-dimensions", "6", "-"}, args...), in, &out, &report)
		return out.String(), err
	}
	want, err := embed()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := embed("-receipt", file); err != nil || got != want {
		t.Errorf("with -receipt: another output, %v", err)
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
	texts := 0
	for i, r := range all {
		e, err := encoder.Load(model, r.Embeddings.Settings.LoadOptions())
		if err != nil {
			t.Fatal(err)
		}
		if err := receipt.VerifyEmbeddings(t.Context(), r.Model, e.Embedder.With(embedding.Options{}), r, receipt.Options{}); err != nil {
			t.Errorf("receipt %d: %v", i, err)
		}
		texts += len(r.Embeddings.Texts)
	}
	if texts != 150 || all[0].Embeddings.Settings.Dimensions != 6 || !all[0].Embeddings.Settings.Unit {
		t.Errorf("%d texts with %+v", texts, all[0].Embeddings.Settings)
	}
	for _, bad := range [][]string{{"-receipt-key", "k"}, {"-receipt", "a.npy", "-o", "./a.npy"}, {"-receipt", file, "-query", "a"}, {"-receipt", file, "-long", "split"}} {
		if _, err := embed(bad...); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
