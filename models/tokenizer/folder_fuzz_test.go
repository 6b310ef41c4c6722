package tokenizer

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzLines reads any vocab.txt with any tokenizer_config.json: the folder is a tokenizer, or gets
// an error.
func FuzzLines(f *testing.F) {
	f.Add([]byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\ncat\n##s\n"), []byte(`{"do_lower_case": true, "tokenizer_class": "BertTokenizer"}`))
	f.Add([]byte("[UNK]\r\n[UNK]\r\n"), []byte(`{"unk_token": {"content": "x"}, "added_tokens_decoder": {"0": {"content": "[UNK]"}}}`))
	f.Add([]byte(""), []byte(``))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, lines, settings []byte) {
		for name, data := range map[string][]byte{"vocab.txt": lines, "tokenizer_config.json": settings} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		x, err := Load(dir)
		if err != nil {
			return
		}
		for _, id := range x.Encode("the cats\xff 日本", Options{}) {
			if id < 0 || int(id) >= x.Len() {
				t.Errorf("id %d of %d", id, x.Len())
			}
		}
	})
}
