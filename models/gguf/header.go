package gguf

import (
	"fmt"
	"math/bits"
)

const (
	magic = "GGUF"

	defaultAlignment = 32 // bytes
	maxAlignment     = 1 << 30
	keyAlignment     = "general.alignment"

	maxKey = 65535 // bytes

	// The lengths of the shortest tensor description and metadata entry in bytes.
	leastInfo  = 8 + 1 + 4 + 4 + 8
	leastEntry = 8 + 1 + 4 + 1
)

// parseHeader returns the numbers of tensors and of metadata entries.
func (f *File) parseHeader(r *reader) (tensors, entries int, err error) {
	r.part = "header"
	if n := min(len(magic), len(r.data)); string(r.data[:n]) != magic {
		return 0, 0, r.fail(0, "a GGUF file, which begins with "+magic, "the file begins with %q (%d bytes in all)", r.data[:n], len(r.data))
	}
	r.at = len(magic)
	if f.version, err = r.uint32(); err != nil {
		return 0, 0, err
	}
	if v := f.version; v != 2 && v != 3 {
		if w := bits.ReverseBytes32(v); 1 <= w && w <= 3 {
			return 0, 0, r.fail(r.at-4, "a little-endian one", "big-endian file of version %d", w)
		}
		return 0, 0, r.fail(r.at-4, "2 or 3", "version %d", v)
	}
	if tensors, err = r.count(leastInfo, "tensors"); err != nil {
		return 0, 0, err
	}
	entries, err = r.count(leastEntry, "metadata entries")
	return tensors, entries, err
}

// An entry is a key of the metadata and its value.
type entry struct {
	key   string
	value any
}

// parseMetadata reads n entries. An entry may set the alignment.
func (f *File) parseMetadata(r *reader, n int) error {
	f.keys = make(map[string]int, n)
	f.entries = make([]entry, 0, n)
	for range n {
		if err := f.parseEntry(r); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) parseEntry(r *reader) error {
	r.part, r.named = "key of a metadata entry", ""
	at := r.at
	key, err := r.name(maxKey)
	if err != nil {
		return err
	}
	r.part, r.named = "metadata", key
	if _, twice := f.keys[key]; twice {
		return r.fail(at, "one", "a second entry with this key")
	}
	kind, err := r.valueType()
	if err != nil {
		return err
	}
	at = r.at
	value, err := r.value(kind, 0)
	if err != nil {
		return err
	}
	f.keys[key] = len(f.entries)
	f.entries = append(f.entries, entry{key, value})
	if key == keyAlignment {
		return f.setAlignment(r, at, value)
	}
	return nil
}

// setAlignment takes the alignment from the value that lies at this offset.
func (f *File) setAlignment(r *reader, at int, value any) error {
	a, ok := value.(uint32)
	if !ok || a < 8 || a > maxAlignment || a&(a-1) != 0 {
		return r.fail(at, fmt.Sprintf("a uint32 that is a power of two from 8 to %d", maxAlignment), "%s", describe(value))
	}
	f.alignment = int(a)
	return nil
}
