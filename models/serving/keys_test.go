package serving

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
)

// FuzzKeys reads any file of keys: there is at least one, none is empty, and an error names the
// file.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("# keys\n\nsecret\nname  other \r\n"))
	f.Add([]byte("a b c"))
	f.Add([]byte(" \n"))
	f.Add(bytes.Repeat([]byte("x"), 1<<17)) // longer than a line may be
	path := filepath.Join(f.TempDir(), "keys")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := readKeys(path)
		if err != nil {
			if !strings.HasPrefix(err.Error(), path+": ") || len(data) > 1<<16 && strings.Contains(err.Error(), "no key") && !bytes.Contains(data, []byte("\n")) {
				t.Errorf("error %v", err)
			}
			return
		}
		if len(keys) == 0 {
			t.Error("no key")
		}
		for _, k := range keys {
			if k.Name == "" || k.Secret == "" || len(strings.Fields(k.Secret)) != 1 || !bytes.Contains(data, []byte(k.Secret)) {
				t.Errorf("key %+v", k)
			}
		}
	})
}
