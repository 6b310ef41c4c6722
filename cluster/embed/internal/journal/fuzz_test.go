package journal

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzOpen opens any file, of which one byte starts a line whose sum is right: what is read is read
// again, and no byte of a file that is none of a journal is changed.
func FuzzOpen(f *testing.F) {
	data, err := os.ReadFile(write(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, -1)
	f.Add(data, 0)
	f.Add(data[:len(data)-1], -1)
	f.Add([]byte("{}\n"), 0)
	f.Add(slices.Concat(data, []byte("{}\n")), len(data))
	path := filepath.Join(f.TempDir(), "journal")
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		if at >= 0 && at <= len(data) { // a sum that the fuzzer would not find
			text, _, _ := bytes.Cut(data[at:], []byte("\n"))
			data = slices.Concat(data[:at], fmt.Appendf(nil, "%08x ", crc32.Checksum(text, castagnoli)), data[at:])
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		count := func(n *int) func(Entry) error {
			return func(Entry) error { *n++; return nil }
		}
		var first, second, third int
		j, err := Open(path, header, count(&first))
		if err != nil {
			if left, err := os.ReadFile(path); err != nil || string(left) != string(data) {
				t.Fatalf("a file that is not opened has changed: %q, %v", left, err)
			}
			return
		}
		if err := j.Append(entries[0]); err != nil {
			t.Fatal(err)
		}
		if err := j.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := j.Read(count(&second)); err != nil || second != first+1 {
			t.Fatalf("%d entries after %d and one more: %v", second, first, err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j, err = Open(path, header, count(&third))
		if err != nil || third != second || j.Lost() != 0 {
			t.Fatalf("%d entries, want %d: %v", third, second, err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
