package journal

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
)

// FuzzOpen opens any file, of which one byte starts a frame whose sum is right: what is read is read again, and no byte of a file that is
// none of a journal is changed.
func FuzzOpen(f *testing.F) {
	data, err := os.ReadFile(write(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, -1)
	f.Add(data, 0)
	f.Add(data[:len(data)-1], -1)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, -1)
	f.Add(append(data[:len(data):len(data)], 0xf8, 0xff, 0xff, 0xff, 0, 0, 0, 0), -1)
	path := filepath.Join(f.TempDir(), "journal")
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		if at >= 0 && at <= len(data)-frameHead { // a sum that the fuzzer would not find
			data = append([]byte(nil), data...)
			frame := data[at:]
			if n := binary.LittleEndian.Uint32(frame); uint64(n) <= uint64(len(frame)-frameHead) {
				binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(frame[frameHead:frameHead+int(n)], castagnoli))
			}
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
