package vectorcache

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzOpen opens any file, with the SHA-256 that it should end with or without it: a damaged file
// is of the kind ErrDamaged and an empty cache, and what is read is written again with as many
// vectors.
func FuzzOpen(f *testing.F) {
	var model [sha256.Size]byte
	path := filepath.Join(f.TempDir(), "cache")
	c, err := Open(path, model, 3)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"a", "bc"} {
		if err := c.Put(text, vector(text)); err != nil {
			f.Fatal(err)
		}
	}
	if err := c.Save(); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, 3, false)
	f.Add(data[:len(data)-sha256.Size], 3, true)
	f.Add([]byte{}, 1<<24, true)
	f.Fuzz(func(t *testing.T, data []byte, width int, sum bool) {
		if sum {
			s := sha256.Sum256(data)
			data = append(data[:len(data):len(data)], s[:]...)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path, model, width)
		if err != nil {
			if damage := errors.Is(err, ErrDamaged); damage != (width >= 1 && width <= maxWidth) || c.Len() != 0 {
				t.Fatalf("%d vectors, error %v", c.Len(), err)
			}
			return
		}
		n := c.Len()
		if err := c.Put("a", make([]float32, width)); err != nil {
			t.Fatal(err)
		}
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		again, err := Open(path, model, width)
		if err != nil || again.Len() < n || again.Len() > n+1 {
			t.Errorf("%d vectors after %d: %v", again.Len(), n, err)
		}
	})
}
