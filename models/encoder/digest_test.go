package encoder

import (
	"errors"
	"fmt"
	"github.com/attn-go/attn/models/precision"
	"io/fs"
	"path/filepath"
	"testing"
)

// TestDigest: copies of a model have one digest, and each file that vectors depend on changes it.
func TestDigest(t *testing.T) {
	digest := func(change func(s *small)) [32]byte {
		t.Helper()
		s := newSmall("")
		change(s)
		d, err := Digest(s.write(t, "F32"), LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	seen := map[[32]byte]string{digest(func(*small) {}): "unchanged"}
	for _, name := range []string{"README.md", "model.safetensors.sha256.json", "pytorch_model.bin", "optimizer.bin"} { // receipts keep digests in the second, and safetensors is read
		if _, ok := seen[digest(func(s *small) { s.Extra[name] = "{}" })]; !ok {
			t.Errorf("%s, which does not matter, changes the digest", name)
		}
	}
	for what, change := range map[string]func(s *small){
		"weights":               func(s *small) { s.Tensors["embeddings.LayerNorm.bias"].Data[0]++ },
		"config.json":           func(s *small) { s.Config["layer_norm_eps"] = 1e-11 },
		"vocab.txt":             func(s *small) { s.Vocab[4], s.Vocab[5] = s.Vocab[5], s.Vocab[4] },
		"tokenizer_config.json": func(s *small) { s.Extra["tokenizer_config.json"] = `{"do_lower_case": false}` },
		"sentence_bert_config":  func(s *small) { s.Extra["sentence_bert_config.json"] = `{"max_seq_length": 7}` },
		"sparse_linear.pt":      func(s *small) { s.Extra["sparse_linear.pt"] = "" },
		"colbert_linear.pt":     func(s *small) { s.Extra["colbert_linear.pt"] = "" },
		"pytorch_model.bin":     func(s *small) { s.Extra["2_Dense/pytorch_model.bin"] = "" },
		"tokenizer.json":        func(s *small) { s.Extra["tokenizer.json"] = `{}` },
	} {
		d := digest(change)
		if other, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", what, other)
		}
		seen[d] = what
	}
	for _, o := range []LoadOptions{{Precision: precision.Int8}, {Precision: precision.BFloat16}, {Unit: true}, {Context: 5}, {Context: 6}} {
		d, err := Digest(newSmall("").write(t, "F32"), o)
		if other, ok := seen[d]; err != nil || ok {
			t.Errorf("%+v: the digest of %s, error %v", o, other, err)
		}
		seen[d] = fmt.Sprintf("%+v", o)
	}
	if _, err := Digest(filepath.Join(t.TempDir(), "none"), LoadOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
